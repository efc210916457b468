"""Workbooks: cells as the sheet shows them, tables with all lines of their headers."""
