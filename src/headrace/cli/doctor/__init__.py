"""`doctor`: looks at the server, the namespace and this machine, and says what to do."""
