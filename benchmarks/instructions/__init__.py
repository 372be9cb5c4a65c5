"""Instructions per call, counted by callgrind in the client, the server and a worker process."""
