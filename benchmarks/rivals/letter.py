"""What a job that does nothing is given: about 100 bytes as JSON."""

LETTER = {"to": "ada@example.org", "subject": "hello", "body": "x" * 46}
