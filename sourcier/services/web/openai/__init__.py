"""OpenAI's dialect: collections, agents and deployments as models that answer, with their sources."""
