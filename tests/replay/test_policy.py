"""The policy rows against the table of spec/replay.md section 2.2, and the choices of 2.3-2.6."""

from __future__ import annotations

import pytest

from stenolith.errors import InvalidInput
from stenolith.replay.policy import (
    Api,
    IdMode,
    Policy,
    Prefill,
    Reasoning,
    SanitizeMode,
    explain,
    parse_api,
    resolve,
    rows,
)

# The abbreviations of the table. Each cell below is copied from it.
FLAGS = {
    "toolu": "preserve_native_anthropic_tool_use_ids",
    "sig": "preserve_signatures",
    "dT": "drop_thinking_blocks",
    "dR": "drop_reasoning_from_history",
    "gO": "apply_google_turn_ordering",
    "vG": "validate_gemini_turns",
    "vA": "validate_anthropic_turns",
    "syn": "allow_synthetic_tool_results",
    "ts": "sanitize_thought_signatures",
    "append": "append_only_runtime_context",
}
MODES = {"S": IdMode.STRICT, "S9": IdMode.STRICT9}

TABLE = [
    ("anthropic", "anthropic-messages", "claude-opus-4-6", "full S toolu sig vA syn"),
    ("anthropic", "anthropic-messages", "claude-3-7-sonnet-20250219", "full S toolu sig dT vA syn"),
    ("anthropic-vertex", "anthropic-messages", "claude-sonnet-4-5", "full S sig dT vA syn"),
    ("amazon-bedrock", "bedrock-converse-stream", "us.anthropic.claude-3-7-sonnet-v1:0", "full S sig dT vA syn"),
    ("amazon-bedrock", "bedrock-converse-stream", "us.anthropic.claude-opus-4-6-v1", "full S sig vA syn"),
    # Section 2.2, last paragraph (TARGET): thinking rules for Claude only.
    ("amazon-bedrock", "bedrock-converse-stream", "amazon.nova-pro-v1:0", "full S vA syn"),
    ("minimax", "anthropic-messages", "MiniMax-M2.1", "full S sig vA syn"),
    ("minimax-portal", "anthropic-messages", "MiniMax-M2.5", "full S sig vA syn"),
    ("minimax", "openai-completions", "MiniMax-M2.1", "img S dR gO vG vA"),
    ("google", "google-generative-ai", "gemini-3-pro", "full S ts gO vG syn"),
    ("google-gemini-cli", "google-gemini-cli", "gemini-3-pro", "full S ts gO vG syn"),
    ("google-antigravity", "google-gemini-cli", "claude-sonnet-4-5", "full S ts gO vG syn"),
    ("google-vertex", "google-vertex", "gemini-3-pro", "full S ts gO vG syn"),
    ("openai", "openai-responses", "gpt-5.4", "img syn append"),
    ("openai", "openai-chatgpt-responses", "gpt-5.4", "img syn append"),
    ("azure-openai", "azure-openai-responses", "gpt-5.4", "img syn append"),
    # Section 2.6 (TARGET): synthetic results on.
    ("openai", "openai-completions", "gpt-4o", "img S syn"),
    ("openai-codex", "openai-chatgpt-responses", "gpt-5.4", "img S syn"),
    ("mistral", "openai-completions", "mistral-large-latest", "img S9 vG vA"),
    ("openrouter", "openai-completions", "google/gemini-3-pro", "img ts"),
    ("openrouter", "openai-completions", "anthropic/claude-opus-4-6", "img"),
    ("openrouter", "openai-completions", "qwen/qwen3-max", "img"),
    ("opencode", "openai-completions", "gemini-3-pro", "img ts"),
    ("opencode-go", "openai-completions", "gemini-3-flash", "img ts"),
    ("kilocode", "openai-completions", "google/gemini-3-pro", "img ts"),
    ("opencode-go", "openai-completions", "glm-4.7", "img"),
    ("github-copilot", "openai-completions", "gpt-4o", "img"),
    ("github-copilot", "anthropic-messages", "claude-sonnet-4-5", "full sig dT vA syn"),
    ("moonshot", "openai-completions", "kimi-k2.5", "img gO vG vA"),
    ("kimi-coding", "anthropic-messages", "k2p5", "full S dT vA syn"),
    ("xai", "openai-completions", "grok-4", "img S dR gO vG vA"),
    ("meta", "openai-completions", "llama-4", "img S dR gO vG vA"),
    ("groq", "openai-completions", "llama-3.3-70b", "img S dR gO vG vA"),
    ("nvidia", "openai-completions", "nemotron", "img S dR gO vG vA"),
    ("qwen", "openai-completions", "qwen3-max", "img S dR gO vG vA"),
    ("venice", "openai-completions", "venice-large", "img S dR gO vG vA"),
    ("vllm", "openai-completions", "qwen3", "img S dR gO vG vA"),
    ("lmstudio", "openai-completions", "qwen3", "img S dR gO vG vA"),
    ("my-own", "openai-completions", "whatever", "img S dR gO vG vA"),
    ("xai", "openai-responses", "grok-4", "img S syn"),
    ("my-own", "openai-responses", "whatever", "img S syn"),
    ("my-own", "openai-responses", "proxy-claude-4", "img S vA syn"),
    ("zai", "openai-completions", "glm-4.7", "img S gO vG vA"),
    ("deepseek", "openai-completions", "deepseek-v4", "img S gO vG vA"),
    ("xiaomi", "openai-completions", "mimo-v2.5", "img S gO vG vA"),
    ("sglang", "openai-completions", "qwen3", "img S gO vG vA"),
    ("novita", "openai-completions", "qwen3", "img S dR gO vG vA"),
    ("together", "openai-completions", "moonshotai/kimi-k2.5", "img S gO vG vA"),
    ("my-own", "openai-completions", "kimi-k2-thinking-turbo", "img S gO vG vA"),
    ("my-own", "openai-completions", "mimo-v2.6-pro-ultraspeed", "img S gO vG vA"),
    ("ollama", "ollama", "qwen3", "img dR gO vG vA"),
    ("ollama", "openai-completions", "qwen3", "img S dR gO vG vA"),
    ("ollama-cloud", "openai-completions", "qwen3", "img S dR gO vG vA"),
    ("litellm", "anthropic-messages", "some-model", "full S sig vA syn"),
    ("cloudflare-ai-gateway", "anthropic-messages", "claude-opus-4-6", "full S sig vA syn"),
    ("vercel-ai-gateway", "anthropic-messages", "claude-3-5-haiku", "full S sig dT vA syn"),
    ("synthetic", "anthropic-messages", "claude-sonnet-4-6", "full S sig vA syn"),
    ("clawrouter", "anthropic-messages", "claude-opus-4-6", "full S toolu sig vA syn"),
    ("my-own", "google-generative-ai", "whatever", "full S ts gO vG syn"),
]


def cell(policy: Policy) -> str:
    words = ["full" if policy.sanitize_mode is SanitizeMode.FULL else "img"]
    words += [word for word, mode in MODES.items() if policy.tool_call_id_mode is mode]
    words += [word for word, flag in FLAGS.items() if getattr(policy, flag)]
    return " ".join(sorted(words))


@pytest.mark.parametrize(("provider", "api", "model", "expected"), TABLE)
def test_a_row_has_the_flags_of_the_table(provider, api, model, expected):
    assert cell(resolve(provider, api, model)) == " ".join(sorted(expected.split()))


@pytest.mark.parametrize(("provider", "api", "model", "_"), TABLE)
def test_pairing_repair_is_on_everywhere(provider, api, model, _):
    assert resolve(provider, api, model).repair_tool_use_result_pairing


@pytest.mark.parametrize(
    ("alias", "api"),
    [
        ("anthropic-messages", Api.ANTHROPIC),
        ("bedrock-converse-stream", Api.BEDROCK),
        ("openai-completions", Api.OPENAI_CHAT),
        ("openai-responses", Api.OPENAI_RESPONSES),
        ("openai-chatgpt-responses", Api.OPENAI_RESPONSES),
        ("openai-codex-responses", Api.OPENAI_RESPONSES),
        ("azure-openai-responses", Api.OPENAI_RESPONSES),
        ("google-generative-ai", Api.GOOGLE),
        ("google-gemini-cli", Api.GOOGLE),
        ("google-vertex", Api.GOOGLE),
        ("ollama", Api.OPENAI_CHAT),
        ("mistral-conversations", Api.MISTRAL),
    ],
)
def test_every_model_api_name_is_an_alias(alias, api):
    assert parse_api(alias) is api
    assert parse_api(api.value) is api


@pytest.mark.parametrize(
    "model",
    ["claude-opus-4-5", "claude-opus-4-8", "claude-sonnet-4-6", "claude-sonnet-5", "claude-fable-5", "claude-mythos-5",
     "claude-mythos-preview", "claude-opus-5", "claude-opus-5-5"],
)  # fmt: skip
def test_models_of_the_keep_list_keep_their_thinking(model):
    assert not resolve("anthropic", "anthropic-messages", model).drop_thinking_blocks


@pytest.mark.parametrize("model", ["claude-3-7-sonnet", "claude-opus-4-1", "claude-haiku-4-5", "claude-2"])
def test_other_claude_models_drop_old_thinking(model):
    assert resolve("anthropic", "anthropic-messages", model).drop_thinking_blocks


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1"])
def test_prefix_bound_models_append_runtime_context(model):
    assert resolve("anthropic", "anthropic-messages", model).append_only_runtime_context


@pytest.mark.parametrize(
    "model",
    ["mistral-7b", "mixtral-8x7b", "codestral", "pixtral-12b", "devstral", "ministral-8b", "mistralai/whatever"],
)
@pytest.mark.parametrize("provider", ["vllm", "sglang", "openrouter", "lmstudio", "my-own", "ollama"])
def test_mistral_is_found_by_model_id_on_every_compatible_route(provider, model):
    policy = resolve(provider, "openai-completions", model)
    assert policy.tool_call_id_mode is IdMode.STRICT9
    assert policy.validate_gemini_turns
    assert policy.merges_users


def test_provider_names_are_trimmed_and_lowered():
    assert resolve("  Anthropic ", "anthropic-messages", "Claude-Opus-4-6") == resolve(
        "anthropic", "anthropic-messages", "claude-opus-4-6"
    )


def test_a_host_that_says_the_model_reasons_keeps_its_reasoning():
    policy = resolve("my-own", "openai-completions", "whatever", model_meta={"reasoning": True})
    assert not policy.drop_reasoning_from_history
    assert policy.reasoning is Reasoning.FIELD


def test_a_claude_without_reasoning_effort_drops_thinking_on_fallback_routes():
    meta = {"compat": {"supportsReasoningEffort": False}}
    assert resolve("my-own", "anthropic-messages", "other", model_meta=meta).drop_thinking_blocks
    assert not resolve("anthropic", "anthropic-messages", "claude-opus-4-6", model_meta=meta).drop_thinking_blocks


def test_a_model_that_only_reads_text_has_no_vision():
    assert not resolve("my-own", "openai-completions", "x", model_meta={"input": ["text"]}).vision


def test_overrides_win_over_rows_and_facts():
    policy = resolve("anthropic", "anthropic-messages", "claude-3-7-sonnet", overrides={"drop_thinking_blocks": "no"})
    assert policy.drop_thinking_blocks is False
    assert resolve("x", "openai-chat", "y", overrides={"image_max_side": "800"}).image_limits.max_side == 800


@pytest.mark.parametrize("overrides", [{"no_such_flag": 1}, {"vision": "perhaps"}, {"tool_call_id_mode": "loose"}])
def test_an_unknown_flag_or_value_is_refused(overrides):
    with pytest.raises(InvalidInput):
        resolve("x", "openai-chat", "y", overrides=overrides)


def test_an_unknown_api_is_refused():
    with pytest.raises(InvalidInput):
        resolve("x", "telegraph", "y")


def test_no_api_means_the_usual_one_of_the_provider():
    assert resolve("anthropic", "", "claude-opus-4-6").api is Api.ANTHROPIC
    assert resolve("somebody", "", "x").api is Api.OPENAI_CHAT


def test_explain_names_the_row_the_facts_and_every_flag():
    told = explain(resolve("openrouter", "openai-completions", "mistralai/devstral"))
    assert told["row"] == "openrouter"
    assert "mistral-by-model" in told["facts"]
    assert set(FLAGS.values()) <= set(told["flags"])
    assert told["flags"]["tool_call_id_mode"] == "strict9"


def test_every_row_can_be_reached():
    met = {resolve(provider, api, model).row for provider, api, model, _ in TABLE}
    met.add(resolve("mistral", "mistral-conversations", "mistral-large").row)
    met.add(resolve("github-copilot", "openai-responses", "gpt-5.4").row)
    assert {row["name"] for row in rows()} == met


def test_owned_thinking_follows_its_definition():
    # section 2.1: anthropic or bedrock wire, validateAnthropicTurns, signatures, not dropping thinking
    assert resolve("anthropic", "anthropic-messages", "claude-opus-4-6").owned_thinking
    assert not resolve("anthropic", "anthropic-messages", "claude-3-7-sonnet").owned_thinking
    assert not resolve("kimi-coding", "anthropic-messages", "k2p5").owned_thinking
    assert not resolve("openai", "openai-responses", "gpt-5.4").owned_thinking


@pytest.mark.parametrize(
    ("provider", "api", "model", "expected"),
    [
        ("anthropic", "anthropic-messages", "claude-3-7-sonnet", Prefill.UNLESS_THINKING),
        ("anthropic", "anthropic-messages", "claude-opus-4-6", Prefill.NEVER),
        ("google", "google-generative-ai", "gemini-3-pro", Prefill.NEVER),
        ("mistral", "mistral-conversations", "mistral-large", Prefill.NEVER),
        ("groq", "openai-completions", "llama", Prefill.NEVER),
        ("openrouter", "openai-completions", "anthropic/claude-opus-4-5", Prefill.UNLESS_THINKING),
        ("openai", "openai-completions", "gpt-4o", Prefill.ALLOW),
    ],
)
def test_who_may_end_with_an_assistant(provider, api, model, expected):
    assert resolve(provider, api, model).prefill is expected


def test_reasoning_is_a_field_only_where_a_route_takes_it():
    takes = [("deepseek", "deepseek-v4"), ("moonshot", "kimi-k2.5"), ("xiaomi", "mimo-v2.5"), ("zai", "glm-4.7")]
    assert all(resolve(name, "openai-completions", model).reasoning is Reasoning.FIELD for name, model in takes)
    refuses = [("groq", "kimi-k2-thinking"), ("cerebras", "x"), ("openai", "gpt-4o"), ("deepseek", "deepseek-reasoner")]
    assert all(resolve(name, "openai-completions", model).reasoning is Reasoning.NONE for name, model in refuses)
