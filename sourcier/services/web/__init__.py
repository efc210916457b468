"""The web service: the page, and HTTP, Connect, OpenAI's dialect and MCP; a client of the gateway alone."""
