"""Tasks: from functions to jobs."""
