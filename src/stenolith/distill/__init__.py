"""Records become atoms, atoms scenes, scenes a persona."""
