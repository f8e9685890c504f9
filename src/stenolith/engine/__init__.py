"""The engine: wires the floors together; the only place that reads the configuration."""

from stenolith.engine.memory import Memory
from stenolith.engine.upkeep import restore_home

__all__ = ["Memory", "restore_home"]
