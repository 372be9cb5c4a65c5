"""Output without a terminal: progress as lines for a log."""

from __future__ import annotations

import pytest

from headrace.cli.output import ProgressLines


@pytest.mark.parametrize(("total", "of"), [(20_000, " of 20,000"), (None, "")])
def test_progress_is_logged_after_two_seconds_and_then_every_ten(
    capsys: pytest.CaptureFixture[str], total: int | None, of: str
) -> None:
    times = iter((0.0, 0.5, 1.9, 2.1, 2.2, 12.0, 12.2, 13.0))
    lines = ProgressLines("imported", total, lambda: next(times))

    for _ in range(7):
        lines.advance(1000)

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        f"headrace: imported 3,000{of}",
        f"headrace: imported 6,000{of}",
    ]
