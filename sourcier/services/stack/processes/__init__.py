"""Child processes: started, watched, restarted, and never left behind."""
