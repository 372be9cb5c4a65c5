"""Reader for qless, which has a hash for each job and a sorted set for each queue and state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from headrace.compat.importing import entries
from headrace.compat.importing.qless_jobs import (
    KLASS,
    STATES,
    ListedJob,
    QlessHash,
    read_job,
    read_schedule,
)
from headrace.compat.importing.source_server import in_pages
from headrace.compat.qless.config import OPTIONS, QUEUE_OPTIONS
from headrace.engine.check import LONGEST_MS
from headrace.engine.settings import Value
from headrace.errors import ImportRefused

# The unit of this option is seconds in later versions of qless, and days in earlier versions.
IN_SECONDS_LATER = "jobs-history"
CONFIG, TRACKED = b"config", b"tracked"
QUEUE_PARTS = (b"-work", b"-locks", b"-scheduled", b"-depends", b"-recur")
JOB_PARTS = (b"-history", b"-dependencies", b"-dependents")
KNOWN_KEYS = frozenset(
    b"queues failures failures: completed config paused_queues tracked workers tags".split()
)
# Keys with these prefixes list the jobs of a failure type, a tag or a worker. The reader does not
# report these keys as unknown, because the hashes of the jobs have the same information.
LISTINGS = (b"f:", b"t:", b"w:")
STATISTICS = b"s:"


class QlessReader(entries.SourceReader):
    """Reader of the keys ql:j:<id>, ql:q:<queue>-work and so on."""

    default_prefix = "ql"

    def __init__(self, source: entries.ImportSource) -> None:
        super().__init__(source)
        self._queues = self.queue_names(self._queue_names())
        self._job_keys = self._hash_keys(b"j")
        if not self._queues and not self._job_keys:
            raise self.nothing_found("ql:j:<id> and no ql:q:<queue>-work, -locks or -scheduled")
        chosen = self.chosen(self._queues)
        self._wanted_queues = {name: self._key(b"q", given) for name, given in chosen.items()}
        # Later versions of qless run higher priorities first. Only later versions write the field
        # klass, so one job with a klass shows that a later version served all jobs.
        self._is_later = self.server.any_has([*self._job_keys, *self._hash_keys(b"r")], KLASS)
        self._tracked = frozenset(each for each, _ in self.server.scored(self._key(TRACKED)))

    def _key(self, *parts: bytes) -> bytes:
        return b":".join((self.prefix, *parts))

    def _hash_keys(self, part: bytes) -> list[bytes]:
        kinds = self.server.kinds(self.server.keys(prefix=self._key(part, b"")))
        return [key for key, kind in kinds.items() if kind == "hash"]

    def _queue_names(self) -> list[bytes]:
        prefix = self._key(b"q", b"")
        found = [each for each, _ in self.server.scored(self._key(b"queues"))]
        for part in QUEUE_PARTS:
            keys = self.server.keys(prefix=prefix, suffix=part)
            found += [key.removeprefix(prefix).removesuffix(part) for key in keys]
        return list(dict.fromkeys(found))

    # Queues and settings.

    def setups(self) -> Iterator[entries.Setup]:
        """Yield the settings of the namespace, and the queues with their settings."""
        config = self.server.text_fields(self._key(CONFIG))
        paused = {
            self._key(b"q", each) for each in self.server.members(self._key(b"paused_queues"))
        }
        by_queue = self._queue_settings(config)
        for option, value in sorted(config.items()):
            yield from self._setting(option, value)
        for name, key in self._wanted_queues.items():
            settings = by_queue.get(name, {})
            if key in paused:
                settings["paused"] = True
            yield entries.FoundQueue(name, "job", settings)

    def _queue_settings(self, config: dict[str, str]) -> dict[str, dict[str, Value]]:
        """Remove the queue options from the config, and return these options as queue settings."""
        found: dict[str, dict[str, Value]] = {}
        for option in list(config):
            for suffix, known in QUEUE_OPTIONS.items():
                name = option.removesuffix(suffix)
                if option.endswith(suffix) and name in self._queues:
                    value = entries.whole_number(config.pop(option))
                    if value is not None and value > 0:
                        found.setdefault(name, {})[known.setting] = min(value, LONGEST_MS // 1000)
        return found

    def _setting(self, option: str, given: str) -> Iterator[entries.Setup]:
        known, number = OPTIONS.get(option), entries.whole_number(given)
        if known is None:
            self.left_out.add("Headrace has no setting for this option", option)
        elif number is None or (known.setting == "lease" and number <= 0):
            self.left_out.add("the value of this option is not a valid number", option)
        else:
            unit = 1 if self._is_later and option == IN_SECONDS_LATER else known.unit
            yield known.setting, min(max(0, number) * unit, LONGEST_MS // 1000)

    # Jobs.

    def read_entries(self) -> Iterator[entries.Entry]:
        """Yield the jobs by state, running jobs first, and then the recurring jobs."""
        seen: set[bytes] = set()
        yield from self._read(self._in_queues(), seen)
        yield from self._read(self._failed(), seen)
        yield from self._read(self._completed(), seen)
        yield from self._read(self._blocked(), seen)
        yield from self._read(self._unlisted(seen), seen)
        yield from self._recurring()
        self._note_left_out(seen)

    def _note_left_out(self, seen: set[bytes]) -> None:
        for each in sorted(self._tracked - seen):
            self.left_out.add("tracked, but the job does not exist", each)
        known = {key + part for key in self._job_keys for part in (b"", *JOB_PARTS)}
        for given in self._queues.values():
            key = self._key(b"q", given)
            known |= {key + part for part in QUEUE_PARTS}
            known |= {self._key(b"r", each) for each, _ in self.server.scored(key + b"-recur")}
        prefix = self._key(b"")
        for key in self.server.keys(prefix=prefix):
            rest = key.removeprefix(prefix)
            if rest.startswith(STATISTICS):
                self.left_out.add("statistics are not imported", key)
            elif not (key in known or rest in KNOWN_KEYS or rest.startswith(LISTINGS)):
                self.left_out.add("unknown key", key)

    def _in_queues(self) -> Iterator[ListedJob]:
        for key in self._wanted_queues.values():
            for each, _ in self.server.scored(key + b"-locks"):
                yield ListedJob(each, "running")
            waiting = [each for each, _ in self.server.scored(key + b"-work")]
            # Later versions of qless run the job with the highest score first.
            ordered = reversed(waiting) if self._is_later else waiting
            yield from (ListedJob(each, "waiting") for each in ordered)
            for each, at in self.server.scored(key + b"-scheduled"):
                yield ListedJob(each, "scheduled", at)

    def _failed(self) -> Iterator[ListedJob]:
        for registry in (self._key(b"failures"), self._key(b"failures", b"")):
            for failure in self.server.members(registry):
                for each in self.server.oldest_first(self._key(b"f", failure)):
                    yield ListedJob(each, "failed", None, failure.decode(errors="replace"))

    def _completed(self) -> Iterator[ListedJob]:
        for each, at in self.server.scored(self._key(b"completed")):
            yield ListedJob(each, "complete", at)

    def _unlisted(self, seen: set[bytes]) -> Iterator[ListedJob]:
        """Yield the jobs that are in no list: completed jobs and lost jobs."""
        for page in in_pages(self._job_keys):
            for key, fields in zip(page, self.server.hashes(page), strict=True):
                each = key.removeprefix(self._key(b"j", b""))
                state = fields.get(b"state", b"").decode(errors="replace")
                if each in seen:
                    continue
                if state not in STATES or state == "depends":
                    self.left_out.add(f"in no queue; the state {state!r} is unknown", each)
                    continue
                if state != "complete":
                    self.left_out.add(
                        f"in no queue, with state {state!r}; the job is imported", each
                    )
                yield ListedJob(each, state)

    def _read(self, listed: Iterable[ListedJob], seen: set[bytes]) -> Iterator[entries.ImportedJob]:
        for page in in_pages(each for each in listed if each.id not in seen):
            new = {each.id: each for each in page if each.id not in seen}
            seen.update(new)
            for stored, each in zip(self._hashes(list(new)), new.values(), strict=True):
                if not stored.fields:
                    self.left_out.add(
                        f"listed as {each.state}, but the job does not exist", stored.id
                    )
                elif each.state == "complete" and stored.text("state") not in ("complete", ""):
                    # A completed job that was put again is still listed as complete.
                    seen.discard(stored.id)
                else:
                    job = read_job(self.source, self.left_out, stored, each)
                    if self.source.wants(job.queue):
                        yield job

    def _hashes(self, ids: Sequence[bytes], kind: bytes = b"j") -> list[QlessHash]:
        keys = [self._key(kind, each) for each in ids]
        histories: list[list[bytes]] = [[] for _ in keys]
        if self._is_later and kind == b"j":
            histories = self.server.lists([key + b"-history" for key in keys])
        return [
            QlessHash(*each, higher_first=self._is_later, is_tracked=each[0] in self._tracked)
            for each in zip(ids, self.server.hashes(keys), histories, strict=True)
        ]

    def _blocked(self) -> Iterator[ListedJob]:
        """Yield jobs with dependencies, each job after the jobs that it depends on."""
        depends: dict[bytes, list[bytes]] = {}
        for given in self._queues.values():
            for each, _ in self.server.scored(self._key(b"q", given) + b"-depends"):
                depends[each] = self.server.members(self._key(b"j", each) + b"-dependencies")
        try:
            ordered = list(TopologicalSorter(depends).static_order())
        except CycleError as error:
            raise ImportRefused(
                f"job {entries.shown(error.args[1][0])!r} depends on itself through other jobs and "
                "can never run: cancel the job at the source first"
            ) from error
        for each in ordered:
            if each in depends:
                yield ListedJob(each, "depends", depends_on=depends[each])

    def _recurring(self) -> Iterator[entries.FoundSchedule]:
        for name, key in self._wanted_queues.items():
            for page in in_pages(self.server.scored(key + b"-recur")):
                hashes = self._hashes([each for each, _ in page], b"r")
                for (_, at), stored in zip(page, hashes, strict=True):
                    found = read_schedule(self.left_out, stored, name, at)
                    if found is not None:
                        yield found
