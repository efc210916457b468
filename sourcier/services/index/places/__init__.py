"""Where text stands in the file it was read from: kept with each chunk, looked up for any part of its text."""
