"""A stored transcript becomes a payload that a provider accepts."""
