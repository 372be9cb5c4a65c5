"""One Spark session for a test run, and clients whose clock is the server's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.spark import session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two threads of this machine."""
    scratch: Path = tmp_path_factory.mktemp("spark")
    made = session(
        "local[2]",
        spark_driver_memory="1g",
        spark_sql_shuffle_partitions="2",
        spark_sql_warehouse_dir=str(scratch / "warehouse"),
        spark_local_dir=str(scratch),
    )
    yield made
    made.stop()
