"""Progress where nobody has a terminal: lines for a log, few of them."""

from __future__ import annotations

import pytest

from headrace.cli.bulk import Lines


@pytest.mark.parametrize(("total", "of"), [(20_000, " of 20,000"), (None, "")])
def test_what_takes_longer_than_two_seconds_is_told_now_and_then(
    capsys: pytest.CaptureFixture[str], total: int | None, of: str
) -> None:
    times = iter((0.0, 0.5, 1.9, 2.1, 2.2, 12.0, 12.2, 13.0))
    lines = Lines("brought", total, lambda: next(times))

    for _ in range(7):
        lines.advance(1000)

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        f"headrace: brought 3,000{of}",
        f"headrace: brought 6,000{of}",
    ]
