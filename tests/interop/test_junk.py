"""Whatever stands under the keys that we know: it is read, named as a problem, or refused; nothing else happens."""

from __future__ import annotations

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from stenolith.errors import InvalidInput
from stenolith.interop import Dialect, check_seed, conversations, read_messages, write_messages
from stenolith.model.message import digest, message_to_dict

KEYS = [
    "role",
    "type",
    "content",
    "parts",
    "id",
    "name",
    "timestamp",
    "created",
    "tool_calls",
    "tool_call_id",
    "function",
    "function_call",
    "arguments",
    "input",
    "call_id",
    "output",
    "summary",
    "reasoning_content",
    "refusal",
    "message",
    "parentId",
    "firstKeptEntryId",
    "version",
    "toolCallId",
    "isError",
    "provenance",
    "kind",
    "display",
    "customType",
    "details",
    "stopReason",
    "stop_reason",
    "usage",
    "model",
    "provider",
    "api",
    "text",
    "thinking",
    "thinkingSignature",
    "signature",
    "data",
    "source",
    "mimeType",
    "image_url",
    "url",
    "redacted",
    "messages",
    "sessions",
    "conversations",
    "sessionKey",
    "mapping",
    "current_node",
    "author",
    "create_time",
    "chat_messages",
    "sender",
    "encrypted_content",
    "phase",
]
WORDS = [
    "user",
    "assistant",
    "tool",
    "toolResult",
    "system",
    "custom",
    "bashExecution",
    "compactionSummary",
    "branchSummary",
    "hookMessage",
    "function",
    "developer",
    "text",
    "thinking",
    "redacted_thinking",
    "image",
    "toolCall",
    "tool_use",
    "tool_result",
    "tool_call",
    "image_url",
    "input_text",
    "output_text",
    "message",
    "session",
    "compaction",
    "custom_message",
    "branch_summary",
    "function_call",
    "function_call_output",
    "reasoning",
    "custom_tool_call",
    "web_search_call",
    "base64",
    "inter_session",
    "stop",
    "error",
]
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-5, 2**65)
    | st.floats(allow_nan=False)
    | st.sampled_from([*WORDS, "", " ", "x|y", "é\ud800"])
)
junk = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=12,
)
plausible = st.dictionaries(st.sampled_from(KEYS), junk, max_size=6).flatmap(
    lambda value: st.fixed_dictionaries(
        {}, optional={"role": st.sampled_from(WORDS), "type": st.sampled_from(WORDS)}
    ).map(lambda more: {**value, **more})
)


@given(messages=st.lists(plausible | junk, max_size=4), dialect=st.none() | st.sampled_from(Dialect))
def test_any_objects_are_read_or_refused(messages, dialect):
    with contextlib.suppress(InvalidInput):
        found = read_messages(json.dumps(messages), dialect=dialect).messages
        for message in found:
            json.dumps(message_to_dict(message))
            digest(message)
        for other in Dialect:
            json.dumps(write_messages(found, other))


@given(st.lists(plausible | junk, max_size=3) | plausible, st.booleans())
def test_any_file_of_conversations_is_read_or_refused(value, lines):
    text = "\n".join(json.dumps(item) for item in value) if lines and isinstance(value, list) else json.dumps(value)
    with contextlib.suppress(InvalidInput):
        for found in conversations(text.encode()):
            assert found.session_key is not None
    check_seed(text)


@given(st.lists(plausible, max_size=4), st.sampled_from(Dialect), st.sampled_from(Dialect))
def test_words_survive_every_way_between_dialects(messages, first, second):
    with contextlib.suppress(InvalidInput):
        found = read_messages(json.dumps(messages), dialect=first).messages
        written = write_messages(found, second)
        again = read_messages(json.dumps(written), dialect=second).messages if written else ()
        said = [message.text() for message in found if message.text().strip()]
        assert "".join("".join(said).split()) == "".join("".join(m.text() for m in again).split())
