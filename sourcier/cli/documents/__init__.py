"""Commands that bring documents in, follow them and mend what failed."""
