"""`top`: a live view of queues, workers and failures."""
