"""One Spark session for the whole test run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.spark import session
from tests.support.clients import Location

HERE = Path(__file__).parent
PATIENCE = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raise the timeout: the first query of Spark takes long on a busy machine."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PATIENCE))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session on two threads of this machine."""
    scratch: Path = tmp_path_factory.mktemp("spark")
    made = session(
        "local[2]",
        spark_driver_memory="1g",
        spark_sql_shuffle_partitions="2",
        # Compiling takes longer than the queries of tests, which have few rows.
        spark_sql_codegen_wholeStage="false",
        spark_sql_codegen_factoryMode="NO_CODEGEN",
        spark_sql_warehouse_dir=str(scratch / "warehouse"),
        spark_local_dir=str(scratch),
    )
    yield made
    made.stop()


@pytest.fixture
def location(request: pytest.FixtureRequest, valkey_url: str) -> Location:
    """Use the server of valkey_url, which the tests of this directory name themselves."""
    marker = request.node.get_closest_marker("namespace")
    return Location(valkey_url, **(marker.kwargs if marker else {}))
