"""Electronic books (EPUB): chapters in the order in which they are read."""
