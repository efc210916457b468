"""The test sets: passages, questions and sentences, read from files or derived from them."""
