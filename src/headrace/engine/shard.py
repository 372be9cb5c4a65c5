"""Compute which shard a job belongs to, and the prefix of a shard's keys."""

from __future__ import annotations

from binascii import crc_hqx
from itertools import count


def shard_of(job_id: str, shards: int) -> int:
    """Return the shard of a job.

    Ids with the same part in braces are on the same shard, as with hash tags in a Cluster.
    """
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


def id_on_same_shard(job_id: str, suffix: str) -> str:
    """Return a new id that is on the same shard as `job_id`."""
    return f"{_tagged(job_id)}~{suffix}"


def id_prefix_on_shard(name: str) -> str | None:
    """Return a prefix with which job ids belong to the same shard as a name.

    Return None if the braces in the name prevent such a prefix.
    """
    found = _tagged(name)
    return found if _hashed_part(f"{found}-") == _hashed_part(name) else None


def _tagged(name: str) -> str:
    return name if _hashed_part(name) != name else f"{{{name}}}"


def ingress_ids(shard: int, shards: int) -> str:
    """Return a prefix for ids of ingress jobs. Ids with this prefix are on this shard."""
    if shards == 1:
        return "ingress-"
    part = next(str(number) for number in count() if shard_of(str(number), shards) == shard)
    return f"{{{part}}}ingress-"


def prefix(namespace: str, shard: int | str) -> str:
    """Return the prefix of a shard's keys and channels; pass the shard's number or a pattern."""
    return f"hr:{{{namespace}:{shard}}}:"


def key_pattern(namespace: str) -> str:
    """Return a pattern for SCAN that matches the keys of all shards of a namespace."""
    return f"hr:{{{namespace}:*"
