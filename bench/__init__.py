"""Speed, measured beside peers: one run, ratios, raw samples kept. `python -m bench`."""
