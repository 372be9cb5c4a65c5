"""The worker: processes that pop jobs, run the tasks they name, and say what became of them."""
