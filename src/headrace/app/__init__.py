"""Tasks: functions that become jobs when they are put, and run where a worker has their app."""
