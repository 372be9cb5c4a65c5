"""Workers as real processes, against real servers, by the books and the events."""
