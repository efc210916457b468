"""Word documents, read from their own XML: what the page shows, with its notes, numbers, boxes and marks."""
