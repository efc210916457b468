"""What the language model reads: prompts, and documents' text marked as data."""
