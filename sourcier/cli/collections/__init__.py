"""Commands on collections as a whole: settings, embedding spaces, export and import."""
