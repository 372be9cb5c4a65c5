"""`doctor`: checks of the server, the namespace and this machine."""
