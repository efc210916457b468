"""Agents, deployments and the answers that people validated."""
