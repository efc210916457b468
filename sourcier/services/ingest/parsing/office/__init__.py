"""Word, PowerPoint and Excel, and the archives that they are."""
