"""Jobs: what runs when, and what happens when it fails."""
