"""One Spark session for the whole test run, and namespaces to read from Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import Client
from headrace.spark import session
from headrace.spark.options import ServerAddress
from headrace.testing import open_with_clock
from tests.spark.support.histories import Chance
from tests.support.valkey_only import location

__all__ = ["location"]

HERE = Path(__file__).parent
PATIENCE = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raise the timeout, because the first Spark query takes a long time on a busy machine."""
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
        # Code generation takes longer than running the queries of tests, which have few rows.
        spark_sql_codegen_wholeStage="false",
        spark_sql_codegen_factoryMode="NO_CODEGEN",
        spark_sql_warehouse_dir=str(scratch / "warehouse"),
        spark_local_dir=str(scratch),
    )
    yield made
    made.stop()


@pytest.fixture
def address(hr: Client, valkey_url: str) -> ServerAddress:
    """Return the server and the namespace of hr, as options of Spark."""
    return ServerAddress(url=valkey_url, namespace=hr.core.namespace)


@pytest.fixture(scope="module")
def history_client(request: pytest.FixtureRequest, valkey_url: str) -> Iterator[Client]:
    """Return a client on two shards with a random history of many events.

    A module that uses the history sets HISTORY_SEED and HISTORY_STEPS.
    """
    client, clock = open_with_clock(valkey_url, shards=2)
    with client:
        chance = Chance(client, clock, seed=request.module.HISTORY_SEED)
        chance.steps(request.module.HISTORY_STEPS)
        chance.rare_deeds()
        yield client


@pytest.fixture(scope="module")
def history_address(history_client: Client, valkey_url: str) -> ServerAddress:
    """Return the server and the namespace of history_client, as options of Spark."""
    return ServerAddress(url=valkey_url, namespace=history_client.core.namespace)
