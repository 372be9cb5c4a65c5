"""A check of the payloads in put events: large ones are left out."""

from __future__ import annotations

from headrace import Put
from tests.model.harness import Swaps, opened

# Values of event_data. Payloads around the first value take the short path, and payloads around
# the second value the general path.
LIMITS = (10, 16_384)


def large_payloads_are_left_out(url: str, swaps: Swaps) -> None:
    """Raise unless put events have payloads up to the limit, and only the size of larger ones."""
    for limit in LIMITS:
        client, _ = opened(url, swaps)
        with client:
            queue = client.queue("mail")
            queue.configure(event_data=limit)
            fits, too_large = "x" * (limit - 2), "x" * (limit - 1)
            queue.put(1)
            queue.put(fits)
            queue.put(too_large)
            queue.put_many([fits, too_large])
            queue.put_many([Put(fits, priority=1), Put(too_large, priority=1)])
            left_out = [event.left_out for event in client.events() if event.kind == "put"]
            assert left_out == [None, *[None, limit + 1] * 3], limit
