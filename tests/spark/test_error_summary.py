"""Summaries of Spark errors in one line."""

from __future__ import annotations

import pytest

from headrace.errors import EventsTrimmed, ServerUnavailable
from headrace.spark import error_summary as module
from headrace.spark.error_summary import error_summary, is_caused_by

IN_PYTHON = """\
[PYTHON_DATA_SOURCE_ERROR] Failed to read: Traceback (most recent call last):
  File "events.py", line 7, in _read
    raise EventsTrimmed(0, 1, 3)
headrace.errors.EventsTrimmed: 3 events of shard 0 are gone
\tat org.apache.spark.Task.run(Task.java:3)
"""

IN_A_TASK = """\
Job aborted due to stage failure: Lost task 0.0: PythonException: Traceback (most recent call last):
  File "a.py", line 1, in load
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 9, in main
ModuleNotFoundError: No module named 'no_such_module'

\tat org.apache.spark.Task.run(Task.java:3)

Driver stacktrace:
"""

IN_SQL = """\
[PARSE_SYNTAX_ERROR] Syntax error at or near
'selct'. SQLSTATE: 42601 (line 1, pos 0)

== SQL ==
selct 1
^^^
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (IN_PYTHON, "headrace.errors.EventsTrimmed: 3 events of shard 0 are gone"),
        (IN_A_TASK, "ModuleNotFoundError: No module named 'no_such_module'"),
        (IN_SQL, "[PARSE_SYNTAX_ERROR] Syntax error at or near 'selct'."),
        ("plain\n\nJVM stacktrace:\nx", "plain"),
        ("", ""),
    ],
)
def test_error_is_summarized_in_one_line(said: str, told: str) -> None:
    assert error_summary(Exception(said)) == told


def test_java_error_has_java_message() -> None:
    class OfJava(Exception):
        java_exception = type("Java", (), {"getMessage": lambda _: "no space left"})()

    assert error_summary(OfJava("An error occurred while calling o27.save.")) == "no space left"


def test_long_message_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 4)
    assert error_summary(Exception("abcdef")) == "abcd..."


def test_cause_is_found_in_spark_error() -> None:
    assert is_caused_by(EventsTrimmed(0, 1, 3), EventsTrimmed)
    assert is_caused_by(Exception(IN_PYTHON), EventsTrimmed)
    assert not is_caused_by(Exception(IN_PYTHON), ServerUnavailable)
