from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.comparison.processes import descendants, memory_mib, rollup_kib, stat_fields, tree

ROLLUP = """\
55d0c0a00000-7ffe2d1fe000 ---p 00000000 00:00 0                          [rollup]
Rss:               34164 kB
Pss:               24401 kB
Pss_Dirty:         20000 kB
"""


def test_process_name_may_contain_blanks_and_brackets() -> None:
    text = "17 (a (b) c) S 5 17 17 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 1 0 99 1 1"

    assert stat_fields(text) == ("S", 5, 17, 300)


def test_pss_and_rss_are_read() -> None:
    assert rollup_kib(ROLLUP) == (24401, 34164)


def test_tree_contains_all_descendants_and_nothing_else() -> None:
    parents = {10: 1, 11: 10, 12: 11, 13: 10, 20: 1, 21: 20}

    assert descendants(10, parents) == [10, 11, 13, 12]
    assert descendants(99, parents) == []


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_tree_and_memory_of_this_process() -> None:
    assert tree(os.getpid())[0] == os.getpid()
    shared, resident = memory_mib(os.getpid())
    assert 1 < shared <= resident
