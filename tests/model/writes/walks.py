"""Random walks of drivers that write; a seed always gives the same walk."""

from __future__ import annotations

from random import Random

from tests.model.harness import Check, Swaps, named
from tests.model.writes.drivers import DAY, World

# How often each thing happens, relative to the others.
HAPPENS = [
    *["begin"] * 2,
    *["step"] * 12,
    *["repeat"] * 4,
    *("abort", "crash", "wait", "wait", "sweep", "work"),
]


def walk(seed: int) -> Check:
    """Return a check that lets random things happen to drivers; the seed decides which."""

    def run(url: str, swaps: Swaps) -> None:
        chance = Random(seed)
        world = World(url, 1 + 2 * (seed % 2), swaps)
        with world.hr:
            for _ in range(70):
                _happens_by_chance(world, chance)
                world.check()
            world.end()

    return named(f"walk {seed}", run)


def _happens_by_chance(world: World, chance: Random) -> None:
    what = chance.choice(HAPPENS)
    about = [chance.choice([1, 2, 3600, DAY]) if what == "wait" else chance.randrange(1000)]
    about += [chance.randrange(5)] if what == "begin" else []
    getattr(world, what)(*about)
