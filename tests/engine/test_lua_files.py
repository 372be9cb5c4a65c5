"""Rules for Lua files: forbidden calls, documented keys, and a test for every operation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace import Client, Put
from headrace.engine import keys
from headrace.engine.script import LIBRARY, operations, source
from headrace.engine.source import LUA
from headrace.engine.states import STATES
from headrace.operations.lakes import mark_lake
from headrace.operations.noted_workers import note_worker
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.engine.support.lua_files import FILES, code
from tests.engine.support.sink_scripts import SinkScripts
from tests.model.corruptions import one_in_every_state
from tests.model.jobs.checks.imported_jobs import bring, job
from tests.support.dump import dump

TESTS = Path(__file__).parent
KEYS = (TESTS.parent.parent / "docs" / "reference" / "keys.md").read_text()

# Operations that are tested in a file of another name.
TESTED_IN = {
    "audit_answers": "test_audit.py",
    "forget_workers": "ops/test_note_worker.py",
    "noted_workers": "ops/test_note_worker.py",
    "audit_books": "test_audit.py",
    "audit_links": "test_audit.py",
    "audit_log": "test_audit.py",
    "audit_members": "test_audit.py",
    "audit_tag": "test_audit.py",
    "config_set": "ops/test_config.py",
    "discard": "ops/test_publish.py",
    "explain_wait": "limits/test_throttles.py",
    "feed_info": "ops/test_feed_make.py",
    "feed_items": "ops/test_feed_page.py",
    "feed_numbers": "ops/test_feed_insert.py",
    "finalize": "ops/test_publish.py",
    "forget_lake": "ops/test_mark_lake.py",
    "get_schedules": "ops/test_schedule.py",
    "import_items": "ops/test_import_jobs.py",
    "lake_marks": "ops/test_mark_lake.py",
    "list_writes": "ops/test_publish.py",
    "open_transactions": "ops/test_prepare.py",
    "prepare_peek": "ops/test_peek.py",
    "progress": "ops/test_log.py",
    "take_result": "ops/test_result.py",
    "throttle": "limits/test_throttles.py",
    "throttle_delete": "limits/test_throttles.py",
    "throttle_set": "limits/test_throttles.py",
    "untag": "ops/test_tag.py",
    "untrack": "ops/test_track.py",
    "write_state": "ops/test_publish.py",
}

SLOW = {"KEYS", "SCAN", "HSCAN", "SSCAN", "ZSCAN", "FLUSHALL", "FLUSHDB", "RANDOMKEY", "SORT"}


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_use_named_arguments_and_keys(name: str) -> None:
    text = code(FILES[name])
    assert not re.search(r"\bKEYS\b|\bARGV\b", text)
    if name != "lib/keys":
        assert not re.search(r"\bshard\b", text)


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_script_uses_commands_that_scan_or_empty_the_server(name: str) -> None:
    assert not SLOW & set(re.findall(r"'([A-Z]+)'", code(FILES[name])))


def test_no_two_files_of_a_kind_have_the_same_name() -> None:
    paths = [path for path in Path(str(LUA)).glob("*/*/*") if path.suffix == ".lua"]
    assert len({(path.parts[-3], path.name) for path in paths}) == len(paths)


@pytest.mark.parametrize("name", sorted(FILES))
def test_only_one_file_reads_the_clock(name: str) -> None:
    asks = re.search(r"'TIME'|os\.(time|clock)", code(FILES[name]))
    assert bool(asks) == (name == "lib/now")


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_script_uses_random_numbers_or_server_side_expiry(name: str) -> None:
    text = code(FILES[name])
    assert "math.random" not in text
    assert not re.search(r"'P?EXPIRE|'PX'|'EX'|'SETEX'", text)


# docs/reference/keys.md


def roles_in_use() -> set[str]:
    """Return every role by which a Lua file names a key or a channel."""
    found = {*STATES, *(key.removesuffix(":") for key in keys.lua_keys().values())}
    for text in map(code, (source(name).text for name in FILES)):
        found |= set(re.findall(r"\bkey\('(\w+)'", text))
        for several in re.findall(r"for _, role in ipairs\(\{(.*?)\}\)", text):
            found |= set(re.findall(r"'(\w+)'", several))
    return found


def documented() -> dict[str, str]:
    """Return the keys and channels of docs/reference/keys.md with their second column."""
    return dict(re.findall(r"^\| `([a-z_]+(?::[^`]*)?)` \| ([^|]*?) \|", KEYS, re.MULTILINE))


def test_every_role_of_a_key_is_documented_and_no_other() -> None:
    roles = {key.partition(":")[0] for key in documented()}
    assert roles == roles_in_use() | {"clock"}


def test_every_documented_key_has_a_name_in_python_and_no_other() -> None:
    named = {*keys.constants().values(), *(family("") for family in keys.families().values())}
    assert named == {key.partition("<")[0] for key in documented()} | {keys.done_channel("")}


def test_key_names_in_python_are_spelled_like_the_keys() -> None:
    for name, key in keys.constants().items():
        assert name.lower() == key
    for name, family in keys.families().items():
        assert name.removesuffix("_channel") == family


def test_every_state_has_a_set_of_jobs() -> None:
    assert {keys.in_state(state, "mail") for state in STATES} == {
        keys.families()[state]("mail") for state in STATES
    }


def test_scripts_spell_the_keys_of_a_shard_as_python_does() -> None:
    # The composer replaces the most used fields of `lib` with local variables.
    text = LIBRARY.text.replace("lib.", "")
    constants = re.findall(r"^([A-Z_]+) = shard \.\. '(\w+)'$", text, re.MULTILINE)
    assert dict(constants) == {
        name: key for name, key in keys.constants().items() if name != "CLOCK"
    }
    assert "\njob_prefix = shard .. 'job:'\n" in text


def test_keys_are_of_the_type_that_is_documented(hr: Client, clock: Clock) -> None:
    live(hr, clock)
    found = {}
    for key, (kind, _) in dump(hr, with_answers=True).items():
        role, colon, _ = key.partition("}:")[2].partition(":")
        found[role + colon] = kind

    stored = {key.partition("<")[0]: kind for key, kind in documented().items()}
    for absent in (
        "clock",
        "libraries",
        "turn",
        "queue:",
        "worker:",
        "ended:",
        "changes:",
        "tracked:",
    ):
        del stored[absent]
    assert found == stored


def live(hr: Client, clock: Clock) -> None:
    """Make a key of every role."""
    hr.config.set("lease", 6)
    clock.tick(300)
    hr.sweep()
    one_in_every_state(hr, clock)
    hr.config.set("lease", 5)
    hr.session("bob").serve("mail")
    hands = hr.queue("hands")
    hands.configure("manual")
    hands.put("x" * 2000, id="large")
    hands.pop("ada")[0].complete("done")
    mail = hr.queue("mail")
    mail.put("noted", unique=True)
    mail.schedule("daily", "news", cron="@daily", delay=86400)
    [noted, *_] = mail.pop("bob")
    noted.log("line")
    noted.progress(0.5, "half")
    hr.core.transport.send([(0, ("LPUSH", hr.core.key(0, "ingress:mail"), "pushed"))])
    hr.feed("news").publish("x")
    drive(hr.core.transport, note_worker(hr.core, "ada"))
    hr.throttles.set("api", concurrency=1)
    slow = hr.queue("slow")
    slow.configure(key_concurrency=1, key_rate="1/s")
    slow.put_many([Put(1, key="a", throttles=["api"]), Put(2, key="b", throttles=["api"]), 3, 4])
    slow.pop("bob", count=2)
    drive(hr.core.transport, mark_lake(hr, "lake", {0: "0-0"}))
    bring(hr, job("from elsewhere"))
    hands.put_many([0] * 300, depends_on=["running"])
    hr.finish("running")
    sink = SinkScripts(hr)
    sink.stage_and_commit("t", "staged")
    sink.stage_and_prepare("of a stream", "more", write="stream:q")
    sink.commit("of a stream", "stream:q", 0)


# tests of operations


@pytest.mark.parametrize("op", operations())
def test_every_operation_has_tests(op: str) -> None:
    path = TESTS / TESTED_IN.get(op, f"ops/test_{op}.py")
    assert path.exists(), f"nothing tests {op}"
    assert re.search(r"^(async )?def test_", path.read_text(), re.MULTILINE)


def test_the_table_of_tests_lists_no_operation_twice() -> None:
    own = {path.stem.removeprefix("test_") for path in (TESTS / "ops").glob("test_*.py")}
    assert set(TESTED_IN) <= set(operations())
    assert not set(TESTED_IN) & own
