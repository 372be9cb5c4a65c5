"""The servers of the test suite work as described."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from tests.support.servers import (
    cluster,
    redis7,
    redis_server_path,
    sentinel,
    tls_server,
    until,
    valkey,
)

BINARIES = [
    pytest.param(None, id="valkey"),
    pytest.param(
        redis_server_path(),
        id="redis",
        marks=pytest.mark.skipif(redis_server_path() is None, reason="no redis-server here"),
    ),
]


def test_valkey_is_a_valkey() -> None:
    with valkey() as url, redis.Redis.from_url(url) as server:
        assert server.info("server")["server_name"] == "valkey"


def test_redis7_is_a_redis() -> None:
    with redis7() as url:
        if url is None:
            pytest.skip("no redis-server here")
        with redis.Redis.from_url(url) as server:
            assert "server_name" not in server.info("server")


@pytest.mark.parametrize("binary", BINARIES)
def test_a_cluster_has_three_primaries_and_serves_every_slot(binary: Path | None) -> None:
    with cluster(binary=binary) as url, redis.RedisCluster.from_url(url) as server:
        assert len(server.get_primaries()) == 3
        owners = {server.get_node_from_key(f"key-{number}") for number in range(30)}
        assert all(server.set(f"key-{number}", number) for number in range(30))
    assert len(owners) == 3


@pytest.mark.parametrize("binary", BINARIES)
def test_a_sentinel_makes_the_replica_the_primary(binary: Path | None) -> None:
    with sentinel(binary=binary) as watched:
        first = f"{watched.host}:{watched.primary}"
        with redis.Redis(watched.host, watched.port) as server:
            assert server.info("sentinel")["master0"]["address"] == first

            watched.kill_primary()

            until(
                lambda: server.info("sentinel")["master0"]["address"] != first,
                "the Sentinel names another primary",
            )


def test_tls_server_requires_the_certificate_and_the_user() -> None:
    with tls_server(rights="~hr:* +get +set") as served:
        if served is None:
            pytest.skip("no server with TLS here")
        with redis.Redis.from_url(served.url, ssl_ca_certs=str(served.ca)) as server:
            assert server.set("hr:key", "value")
            with pytest.raises(redis.exceptions.NoPermissionError):
                server.get("other")
        with (
            redis.Redis.from_url(served.url) as stranger,
            pytest.raises(redis.exceptions.ConnectionError, match="certificate"),
        ):
            stranger.get("hr:key")
        nobody = served.url.replace("headrace:secret@", "")
        with (
            redis.Redis.from_url(nobody, ssl_ca_certs=str(served.ca)) as unnamed,
            pytest.raises(redis.exceptions.AuthenticationError),
        ):
            unnamed.get("hr:key")
