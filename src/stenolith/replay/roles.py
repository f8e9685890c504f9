"""The four roles as plain names.

Until Python 3.12 reading a member off its enum calls a Python function, a fifth of a microsecond.
Passes ask for the role of every message many times over, so that was a tenth of a long replay.
"""

from __future__ import annotations

from typing import Final

from stenolith.model.message import Role

USER: Final = Role.USER
ASSISTANT: Final = Role.ASSISTANT
TOOL: Final = Role.TOOL
SYSTEM: Final = Role.SYSTEM
