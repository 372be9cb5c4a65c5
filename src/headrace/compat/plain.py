"""The codec of dialects that are opened by a URL: a text is its bytes, and nothing around them."""

from __future__ import annotations

from headrace.errors import InvalidArgument


class Plain:
    """Text as UTF-8, bytes as they are. What is read is text; bytes that are none stay in it."""

    def encode(self, value: object) -> bytes:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if not isinstance(value, str):
            raise InvalidArgument(
                f"what is queued is a str or bytes, not {type(value).__name__}; for other data "
                "give a client, headrace.connect(url): it writes JSON"
            )
        try:
            return value.encode(errors="surrogateescape")
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"what is queued must be valid Unicode: {error}") from error

    def decode(self, payload: bytes) -> str:
        return payload.decode(errors="surrogateescape")
