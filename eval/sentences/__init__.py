"""How well the check of an answer tells supported sentences from others."""
