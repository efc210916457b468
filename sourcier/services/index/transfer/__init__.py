"""Collections exported and imported whole."""
