"""The columns of the table of jobs, made from Job, and jobs as such columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from headrace.operations.values import Job

_TYPES: dict[Any, pa.DataType] = {
    bool: pa.bool_(),
    bytes: pa.binary(),
    datetime: pa.timestamp("us", tz="UTC"),
    float: pa.float64(),
    int: pa.int64(),
    str: pa.string(),
    # A line of the log of a job.
    tuple[datetime, str]: pa.struct([("at", pa.timestamp("us", tz="UTC")), ("line", pa.string())]),
}
_RENAMED = {"payload": "data"}
_LEFT_OUT = ("_codec",)


def _type(hint: Any) -> pa.DataType:
    if is_dataclass(hint):
        return pa.struct([_field(name, each) for name, each in get_type_hints(hint).items()])
    if get_origin(hint) is list:
        return pa.list_(_type(*get_args(hint)))
    return _TYPES[hint]


def _field(name: str, hint: Any) -> pa.Field:
    optional = NoneType in get_args(hint)
    kinds = [kind for kind in get_args(hint) if kind is not NoneType] if optional else [hint]
    return pa.field(name, _type(*kinds), nullable=optional)


_OF_JOB = [each.name for each in fields(Job) if each.name not in _LEFT_OUT]
_HINTS = get_type_hints(Job) | {"queue": str}

JOBS: pa.Schema = to_arrow_schema(
    from_arrow_schema(
        pa.schema(
            [
                pa.field("shard", pa.int64(), nullable=False),
                *(_field(_RENAMED.get(name, name), _HINTS[name]) for name in _OF_JOB),
                # When it was completed or failed.
                pa.field("ended", pa.timestamp("us", tz="UTC")),
            ]
        )
    ),
    timezone="UTC",
)


def job_columns(shard: int, jobs: Sequence[Job]) -> pa.RecordBatch:
    """Jobs of a shard, as the columns JOBS."""
    values: dict[str, list[Any]] = {
        _RENAMED.get(name, name): [_plain(getattr(job, name)) for job in jobs] for name in _OF_JOB
    }
    values["shard"] = [shard] * len(jobs)
    values["queue"] = [job.queue or job.history[-1].queue for job in jobs]
    values["ended"] = [_ended(job) for job in jobs]
    return pa.RecordBatch.from_pydict(values, schema=JOBS)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, tuple):
        return dict(zip(("at", "line"), value, strict=True))
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _ended(job: Job) -> datetime | None:
    if job.failure is not None and job.state == "failed":
        return job.failure.at
    return job.history[-1].ended if job.state == "complete" else None
