"""Outcomes of odd exceptions."""

from __future__ import annotations

import pytest

from headrace import App, Discard, Retry, Snooze
from headrace.worker.task_call import Envelope, Failed, outcome_of_error, resolve_call
from tests.worker.support.jobs import popped


class Unfinished(Retry):
    """An exception that does not call the constructor of its base class."""

    def __init__(self) -> None:
        self.host = "mx1"


class Restless(Snooze):
    """An exception that does not call the constructor of its base class."""

    def __init__(self) -> None:
        self.host = "mx1"


class Falsy(ValueError):
    def __bool__(self) -> bool:
        raise KeyError("no")


class Mute(ValueError):
    def __str__(self) -> str:
        raise KeyboardInterrupt


NAMELESS = type("", (Exception,), {})


class Wordless(Discard):
    def __init__(self) -> None:
        self.failure = 5  # type: ignore[assignment]


@pytest.mark.parametrize(
    "error", [Unfinished(), Restless(), Falsy("x"), Mute("x"), NAMELESS("x"), Wordless()], ids=repr
)
def test_every_exception_becomes_a_failure_with_a_type(error: BaseException) -> None:
    outcome = outcome_of_error(App("test", url="redis://nowhere"), popped(), error, None)

    assert isinstance(outcome, Failed)
    assert outcome.failure
    assert outcome.failure.isprintable()


@pytest.mark.parametrize(
    ("own", "given", "effective"),
    [(5, 9, 5), (5, 5, 5), (5, 3, 3), (5, None, 5), (None, 9, 9), (None, None, None)],
)
def test_job_can_only_shorten_the_timeout_of_its_task(
    own: float | None, given: float | None, effective: float | None
) -> None:
    app = App("test", url="redis://nowhere")
    app.task(name="send", timeout=own)(lambda: None)

    assert resolve_call(app, Envelope("send", timeout=given)).timeout == effective
