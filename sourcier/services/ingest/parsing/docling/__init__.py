"""Office formats by docling's readers: opened, and walked into our blocks."""
