"""Questions on several documents or of several things: cut by rule, searched and answered part by part."""
