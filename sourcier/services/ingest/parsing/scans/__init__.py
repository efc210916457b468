"""Pages that are pictures: what OCR read of them, as words and rules for the layout of PDF pages."""
