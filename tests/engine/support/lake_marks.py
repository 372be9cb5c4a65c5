"""Helpers to set and read the marks of lakes."""

from __future__ import annotations

from headrace import Client
from headrace.operations import lakes
from headrace.operations.event_log import ShardLog, logs, seek_entries
from headrace.transport.drive import drive

PIECE = 256  # the log is trimmed in whole nodes of the stream,
SLACK = 1024 + PIECE  # and not at every event


def mark(hr: Client, lake: str, entry: str, shard: int = 0) -> None:
    drive(hr.core.transport, lakes.mark_lake(hr, lake, {shard: entry}))


def mark_number(hr: Client, lake: str, number: int) -> None:
    """Mark the event of this number, which must be in the log; 0 marks no event."""
    mark(hr, lake, entry_of(hr, number) if number else "0-0")


def entry_of(hr: Client, number: int) -> str:
    found = drive(hr.core.transport, seek_entries(hr.core, {0: [number]}))
    [entry] = found[0]
    return entry


def log_of(hr: Client) -> ShardLog:
    [log] = drive(hr.core.transport, logs(hr.core))
    return log


def length(hr: Client) -> int:
    [found] = hr.core.transport.send([(0, ("XLEN", hr.core.key(0, "events")))])
    assert isinstance(found, int)
    return found


def present(hr: Client) -> range:
    """Return the numbers of the events in the log; raise if a number in between is missing."""
    log = log_of(hr)
    found = range(log.oldest_number, log.newest_number + 1)
    assert length(hr) == len(found)
    assert log.trimmed == found.start - 1
    return found
