from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.field.processes import descendants, memory_mib, rollup_kib, stat_fields, tree

ROLLUP = """\
55d0c0a00000-7ffe2d1fe000 ---p 00000000 00:00 0                          [rollup]
Rss:               34164 kB
Pss:               24401 kB
Pss_Dirty:         20000 kB
"""


def test_a_process_whose_name_has_blanks_and_brackets_is_read() -> None:
    text = "17 (a (b) c) S 5 17 17 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 1 0 99 1 1"

    assert stat_fields(text) == ("S", 5, 17, 300)


def test_shared_and_resident_memory_are_told_apart() -> None:
    assert rollup_kib(ROLLUP) == (24401, 34164)


def test_a_tree_has_children_of_children_and_no_strangers() -> None:
    parents = {10: 1, 11: 10, 12: 11, 13: 10, 20: 1, 21: 20}

    assert descendants(10, parents) == [10, 11, 13, 12]
    assert descendants(99, parents) == []


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_this_process_is_found_with_its_memory() -> None:
    assert tree(os.getpid())[0] == os.getpid()
    shared, resident = memory_mib(os.getpid())
    assert 1 < shared <= resident
