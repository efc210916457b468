"""Commands that ask: questions, searches, conversations."""
