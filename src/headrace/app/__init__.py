"""Apps and tasks: functions whose calls become jobs that workers run."""
