"""What every process stands on. It knows no service."""
