"""The keys of qless: which there are, and which of them are known."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.compat.importing.source import Source

PARTS = (b"-work", b"-locks", b"-scheduled", b"-depends")
RECURRING = b"-recur"
JOB_PARTS = (b"-history", b"-dependencies", b"-dependents")
ALONE = frozenset(
    b"queues failures failures: completed config paused_queues tracked workers tags".split()
)
# Jobs by failure, tag and worker: the jobs say the same.
LISTINGS = (b"f:", b"t:", b"w:")


class Keys:
    """The keys that begin with a prefix."""

    def __init__(self, source: Source, prefix: bytes) -> None:
        self._source = source
        self._prefix = prefix

    def of(self, *parts: bytes) -> bytes:
        """A key."""
        return b":".join((self._prefix, *parts))

    def id_of(self, job_key: bytes) -> bytes:
        """The job whose hash this is."""
        return job_key.removeprefix(self.of(b"j", b""))

    def queues(self) -> list[bytes]:
        """The queues of which something is there."""
        begins = self.of(b"q", b"")
        found = [each for each, _ in self._source.scored(self.of(b"queues"))]
        for part in (*PARTS, RECURRING):
            keys = self._source.keys(begins=begins, ends=part)
            found += [key.removeprefix(begins).removesuffix(part) for key in keys]
        return list(dict.fromkeys(found))

    def jobs(self) -> list[bytes]:
        """The hashes of jobs."""
        keys = self._source.keys(begins=self.of(b"j", b""))
        kinds = self._source.kinds(keys)
        return [key for key in keys if kinds[key] == "hash"]

    def known(self, queues: Iterable[bytes], jobs: Iterable[bytes]) -> dict[bytes, bytes]:
        """Every key whose meaning is known, with the one that says whether it may go: parts of
        a job go with its hash.
        """
        owners = {key: key for key in jobs}
        owners |= {key + part: key for key in list(owners) for part in JOB_PARTS}
        for queue in queues:
            turns = self.of(b"q", queue) + RECURRING
            recurring = [self.of(b"r", each) for each, _ in self._source.scored(turns)]
            lists = [self.of(b"q", queue) + part for part in (*PARTS, RECURRING)]
            owners |= {key: key for key in (*recurring, *lists)}
        return {
            key: owners.get(key, key)
            for key in self._source.keys(begins=self.of(b""))
            if key in owners or self._is_known(key.removeprefix(self.of(b"")))
        }

    def _is_known(self, rest: bytes) -> bool:
        return rest in ALONE or rest.startswith((*LISTINGS, b"s:"))
