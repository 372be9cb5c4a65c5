"""Apps and tasks: functions whose calls become jobs that workers run.

Internal: import the public names from `headrace`. The modules may change without notice.
"""
