"""The model of schedules."""
