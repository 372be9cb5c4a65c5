"""Scripts are composed from Lua files and called by name."""

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
from tests.engine.support.lua_files import FILES, PATHS, code
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
    *("STAGED_LOST", "WRITE_ABORTED", "NOT_COMMITTED", "ALREADY_COMMITTED"),
}

HEADER = """\
-- sort: puts things in order.
--
-- args   queue count:int
-- each   id data:optional options:packed
-- uses   keys now
-- needs  secret
-- error  NOT_FOUND WRONG_STATE

local function sorted() end
-- later  rarely seldom
-- uses   nothing, because this is no header
"""


# headers


def test_a_header_declares_arguments_libraries_and_refusals() -> None:
    header = parsed("ops/sort", HEADER)

    assert header.args == (Argument("queue", ""), Argument("count", "int"))
    assert header.each == (
        Argument("id", ""),
        Argument("data", "optional"),
        Argument("options", "packed"),
    )
    assert (header.uses, header.later) == (("keys", "now"), ("rarely", "seldom"))
    assert header.needs == ("secret",)
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
def test_the_first_line_of_a_file_describes_it(name: str) -> None:
    first, *_ = FILES[name].splitlines()
    assert re.match(rf"-- {name.partition('/')[2]}: [a-z].*", first)


@pytest.mark.parametrize("op", operations())
def test_a_script_can_return_its_declared_refusals_and_only_known_ones(op: str) -> None:
    said = set(re.findall(r"'([A-Z]+(?:_[A-Z]+)+|DONE)[ ']", LIBRARY[op].text))
    assert set(source(f"ops/{op}").errors) <= said <= REFUSALS


# composition


@pytest.mark.parametrize("op", operations())
def test_every_function_is_defined_before_it_is_called(op: str) -> None:
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
    assert (script.origins[0][0], script.origins[-1][0]) == ("composed", PATHS[f"ops/{op}"])


@pytest.mark.parametrize("op", operations())
def test_every_line_is_found_at_its_origin(op: str) -> None:
    by_path = {PATHS[name]: source(name).text for name in FILES}
    for line, (name, number) in zip(
        LIBRARY[op].text.splitlines(), LIBRARY[op].origins, strict=True
    ):
        if name not in {"composed", "lib/defaults.lua"}:
            original = by_path[name].splitlines()[number - 1]
            assert line == _compiled(original)


def test_a_script_contains_only_what_its_operation_needs() -> None:
    assert {name for name, _ in LIBRARY["config_set"].origins} == {
        "composed",
        PATHS["lib/keys"],
        PATHS["ops/config_set"],
    }


def test_the_same_text_has_the_same_hash_and_another_text_another() -> None:
    assert Library()["pop"].sha == LIBRARY["pop"].sha
    assert library()["pop"].sha != LIBRARY["pop"].sha


@pytest.mark.parametrize("op", operations())
def test_a_script_also_loads_with_parts_swapped(url: str, op: str) -> None:
    script = library(tuple(GENERAL_PATH.items()))[op]
    with redis.Redis.from_url(url) as server:
        assert server.script_load(script.text) == script.sha


# needs


def test_a_variable_that_is_not_declared_is_refused() -> None:
    library = Library({"setting_value": FILES["lib/setting_value"].replace("own or", "mine or")})

    with pytest.raises(ValueError, match=r"^lib/core/setting_value\.lua uses mine: define it, .*"):
        library["pop"]


@pytest.mark.parametrize(
    ("swapped", "text", "error"),
    [
        (
            "pop_general",
            FILES["lib/pop_general"].replace("granted", "handed_out"),
            "lib/pop/resume_pop.lua needs granted, which lib/pop/pop_general.lua does not provide",
        ),
        (
            "replace_job",
            FILES["lib/replace_job"].replace("-- needs  ", "-- needs  secret "),
            (
                "lib/put/replace_job.lua needs secret, which lib/put/put_existing_id.lua "
                "does not provide"
            ),
        ),
        (
            "ops/put",
            FILES["ops/put"].replace("args   queue on_exists nonce", "args   queue policy nonce"),
            "lib/put/put_general.lua needs on_exists, which ops/jobs/put.lua does not provide",
        ),
        (
            "ops/put",
            FILES["ops/put"].replace("-- reply", "-- needs  secret\n-- reply"),
            "ops/jobs/put.lua is an operation: nothing can provide its needs",
        ),
    ],
    ids=["made when needed", "used", "an argument", "of an operation"],
)
def test_a_need_that_no_file_meets_is_refused(swapped: str, text: str, error: str) -> None:
    op = "pop" if swapped == "pop_general" else "put"

    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        Library({swapped: text})[op]


# faults in scripts


@pytest.mark.parametrize(
    ("name", "anchor"),
    [
        ("ops/pop", "local deadline = span and now + span or 'inf'"),
        ("lib/settings", "  found = defaults()"),
        ("lib/pop_general", "  local ready = reclaim_dead_worker() and promote_due_jobs(queue)"),
    ],
    ids=["an operation", "what it uses", "what is made when needed"],
)
def test_a_fault_in_a_script_is_named_by_file_and_line(url: str, name: str, anchor: str) -> None:
    assert FILES[name].count(anchor) == 1
    broken = FILES[name].replace(anchor, f"{anchor}\nerror('planted')")
    line = broken[: broken.index("error('planted')")].count("\n") + 1
    client, _ = opened(url, {**GENERAL_PATH, name.removeprefix("lib/"): broken})

    with client, pytest.raises(ScriptError) as fault:
        client.queue("mail").pop("ada")

    assert fault.value.where == f"{PATHS[name]}:{line}"
    assert f"{fault.value.op} failed at {PATHS[name]}:{line}" in str(fault.value)


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


def test_arguments_are_sent_in_the_order_of_the_header() -> None:
    call = build("release", list, [("x", "1.t")], reason="worker", delay=7, position="back")
    assert call.args == ("back", 7, "worker", "x", "1.t")


# records


def test_the_fields_of_a_job_are_compiled_to_their_positions() -> None:
    assert [_compiled(f"job.{name}") for name in FIELDS] == [
        f"job[{position}]" for position in range(1, len(FIELDS) + 1)
    ]
    assert _compiled("late_job.id") == f"late_job[{len(FIELDS)}]"


def test_a_new_job_has_a_value_for_every_field() -> None:
    [values] = re.findall(r"local job = \{(.*)\}", FILES["lib/job_records"])
    assert len(values.split(",")) == len(FIELDS)


def test_extra_fields_have_the_same_names_in_lua_and_python() -> None:
    named = re.findall(r"extra\(\w+, '(\w+)'|extra\.(\w+)", "\n".join(map(code, FILES.values())))
    assert {one or other for one, other in named} == set(Extra.__struct_fields__)


def test_the_fast_and_the_general_path_store_the_same_job(url: str) -> None:
    records = []
    for swaps in ({}, GENERAL_PATH):
        client, _ = opened(url, swaps)
        with client:
            client.queue("mail").configure()
            job_id = client.queue("mail").put({"to": "ada"})
            words = ("GET", client.core.key(0, f"job:{job_id}"))
            records.append(decode_record(client.core.transport.send([(0, words)])[0]))
    assert records[0] == records[1]
