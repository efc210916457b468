"""Documents listed and deleted, alone, with their collection, or by age; and their files."""
