"""Every public refusal is recognised, and the one retry is proposed only where it can help."""

from __future__ import annotations

import pytest

from stenolith.replay.recovery import RepairHint, Retry, classify, is_transcript_error

THINK, SEAL, OFF = Retry.DROP_THINKING, Retry.DROP_ENCRYPTED, Retry.DISABLE_THINKING
USER, SMALL, TOOLS = Retry.END_WITH_USER, Retry.SHRINK_IMAGES, Retry.DECLARE_TOOLS

# The texts as they stand in spec/replay.md section 4.
REFUSALS = [
    ("anthropic", "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", "W-ANT-1", None),
    ("anthropic", "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", "W-ANT-2", None),
    ("anthropic", "`tool_use` ids must be unique", "W-ANT-4", None),
    ("anthropic", "each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_01", "W-ANT-4", None),
    ("anthropic", "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "W-ANT-5", None),
    ("anthropic", "messages: text content blocks must be non-empty", "W-ANT-6", None),
    ("anthropic", "messages: text content blocks must contain non-whitespace text", "W-ANT-6", None),
    ("anthropic", "messages.2: all messages must have non-empty content except for the optional final assistant message", "W-ANT-7", None),
    ("anthropic", "messages: final assistant content cannot end with trailing whitespace", "W-ANT-8", None),
    ("anthropic", "This model does not support assistant message prefill. The conversation must end with a user message.", "W-ANT-9", USER),
    ("anthropic", "messages.1.content.0: Invalid `signature` in `thinking` block", "W-ANT-10", THINK),
    ("anthropic", 'messages.5.content.0: The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block"', "W-ANT-10", THINK),
    ("anthropic", "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", "W-ANT-11", THINK),
    ("anthropic", "messages.1.content.0: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", "W-ANT-12", OFF),
    ("anthropic", "messages.1.content.0: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "W-ANT-12", OFF),
    ("anthropic", "messages: at least one message is required", "W-ANT-13", None),
    ("anthropic", "messages.189.content.1.image.source.base64: image exceeds 5 MB maximum: 5641712 bytes > 5242880 bytes", "W-ANT-14", SMALL),
    ("anthropic", "At least one of the image dimensions exceed max allowed size: 8000 pixels", "W-ANT-14", SMALL),
    ("anthropic", "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", "W-ANT-14", SMALL),
    ("anthropic", "The request body is not valid JSON: no low surrogate in string: line 1 column 4711", "W-ANT-15", None),
    ("minimax", "invalid params, tool call result does not follow tool call (2013)", "W-MMX-1", None),
    ("minimax", "invalid params, tool result's tool id(call_1) not found (2013)", "W-MMX-2", None),
    ("minimax", "tool call id is invalid (2013)", "W-MMX-3", None),
    ("kimi", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3", "W-KIM-1", OFF),
    ("moonshot", "tool call id write:12 is duplicated", "W-KIM-2", None),
    ("moonshot", "tool_call_id  is not found", "W-KIM-4", None),
    ("moonshot", 'messages with role "assistant" must not be empty', "W-KIM-3", None),
    ("openai", "Item 'rs_1' of type 'reasoning' was provided without its required following item.", "W-RSP-1", THINK),
    ("openai", "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.", "W-RSP-2", THINK),
    ("openai", "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.", "W-RSP-2", THINK),
    ("openai", "No tool call found for function call output with call_id call_1.", "W-RSP-3", None),
    ("openai", "No tool output found for function call call_1.", "W-RSP-4", None),
    ("openai", "Invalid `input[262].call_id`: string too long. Expected a string with maximum length 64, but got a string with length 67 instead.", "W-RSP-5", None),
    ("openai", "Invalid 'input[3].id': 'x'. Expected an ID that begins with 'fc'.", "W-RSP-5", None),
    ("openai", "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", "W-RSP-6", THINK),
    ("openai", "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.", "W-RSP-7", SEAL),
    ("openai", '{"code": "invalid_encrypted_content"}', "W-RSP-7", SEAL),
    ("openai", '{"code": "thinking_signature_invalid"}', "W-RSP-7", SEAL),
    ("openai", "Duplicate item found with id rs_1", "W-RSP-8", THINK),
    ("openai", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1", "W-CHT-1", None),
    ("openai", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "W-CHT-2", None),
    ("openai", "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 51 instead.", "W-CHT-3", None),
    ("openai", "Invalid 'messages[4].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", "W-CHT-4", None),
    ("openai", "[] is too short - 'messages.1.tool_calls'", "W-CHT-5", None),
    ("openai", "Invalid value for 'content': expected a string, got null.", "W-CHT-7", None),
    ("deepseek", "The `reasoning_content` in the thinking mode must be passed back to the API.", "W-DSK-1", OFF),
    ("deepseek", "Missing `reasoning_content` field in the assistant message at message index 2", "W-DSK-1", OFF),
    ("vllm", "Conversation roles must alternate user/assistant/user/assistant/...", "W-TPL-1", None),
    ("sglang", "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.", "W-TPL-1", None),
    ("lmstudio", "No user query found in messages.", "W-QWN-1", None),
    ("groq", "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]", "W-GRQ-1", THINK),
    ("cerebras", "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported", "W-GRQ-1", THINK),
    ("google", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", "W-GEM-1", None),
    ("google", "Please ensure that function response turn comes immediately after a function call turn.", "W-GEM-2", None),
    ("google", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.", "W-GEM-3", None),
    ("google", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance.", "W-GEM-4", None),
    ("google", "Corrupted thought signature.", "W-GEM-5", THINK),
    ("google", "Invalid value at 'contents[3].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed", "W-GEM-5", THINK),
    ("google", "Please use a valid role: user, model.", "W-GEM-6", USER),
    ("google", "Please ensure that single turn requests end with a user role", "W-GEM-6", USER),
    ("google", "Unable to submit request because it must have a text parameter", "W-GEM-7", None),
    ("google", "contents.parts must not be empty.", "W-GEM-7", None),
    ("google", "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.", "W-GEM-8", None),
    ("amazon-bedrock", "The content field in the Message object at messages.3 is empty. Add a ContentBlock object to the content field and try again.", "W-BED-1", None),
    ("amazon-bedrock", "The text field in the ContentBlock object at messages.95.content.0 is blank. Add text to the text field, and try again.", "W-BED-2", None),
    ("amazon-bedrock", "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.", "W-BED-3", None),
    ("amazon-bedrock", "A conversation must start with a user message. Try again with a conversation that starts with a user message.", "W-BED-4", None),
    ("amazon-bedrock", "Expected toolResult blocks at messages.4.content for the following Ids: tooluse_1", "W-BED-5", None),
    ("amazon-bedrock", "The number of toolResult blocks at messages.4.content exceeds the number of toolUse blocks of previous turn.", "W-BED-5", None),
    ("amazon-bedrock", "The toolConfig field must be defined when using toolUse and toolResult content blocks.", "W-BED-6", TOOLS),
    ("amazon-bedrock", "A text block must be included when using documents.", "W-BED-8", None),
    ("amazon-bedrock", "This model does not support assistant message prefill. The conversation must end with a user message.", "W-BED-9", USER),
    ("amazon-bedrock", "messages.1.content.0: Invalid `signature` in `thinking` block", "W-BED-12", THINK),
    ("mistral", "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", "W-MIS-1", None),
    ("mistral", "Unexpected role 'user' after role 'tool'", "W-MIS-2", None),
    ("vllm", "Unexpected role 'user' after role 'tool'", "W-TPL-2", None),
    ("mistral", "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", "W-MIS-3", USER),
    ("mistral", "Not the same number of function calls and responses", "W-MIS-4", None),
    ("mistral", "Unexpected tool call id X in tool results", "W-MIS-5", None),
    ("mistral", "Assistant message must have either content or tool_calls, but not both.", "W-MIS-6", None),
    ("mistral", "Unexpected role 'tool' after role 'user'", "W-MIS-7", None),
    ("mistral", "Reasoning input is not enabled for this model", "W-MIS-8", THINK),
    ("mistral", "Assistant message must have either content or tool_calls", "W-MIS-9", None),
    ("anthropic", "messages.3.content.0.thinking.signature: Field required", "W-ANT-10", THINK),
    ("proxy", "messages.3.content.0: thinking block must not be empty", "W-ANT-10", THINK),
    ("proxy", "messages.3: missing redacted_thinking block", "W-ANT-10", THINK),
]  # fmt: skip

NOT_THE_TRANSCRIPT = [
    ("anthropic", 429, "rate_limit_error: messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("anthropic", 529, "overloaded_error: Invalid `signature` in `thinking` block"),
    ("anthropic", 500, "Internal server error"),
    ("anthropic", 401, "invalid x-api-key"),
    ("anthropic", 403, "messages: at least one message is required"),
    ("anthropic", 400, "invalid thinking budget"),
    ("anthropic", 400, "thinking budget exceeds max_tokens"),
    ("anthropic", 400, "`max_tokens` must be greater than `thinking.budget_tokens`: invalid value"),
    ("anthropic", 400, "thinking.budget_tokens: Input should be greater than or equal to 1024"),
    ("anthropic", 400, "thinking: this model does not support the requested mode"),
    ("anthropic", 400, "Your credit balance is too low to access the Anthropic API."),
    ("openai", 400, "This model's maximum context length is 128000 tokens."),
    ("openai", None, ""),
]


@pytest.mark.parametrize(("provider", "text", "code", "retry"), REFUSALS)
def test_a_public_refusal_names_its_rule_and_retry(provider, text, code, retry):
    status = 404 if "not persisted" in text else 400
    assert classify(provider, status, text, output_started=False) == RepairHint(code=code, retry=retry)
    assert classify(provider, None, f"400 {text}", output_started=False) == RepairHint(code=code, retry=retry)
    assert is_transcript_error(provider, status, text)


@pytest.mark.parametrize(("provider", "text", "code", "retry"), REFUSALS)
def test_nothing_is_retried_once_output_has_begun(provider, text, code, retry):
    assert classify(provider, 400, text, output_started=True) is None


@pytest.mark.parametrize(("provider", "status", "text"), NOT_THE_TRANSCRIPT)
def test_a_failure_of_the_provider_is_not_a_refusal_of_the_transcript(provider, status, text):
    assert classify(provider, status, text, output_started=False) is None
    assert not is_transcript_error(provider, status, text)


@pytest.mark.parametrize("status", [429, 529, 500, 503, 401])
@pytest.mark.parametrize(("provider", "text", "code", "retry"), REFUSALS[:12])
def test_rate_limits_and_outages_are_never_retried_here(status, provider, text, code, retry):
    assert classify(provider, status, text, output_started=False) is None


def test_what_a_successful_retry_left_out_is_remembered():
    assert RepairHint(code="W-ANT-10", retry=THINK).persist
    assert RepairHint(code="W-RSP-7", retry=SEAL).persist
    assert not RepairHint(code="W-ANT-12", retry=OFF).persist
    assert not RepairHint(code="W-ANT-1").persist
