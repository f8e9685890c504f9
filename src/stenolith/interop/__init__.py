"""Foreign files in and out."""
