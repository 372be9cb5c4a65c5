"""A check of the notice that announces an earlier due time."""

from __future__ import annotations

from tests.model.harness import opened
from tests.support.channels import listening


def earlier_due_time_is_published(url: str, swaps: dict[str, str]) -> None:
    """Raise unless a put that is due before all other jobs publishes a notice."""
    client, _ = opened(url, swaps)
    with client, listening(client, url, "queue:mail") as workers:
        queue = client.queue("mail")
        for delay, words in ((50, ["coming"]), (60, []), (40, ["coming"])):
            queue.put("x", delay=delay)
            assert workers.messages() == words
