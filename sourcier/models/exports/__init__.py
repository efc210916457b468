"""Recipes that run in the export environment: from published weights to the files that the services load."""
