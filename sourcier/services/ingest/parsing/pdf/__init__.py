"""PDF: characters, lines, layout."""
