"""Several operations at once: their next commands are sent together, which saves round trips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.transport.drive import Operation, Send


def together(talks: Sequence[Operation[Any]]) -> Operation[list[Any]]:
    """Run the operations together and return their results."""
    ends: list[Any] = [None] * len(talks)
    wishes: dict[int, Any] = {}

    def carry_on(number: int, answer: Any) -> None:
        try:
            wishes[number] = talks[number].send(answer)
        except StopIteration as end:
            ends[number] = end.value
            wishes.pop(number, None)

    for number in range(len(talks)):
        carry_on(number, None)
    while wishes:
        sends = {number: wish for number, wish in wishes.items() if isinstance(wish, Send)}
        others = {number: wish for number, wish in wishes.items() if number not in sends}
        replies = iter((yield Send([one for send in sends.values() for one in send.commands])))
        for number, send in sends.items():
            carry_on(number, [next(replies) for _ in send.commands])
        for number, wish in others.items():
            carry_on(number, (yield wish))
    return ends
