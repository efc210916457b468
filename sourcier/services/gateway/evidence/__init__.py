"""Whether a passage says what a sentence of an answer says, and how that is shown."""
