"""One module per provider API: canonical messages in, payload out."""
