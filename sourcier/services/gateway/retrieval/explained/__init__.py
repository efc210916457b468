"""Why each passage of a search is where it is, and where a document that was expected fell out."""
