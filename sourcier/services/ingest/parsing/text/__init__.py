"""Plain text and delimited rows, in any encoding."""
