"""Repeated calls: checks of the remembered answers and of lost pops, and planted faults."""
