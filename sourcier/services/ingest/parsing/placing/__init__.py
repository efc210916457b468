"""Where blocks stand in their file: words on pages, cells, slides, paragraphs, lines."""
