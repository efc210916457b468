"""Figures as Markdown blocks, SVG plots and a statement of what was measured on what."""
