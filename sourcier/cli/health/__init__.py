"""Commands that look at an installation: what is wrong with it, and what it holds."""
