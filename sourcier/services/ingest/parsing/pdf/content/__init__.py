"""The content of a PDF page as PDFium knows it: words with their places, what is drawn, what people added."""
