"""How well pages are read: drawn documents whose truth is known, read by Sourcier and by other readers of PDF."""
