"""Between calls and engine: admission, turns, deadlines and a watch on progress."""
