"""The codec of compatibility APIs that are opened by a URL: text without an encoding around it."""

from __future__ import annotations

from headrace.errors import InvalidArgument


class TextCodec:
    """Encode text as UTF-8 and bytes unchanged; decode to text.

    Bytes that are not valid UTF-8 survive the round trip as surrogates.
    """

    def encode(self, value: object) -> bytes:
        """Return the bytes of a str or bytes. Raises InvalidArgument for any other type."""
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if not isinstance(value, str):
            raise InvalidArgument(
                f"data must be a str or bytes, not {type(value).__name__}; to queue other data, "
                "pass a client from headrace.connect(url), which encodes as JSON"
            )
        try:
            return value.encode(errors="surrogateescape")
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"data must be valid Unicode: {error}") from error

    def decode(self, payload: bytes) -> str:
        """Return the text of a payload."""
        return payload.decode(errors="surrogateescape")
