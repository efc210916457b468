"""Traces: the steps of a request through every process, sent to a collector by OTLP over HTTP. Off unless asked for."""
