"""The engine that says what a script says, for tests and benchmarks."""
