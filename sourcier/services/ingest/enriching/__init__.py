"""Knowledge units: what the language model is told, how its output is read, and the services that are called for it."""
