"""Values of the house: pure, frozen, and importing nothing of ours outside this floor."""
