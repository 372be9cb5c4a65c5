"""How a call reaches the server."""
