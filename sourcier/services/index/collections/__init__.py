"""Collections, the versions of their documents, and the jobs that people follow."""
