"""Commands that follow documents, show them and mend what failed."""
