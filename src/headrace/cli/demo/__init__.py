"""`demo`: simulate a day in an online shop on the embedded server, and kill a worker."""
