"""What the server does, as values: scripts, calls and what they answer. No I/O happens here."""
