from __future__ import annotations

from uuid import uuid4

import pytest

import headrace
from headrace.errors import NamespaceMismatch


@pytest.fixture
def namespace() -> str:
    return f"open-{uuid4().hex[:8]}"


def test_first_client_decides_the_number_of_shards(url: str, namespace: str) -> None:
    with headrace.connect(url, namespace=namespace, shards=3) as first:
        job_id = first.queue("mail").put("hello", id="x")
    with headrace.connect(url, namespace=namespace) as second:
        assert second.core.shards == 3
        assert second.job(job_id) is not None


def test_another_number_of_shards_is_refused(url: str, namespace: str) -> None:
    with headrace.connect(url, namespace=namespace, shards=2):
        pass
    with pytest.raises(NamespaceMismatch, match="created with 2 shards, not 3"):
        headrace.connect(url, namespace=namespace, shards=3)
    with headrace.connect(url, namespace=namespace, shards=2) as again:
        assert again.core.shards == 2


def test_namespace_with_an_unknown_layout_is_refused_and_not_changed(
    url: str, namespace: str
) -> None:
    with headrace.connect(url, namespace=namespace) as client:
        words = ("HSET", client.core.key(0, "meta"), "layout", 99)
        assert client.core.transport.send([(0, words)]) == [0]
    with pytest.raises(NamespaceMismatch, match="layout 99"):
        headrace.connect(url, namespace=namespace)
