"""The arguments of a job that does nothing: about 100 bytes as JSON."""

PAYLOAD = {"to": "ada@example.org", "subject": "hello", "body": "x" * 46}
