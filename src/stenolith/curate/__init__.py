"""What every curated write passes."""
