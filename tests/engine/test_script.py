"""Scripts are composed from Lua files and called."""

from __future__ import annotations

import re

import pytest
import redis

from headrace.engine.call import build
from headrace.engine.compose import _compiled
from headrace.engine.record import FIELDS, Extra, decode_record
from headrace.engine.script import LIBRARY, Library, operations, source
from headrace.engine.source import Argument, parsed
from headrace.errors import ScriptError
from tests.engine.support.lua_files import FILES, code
from tests.model.harness import GENERAL_PATH, library, opened

FUNCTION = re.compile(r"\bfunction (\w+)\(")
CALL = re.compile(r"(?<![.:\w])(\w+)\(")
FUNCTIONS = {name for text in FILES.values() for name in FUNCTION.findall(text)} | {
    name for file in FILES for name in source(file).later
}

REFUSALS = {
    *("NOT_FOUND", "LEASE_LOST", "WRONG_STATE", "JOB_EXISTS", "DONE"),
    *("SESSION_ENDED", "SESSION_REQUIRED", "QUEUE_NOT_FOUND", "NOT_AS_SEEN"),
    *("FEED_EXISTS", "FEED_NOT_FOUND", "ITEM_NOT_FOUND", "UNIQUE_TAKEN", "TOO_MANY"),
    *("LAKE_AHEAD", "NOT_THIS_LOG", "TOO_MANY_LAKES"),
    *("HAS_DEPENDENTS", "DEPENDENCY_REFUSED"),
    *("STAGED_LOST", "GIVEN_UP", "NOT_DECIDED", "ALREADY_DECIDED"),
}

HEADER = """\
-- sort: puts things in order.
--
-- args   queue count:int
-- each   id data:optional options:packed
-- uses   keys now
-- error  NOT_FOUND WRONG_STATE

local function sorted() end
-- later  rarely seldom
-- uses   nothing, because this is no header
"""


# headers


def test_a_header_says_what_a_script_takes_uses_and_refuses() -> None:
    header = parsed("ops/sort", HEADER)

    assert header.args == (Argument("queue", ""), Argument("count", "int"))
    assert header.each == (
        Argument("id", ""),
        Argument("data", "optional"),
        Argument("options", "packed"),
    )
    assert (header.uses, header.later) == (("keys", "now"), ("rarely", "seldom"))
    assert header.errors == ("NOT_FOUND", "WRONG_STATE")


@pytest.mark.parametrize(
    ("kind", "reads"),
    [
        ("", "ARGV[3]"),
        ("int", "tonumber(ARGV[3])"),
        ("number", "tonumber(ARGV[3])"),
        ("flag", "ARGV[3] == '1'"),
        ("optional", "string.sub(ARGV[3], 1, 1) == '=' and string.sub(ARGV[3], 2) or nil"),
        ("packed", "ARGV[3] ~= '' and cmsgpack.unpack(ARGV[3]) or nil"),
    ],
)
def test_an_argument_is_read_as_its_kind(kind: str, reads: str) -> None:
    assert Argument("name", kind).read("3") == reads


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_says_in_its_first_line_what_it_is_for(name: str) -> None:
    first, *_ = FILES[name].splitlines()
    assert re.match(rf"-- {name.partition('/')[2]}: [a-z].*", first)


@pytest.mark.parametrize("op", operations())
def test_a_script_can_refuse_as_its_header_says_and_in_no_unknown_way(op: str) -> None:
    said = set(re.findall(r"'([A-Z]+(?:_[A-Z]+)+|DONE)[ ']", LIBRARY[op].text))
    assert set(source(f"ops/{op}").errors) <= said <= REFUSALS


# composition


@pytest.mark.parametrize("op", operations())
def test_everything_is_made_before_it_is_called(op: str) -> None:
    text = _without_strings(LIBRARY[op].text)
    made = {found[1]: found.start() for found in reversed([*FUNCTION.finditer(text)])}
    for call in CALL.finditer(text):
        if call[1] in FUNCTIONS:
            assert call.start() >= made.get(call[1], len(text)), f"{call[1]} is called too early"


def _without_strings(text: str) -> str:
    return re.sub(r"'(?:[^'\\\n]|\\.)*'", "''", text)


@pytest.mark.parametrize("op", operations())
def test_a_script_begins_with_its_shard_and_ends_with_its_operation(op: str) -> None:
    script = LIBRARY[op]
    first, second, *_ = script.text.splitlines()
    opening = second if first.startswith("#!lua flags=") else first
    assert opening == "local shard, again = KEYS[1], ARGV[1] == '1'"
    assert (script.origins[0][0], script.origins[-1][0]) == ("composed", f"ops/{op}.lua")


@pytest.mark.parametrize("op", operations())
def test_every_line_comes_from_where_it_says(op: str) -> None:
    for line, (name, number) in zip(
        LIBRARY[op].text.splitlines(), LIBRARY[op].origins, strict=True
    ):
        if name not in {"composed", "lib/defaults.lua"}:
            original = FILES[name.removesuffix(".lua")].splitlines()[number - 1]
            assert line == _compiled(original)


def test_a_script_holds_nothing_that_its_operation_does_not_need() -> None:
    assert {name for name, _ in LIBRARY["config_get"].origins} == {
        "composed",
        "lib/keys.lua",
        "ops/config_get.lua",
    }


def test_the_same_text_has_the_same_hash_and_another_text_another() -> None:
    assert Library()["pop"].sha == LIBRARY["pop"].sha
    assert library()["pop"].sha != LIBRARY["pop"].sha


@pytest.mark.parametrize("op", operations())
def test_a_script_also_loads_with_parts_swapped(url: str, op: str) -> None:
    script = library(tuple(GENERAL_PATH.items()))[op]
    with redis.Redis.from_url(url) as server:
        assert server.script_load(script.text) == script.sha


# faults in scripts


@pytest.mark.parametrize(
    ("name", "anchor"),
    [
        ("ops/pop", "local deadline = span and now + span or 'inf'"),
        ("lib/settings", "  found = defaults()"),
        ("lib/pop_any", "  local ready = reclaim() and promote(queue)"),
    ],
    ids=["an operation", "what it uses", "what is made when needed"],
)
def test_a_fault_in_a_script_is_named_by_file_and_line(url: str, name: str, anchor: str) -> None:
    assert FILES[name].count(anchor) == 1
    broken = FILES[name].replace(anchor, f"{anchor}\nnothing.at_all()")
    line = broken[: broken.index("nothing.at_all()")].count("\n") + 1
    client, _ = opened(url, {**GENERAL_PATH, name.removeprefix("lib/"): broken})

    with client, pytest.raises(ScriptError) as fault:
        client.queue("mail").pop("ada")

    assert fault.value.where == f"{name}.lua:{line}"
    assert f"{fault.value.op} failed at {name}.lua:{line}" in str(fault.value)


# calls


def test_a_call_with_a_wrong_name_is_not_built() -> None:
    with pytest.raises(TypeError, match="peek takes queue, count; got queue, number"):
        build("peek", list, queue="mail", number=1)


def test_a_call_with_too_few_or_too_many_names_is_not_built() -> None:
    with pytest.raises(TypeError, match="peek takes queue, count; got queue"):
        build("peek", list, queue="mail")
    with pytest.raises(TypeError, match="got queue, count, worker"):
        build("peek", list, queue="mail", count=1, worker="ada")


def test_a_call_with_a_wrong_number_of_values_for_each_is_not_built() -> None:
    with pytest.raises(TypeError, match="release takes 2 values for each, not 1"):
        build("release", list, [("x",)], position="", delay=0, reason="")


def test_arguments_travel_in_the_order_of_the_header() -> None:
    call = build("release", list, [("x", "1.t")], reason="worker", delay=7, position="back")
    assert call.args == ("back", 7, "worker", "x", "1.t")


# records


def test_the_fields_of_a_job_are_compiled_to_their_positions() -> None:
    assert [_compiled(f"job.{name}") for name in FIELDS] == [
        f"job[{position}]" for position in range(1, len(FIELDS) + 1)
    ]
    assert _compiled("late_job.id") == f"late_job[{len(FIELDS)}]"


def test_a_new_job_has_a_value_for_every_field() -> None:
    [values] = re.findall(r"local job = \{(.*)\}", FILES["lib/jobs"])
    assert len(values.split(",")) == len(FIELDS)


def test_what_few_jobs_have_is_read_by_the_names_it_is_written_with() -> None:
    named = re.findall(r"extra\(\w+, '(\w+)'|extra\.(\w+)", "\n".join(map(code, FILES.values())))
    assert {one or other for one, other in named} == set(Extra.__struct_fields__)


def test_a_job_is_the_same_whichever_way_it_was_put(url: str) -> None:
    records = []
    for swaps in ({}, GENERAL_PATH):
        client, _ = opened(url, swaps)
        with client:
            client.queue("mail").configure()
            job_id = client.queue("mail").put({"to": "ada"})
            words = ("GET", client.core.key(0, f"job:{job_id}"))
            records.append(decode_record(client.core.transport.send([(0, words)])[0]))
    assert records[0] == records[1]
