"""The sink: rows become jobs."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType


def batch_writer(
    options: Mapping[str, str],
    schema: StructType,
    overwrite: bool,  # noqa: FBT001
) -> DataSourceWriter:
    """The writer of df.write."""
    raise NotImplementedError


def stream_writer(
    options: Mapping[str, str],
    schema: StructType,
    overwrite: bool,  # noqa: FBT001
) -> DataSourceStreamWriter:
    """The writer of df.writeStream."""
    raise NotImplementedError
