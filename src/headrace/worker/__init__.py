"""The worker: processes that pop jobs, run the tasks they name and acknowledge their outcomes."""
