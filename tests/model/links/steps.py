"""The steps of the random test of dependencies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.model.links.model import MARK, POLICIES
from tests.model.links.twin import GROUPS, NAMES, QUEUES

Step = tuple[str, tuple[Any, ...], dict[str, Any]]

NOTHING: SearchStrategy[dict[str, Any]] = st.just({})
names = st.sampled_from(NAMES)
queues = st.sampled_from(QUEUES)
some = st.lists(names, min_size=1, max_size=3, unique=True)
delays = st.sampled_from([0, 0, 2000])
parents = st.lists(
    st.sampled_from([*NAMES, *NAMES, *(MARK + group for group in GROUPS)]),
    min_size=1,
    max_size=3,
    unique=True,
)
options: SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "depends_on": parents,
        "if_fails": st.sampled_from(POLICIES),
        "group": st.sampled_from(GROUPS),
        "delay": delays,
        "start_within": st.sampled_from([1000, 4000]),
    },
)


def step(
    name: str, *arguments: SearchStrategy[Any], by_name: SearchStrategy[Any] = NOTHING
) -> SearchStrategy[Step]:
    return st.tuples(st.just(name), st.tuples(*arguments), by_name)


PLAIN = [
    *[step("put", names, queues, by_name=options)] * 4,
    step("put", names, queues, st.sampled_from(["replace", "reject"]), by_name=options),
    *[step("put_all", some, queues, by_name=options)] * 2,
    *[step("pop_all", queues)] * 3,
    *[step("finish", some)] * 3,
    step("move_on", names, queues, delays, st.none() | parents),
    *[step("fail", names)] * 2,
    step("retry", names),
    step("requeue", names, queues),
    step("depend", names, parents),
    step("undepend", names, st.none() | parents),
    step("cancel", some),
    step("tick", st.sampled_from([1000, 2000, 4000])),
    step("delete_queue", queues),
]
CASCADE = step("cancel", some, by_name=st.just({"cascade": True}))

# `plain_steps` has no cascades. If each call updates only one dependent, a cascade may meet jobs
# to which an earlier failure has not been applied yet.
plain_steps = st.lists(st.one_of(*PLAIN), max_size=30)
every_step = st.lists(st.one_of(*PLAIN, CASCADE), max_size=30)
