"""PDF: from the words of its pages to lines, columns, tables and paragraphs."""
