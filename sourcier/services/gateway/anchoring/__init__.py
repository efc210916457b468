"""Whether the sentence of a passage that gives a value gives it of what a sentence of an answer says it of."""
