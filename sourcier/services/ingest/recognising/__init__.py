"""Reading pictures of text by OCR: pages drawn, their lines found and read, in a confined process of its own."""
