"""When what a document says holds: its dates, what replaces it, and which passages hold at the time asked for."""
