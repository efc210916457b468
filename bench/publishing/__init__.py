"""Results as tables, plots and pages of the documentation."""
