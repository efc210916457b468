"""Back-ups of an installation, and their way back: a dump of the database, the objects, and what both are."""
