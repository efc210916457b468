"""Whether questions without an answer are told from the others before the language model is called."""
