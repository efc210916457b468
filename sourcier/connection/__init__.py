"""The channel to a gateway: deadlines, retries, uploads and answers that survive a broken connection."""
