"""Stages that read documents part by part, each with queues and processes of its own: scans by OCR, recordings."""
