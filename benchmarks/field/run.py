"""One run: who is there, everything in turn, what was found, and who fell out and why."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import redis
from rich.console import Console

from benchmarks.field.bench import Bench
from benchmarks.field.contestants import Contestant
from benchmarks.field.homes import CannotInstall, install
from benchmarks.field.parts import Figures, Part
from benchmarks.field.turn import NotMeasured, stopped

# By part, contestant and figure: what was found in each round.
Found = dict[str, dict[str, dict[str, list[float]]]]


FOLDERS = re.compile(r"(?<![\w.:/])/(?:[\w.+-]+/)+")
# What one contestant may do wrong without an end for all; a rival may leave half a file.
BROKEN = (NotMeasured, OSError, ArithmeticError, LookupError, ValueError, redis.RedisError)


@dataclass
class Run:
    """What is found grows while it runs, so that whoever ends it early has what was found."""

    bench: Bench
    console: Console
    found: Found = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def installed(self, field: Iterable[Contestant]) -> list[Contestant]:
        """Those who are here; what stands in the way of the others is kept and shown."""
        everybody = list(field)
        failed: set[str] = set()
        for home, server in dict.fromkeys((who.home, who.server) for who in everybody if who.home):
            try:
                with self.console.status(f"{home}: installing, unless it is there"):
                    install(home)
                    check_server(server)
            except CannotInstall as error:
                failed.add(home)
                self.miss(home, str(error))
        return [who for who in everybody if who.home not in failed]

    def do(self, part: Part, field: Collection[Contestant]) -> None:
        """All in turn, again and again; who fails once is left out of this part."""
        taking_part = [who for who in field if part.name in who.parts]
        rounds = self.bench.effort.rounds * part.often
        for number in range(1, rounds + 1):
            there = [who for who in taking_part if number == 1 or not part.once or not who.home]
            label = f"{part.about}, round {number} of {rounds}"
            alone = [who for who in there if part.together == 1 or not who.home]
            failed = [who for who in alone if not self.try_one(part, who, label)]
            failed += self.try_together(part, [who for who in there if who not in alone], label)
            taking_part = [who for who in taking_part if who not in failed]

    def try_one(self, part: Part, who: Contestant, label: str) -> bool:
        with self.console.status(f"{label}: {who.name}"):
            return self.keep(part, who, label, lambda: part.measure(self.bench, who))

    def try_together(self, part: Part, rivals: list[Contestant], label: str) -> list[Contestant]:
        """Several at the same time; returns those who failed."""
        names = ", ".join(who.name for who in rivals)
        with self.console.status(f"{label}: {names}"), ThreadPoolExecutor(part.together) as pool:
            doing = {pool.submit(part.measure, self.bench, who): who for who in rivals}
            try:
                kept = {
                    each: self.keep(part, doing[each], label, each.result)
                    for each in as_completed(doing)
                }
            except BaseException:
                stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [doing[each] for each, is_kept in kept.items() if not is_kept]

    def keep(self, part: Part, who: Contestant, label: str, measure: Callable[[], Figures]) -> bool:
        """Keep what was found in one round, or why it was not."""
        try:
            figures = measure()
        except BROKEN as error:
            self.found.get(part.name, {}).pop(who.name, None)
            self.miss(f"{who.name}, {part.about}", str(error) or repr(error))
            return False
        rows = self.found.setdefault(part.name, {}).setdefault(who.name, {})
        for name, figure in figures.items():
            rows.setdefault(name, []).append(figure)
        self.say(f"{label}: {who.name}  {shown(figures)}")
        return True

    def miss(self, what: str, why: str) -> None:
        """All of it is said; what is kept names no place of this machine."""
        self.missing[what] = FOLDERS.sub("", why)
        self.say(f"not measured: {what}: {why}")

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


def check_server(server: str) -> None:
    """A server that is no part of this project must be on the machine."""
    if server != "valkey" and not shutil.which(server):
        raise CannotInstall(f"{server} is not on this machine; Debian has a package of that name")


def shown(figures: Figures) -> str:
    return "  ".join(f"{name} {figure:,.2f}" for name, figure in figures.items())
