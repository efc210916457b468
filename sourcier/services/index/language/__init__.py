"""Text as the index reads it: words, stems, numbers, names, and which language it is in."""
