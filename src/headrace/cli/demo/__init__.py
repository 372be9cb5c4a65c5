"""`demo`: a day in a shop, with a worker that is killed, on the embedded server."""
