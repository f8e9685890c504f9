"""A question becomes a trustworthy context."""
