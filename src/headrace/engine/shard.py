"""Which shard a job lives on, and how the keys of a shard begin."""

from __future__ import annotations

from binascii import crc_hqx
from itertools import count


def shard_of(job_id: str, shards: int) -> int:
    """The shard of a job: ids that share a part in braces live together, as on a Cluster."""
    if shards == 1:
        return 0
    return crc_hqx(_hashed_part(job_id).encode(), 0) % shards


def _hashed_part(job_id: str) -> str:
    opening = job_id.find("{")
    if opening >= 0:
        closing = job_id.find("}", opening + 1)
        if closing > opening + 1:
            return job_id[opening + 1 : closing]
    return job_id


def beside(job_id: str, suffix: str) -> str:
    """A new id that lives on the same shard as job_id."""
    return f"{_tagged(job_id)}~{suffix}"


def family(name: str) -> str | None:
    """What ids on the shard of a name begin with; None if braces in it are in the way."""
    found = _tagged(name)
    return found if _hashed_part(f"{found}-") == _hashed_part(name) else None


def _tagged(name: str) -> str:
    return name if _hashed_part(name) != name else f"{{{name}}}"


def ingress_ids(shard: int, shards: int) -> str:
    """What the ids of jobs that were pushed from outside begin with, so that they live there."""
    if shards == 1:
        return "ingress-"
    part = next(str(number) for number in count() if shard_of(str(number), shards) == shard)
    return f"{{{part}}}ingress-"


def prefix(namespace: str, shard: int) -> str:
    """What every key and channel of a shard begins with."""
    return f"hr:{{{namespace}:{shard}}}:"
