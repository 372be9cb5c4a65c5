"""Escape control characters in text for people.

Internal: the API may change without notice.
"""

from __future__ import annotations


def printable(words: str) -> str:
    r"""Escape control characters, line separators and invisible characters.

    Control characters in job data could change a terminal's state, forge a log line, or reverse the
    order of the text that follows.

    >>> print(printable("a\x1b[31mb\u202ec"))
    a\x1b[31mb\u202ec
    """
    if words.isprintable():
        return words
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in words)
