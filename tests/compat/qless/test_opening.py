"""Qless opens on a client or by a URL."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import Client, InvalidArgument
from headrace.compat import qless
from headrace.compat.qless import AsyncQless, Qless


def test_url_opens_a_client_and_close_closes_it(valkey_url: str) -> None:
    with Qless(valkey_url, namespace="by-url") as opened:
        opened.queues["by url"].put({"a": 1}, id="by url")
        assert opened.client.core.namespace == "by-url"
        assert opened.cancel("by url") == ["by url"]


def test_passed_client_stays_open(hr: Client) -> None:
    with Qless(hr):
        pass

    assert hr.audit().balanced


def test_argument_must_be_a_client_or_a_url(hr: Client) -> None:
    nothing: Any = None
    sync_client: Any = hr
    with pytest.raises(InvalidArgument, match="pass a Client or a URL, not NoneType"):
        Qless(nothing)
    with pytest.raises(InvalidArgument, match="pass an AsyncClient or a URL, not Client"):
        AsyncQless(sync_client)


def test_queue_of_qless_is_a_headrace_queue(hr: Client) -> None:
    Qless(hr).queues["mail"].put({"to": "ada"}, id="j")

    assert list(hr.queues()) == ["mail"]
    [lease] = hr.queue("mail").pop("w")
    assert lease.data == {"to": "ada"}
    lease.complete()
    job = Qless(hr).jobs["j"]
    assert isinstance(job, qless.Job)
    assert job.state == "complete"
    assert hr.audit() == headrace.Audit(queues=1, jobs=1, problems=[])


@pytest.mark.parametrize("part", ["config", "jobs", "queues", "throttles", "workers"])
def test_groups_are_not_iterable(qless: Any, part: str) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        iter(getattr(qless, part))
    with pytest.raises(TypeError, match=r"not iterable|not a container"):
        assert "name" in getattr(qless, part)
