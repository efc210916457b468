"""When what a document says holds: its dates and what it replaces, read by rule, kept, and mended by people."""
