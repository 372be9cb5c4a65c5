"""What comes sooner than anything else is told: a check for scripts with planted faults too."""

from __future__ import annotations

from tests.model.harness import opened
from tests.support.channels import listening


def what_comes_is_told(url: str, swaps: dict[str, str]) -> None:
    """Raises unless a job put for a time that is nearer than any other is told."""
    client, _ = opened(url, swaps)
    with client, listening(client, url, "queue:mail") as workers:
        queue = client.queue("mail")
        for delay, words in ((50, ["coming"]), (60, []), (40, ["coming"])):
            queue.put("x", delay=delay)
            assert workers.messages() == words
