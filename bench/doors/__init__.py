"""What signing in, rights and the page cost, and what a tenant costs the others."""
