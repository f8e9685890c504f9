"""stenolith: long-term memory for AI agents that people can trust."""
