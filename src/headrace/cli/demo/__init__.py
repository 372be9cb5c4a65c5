"""`demo`: a day in an online shop on the embedded server, with a worker that is killed."""
