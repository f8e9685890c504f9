"""All calls to models."""
