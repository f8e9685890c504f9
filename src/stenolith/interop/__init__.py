"""Foreign files in and out: five dialects of messages, conversation exports, session files and their repair."""

from stenolith.interop.dialects import read_messages, write_messages
from stenolith.interop.reading import Dialect, Problem, Reading
from stenolith.interop.session_tree import write_session

__all__ = ["Dialect", "Problem", "Reading", "read_messages", "write_messages", "write_session"]
