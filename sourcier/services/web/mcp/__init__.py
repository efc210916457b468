"""The Model Context Protocol: tools that search, ask and read, with the rights of whoever calls them."""
