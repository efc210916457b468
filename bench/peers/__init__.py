"""What the services are compared with; each module runs in a process, and often an environment, of its own."""
