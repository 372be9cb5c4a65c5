"""Helpers for your tests: a private server, a namespace for each test and a clock you can set.

Headrace is a pytest plugin, so its fixtures need no import:

    def test_a_late_job_comes_back(headrace_client, headrace_clock):
        queue = headrace_client.queue("mail")
        queue.put("hello")
        queue.pop("first", lease=30)
        headrace_clock.tick(30)
        assert queue.pop("second")[0].attempt == 2
"""

from headrace.local_server.scratch import private_server
from headrace.testing.clock import START, Clock, open_with_clock, settable_clock

__all__ = ["START", "Clock", "open_with_clock", "private_server", "settable_clock"]
