"""Imported data works with the API of the system that it came from."""

from __future__ import annotations

from headrace import Client
from headrace.codecs.codec import codec_of
from headrace.compat.common import TextCodec
from headrace.compat.qless import Qless
from headrace.compat.redis_queue import RedisQueue
from headrace.compat.thoonk import Thoonk
from headrace.compat.worqr import Worqr
from tests.compat.importing.support.installation import Installation, run_import
from tests.compat.importing.test_qless import write_queue
from tests.compat.importing.test_sources import JOBS, LEAF, REDIS_QUEUE, WORQR


def test_thoonk_continues(hr: Client, old: Installation) -> None:
    old.write(LEAF + JOBS)
    run_import(hr, old, "thoonk")
    hr.core.codec = TextCodec()

    thoonk = Thoonk(hr)

    assert thoonk.get_feeds() == {"news", "work"}
    assert thoonk.leaf("news").get_ids() == ["3", "2", "1"]
    work = thoonk.job("work")
    assert [tuple(work.get())[:2] for _ in range(3)] == [("r1", "3"), ("r2", "4"), ("w1", "1")]
    assert work.get() == ("w2", "2", 2)
    work.retry("s1")
    assert work.get() == ("s1", "5", 0)


def test_qless_continues(hr: Client, old: Installation) -> None:
    write_queue(old)
    run_import(hr, old, "qless")

    qless = Qless(hr)

    job = qless.queues["example"].pop(worker="w")
    assert job is not None
    assert (job.id, job.priority, job.data) == ("soon", -5, {"hello": "how are you"})
    held = qless.jobs["held"]
    assert held is not None
    assert held.history[0][0] == "test1"


def test_worqr_continues(hr: Client, old: Installation) -> None:
    old.write(WORQR)
    run_import(hr, old, "worqr")
    hr.core.codec = TextCodec()

    assert Worqr(hr).getTasks("mail") == ["running", "t1", "t2", "t3"]


def test_redis_queue_continues(hr: Client, old: Installation) -> None:
    old.write(REDIS_QUEUE)
    run_import(hr, old, "redis-queue")
    hr.core.codec = codec_of("raw")

    queue = RedisQueue(hr, poptimeout=0)

    assert [queue.safe_pop("tasks") for _ in range(5)] == ["121", "120", "123", "124", None]
    queue.mark_done("tasks", "121")
    assert hr.job("121") is None
