"""Foreign files in and out: five dialects of messages, conversation exports, session files and their repair."""

from stenolith.interop.conversations import FORMATS, Choices, Conversation, conversations
from stenolith.interop.dialects import read_messages, write_messages
from stenolith.interop.reading import Dialect, Problem, Reading
from stenolith.interop.seed import SeedError, SeedOptions, SeedSession, check_seed, read_sessions
from stenolith.interop.session_file import RepairReport, repair
from stenolith.interop.session_tree import write_session

__all__ = [
    "FORMATS",
    "Choices",
    "Conversation",
    "Dialect",
    "Problem",
    "Reading",
    "RepairReport",
    "SeedError",
    "SeedOptions",
    "SeedSession",
    "check_seed",
    "conversations",
    "read_messages",
    "read_sessions",
    "repair",
    "write_messages",
    "write_session",
]
