"""Rich Text Format: its tokens, its encodings, and the paragraphs, notes and tables that they make."""
