"""One library is composed from all Lua files, and its operations are called by name."""

from __future__ import annotations

import re

import pytest
import redis

from headrace.engine.call import build
from headrace.engine.compose import _compiled, defined
from headrace.engine.record import FIELDS, Extra, decode_record
from headrace.engine.script import LIBRARY, Library, operations, source
from headrace.engine.source import Argument, libraries
from headrace.errors import ScriptError
from tests.engine.support.lua_files import FILES, PATHS, code, reached
from tests.model.harness import GENERAL_PATH, library, opened
from tests.support.functions import functions_of

EXPORTS = {name: defined(source(f"lib/{name}")) for name in libraries()}
FUNCTION = re.compile(r"\bfunction (\w+)\(")
CALL = re.compile(r"(?<![.:\w])(\w+)\(")
SHARED = re.compile(r"\blib\.(\w+)")

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
-- flags  allow-oom
-- uses   keys now
-- uses   events
-- error  NOT_FOUND WRONG_STATE

local function sorted() end
-- uses   nothing, because this is no header
"""


# headers


def test_a_header_declares_arguments_libraries_and_refusals() -> None:
    header = source("ops/sort", HEADER)

    assert header.args == [Argument("queue", ""), Argument("count", "int")]
    assert header.each == [
        Argument("id", ""),
        Argument("data", "optional"),
        Argument("options", "packed"),
    ]
    assert header.uses == ("keys", "now", "events")
    assert header.flags == ("allow-oom",)
    assert header.errors == ("NOT_FOUND", "WRONG_STATE")
    assert header.arguments_text() == (
        "local queue, count = call_arguments[2], tonumber(call_arguments[3])"
    )
    assert "at = 1 return function() at = at + 3 if" in header.each_text()
    assert "call_arguments[at], optional(call_arguments[at + 1]), packed(" in header.each_text()


@pytest.mark.parametrize(
    ("args", "fixed"),
    [("queue id data", ["queue"]), ("queue id data next_id", ["queue"]), ("queue", ["queue"])],
)
def test_arguments_named_like_those_of_each_are_values_of_the_first_rows(
    args: str, fixed: list[str]
) -> None:
    header = source("ops/sort", f"-- sort: x\n-- args   {args}\n-- each   id data\n\n")
    assert header.fixed == fixed
    assert "at = 1 return function() at = at + 2 if" in header.each_text()


@pytest.mark.parametrize("op", operations())
def test_only_declared_arguments_are_defined(op: str) -> None:
    file, [first, *_] = source(f"ops/{op}"), section(op)
    assert ("local function each()" in first) == bool(file.each)
    assert (re.search(r"local [a-z_, ]+ = [a-z_(]*call_arguments", first) is not None) == bool(
        file.args
    )


def test_every_kind_of_argument_is_a_function_that_every_call_has() -> None:
    headers = [source(f"ops/{op}") for op in operations()]
    kinds = {argument.kind for file in headers for argument in (*file.args, *file.each)}
    begin_call = source("begin_call").code
    made = {
        name for name in kinds if re.search(rf"^local function {name}\(", begin_call, re.MULTILINE)
    }
    assert kinds == made | {"", "int", "number"}


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_first_line_of_a_file_describes_it(name: str) -> None:
    first, *_ = FILES[name].splitlines()
    assert re.match(rf"-- {name.partition('/')[2]}: [a-z].*", first)


@pytest.mark.parametrize("op", operations())
def test_an_operation_can_return_its_declared_refusals_and_only_known_ones(op: str) -> None:
    file = source(f"ops/{op}")
    said = set(re.findall(r"'([A-Z]+(?:_[A-Z]+)+|DONE)[ ']", reached(op)))
    assert set(file.errors) <= said <= REFUSALS


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_imports_only_libraries_that_it_uses(name: str) -> None:
    file = source(name)
    words = set(re.findall(r"\w+", _without_strings(code(file.text))))
    # The library `now` also provides the variable `now`.
    provided = EXPORTS | {"now": {"now"}}
    assert [used for used in file.uses if not provided[used] & words] == []
    assert len(set(file.uses)) == len(file.uses)


# composition


LINES = LIBRARY.text.splitlines()


def section(op: str) -> list[str]:
    """Return the lines of the library that register one operation."""
    end_of_opening = f" -- from {PATHS[f'ops/{op}']}"
    [start] = [at for at, line in enumerate(LINES) if line.endswith(end_of_opening)]
    end = next(at for at in range(start, len(LINES)) if LINES[at].endswith("end) end"))
    return LINES[start : end + 1]


def _without_strings(text: str) -> str:
    return re.sub(r"'(?:[^'\\\n]|\\.)*'", "''", text)


@pytest.mark.parametrize("op", operations())
def test_every_function_of_an_operation_is_defined_before_it_is_called(op: str) -> None:
    text = _without_strings("\n".join(section(op)))
    made = {found[1]: found.start() for found in reversed([*FUNCTION.finditer(text)])}
    for call in CALL.finditer(text):
        assert call.start() >= made.get(call[1], 0), f"{call[1]} is called too early"


def test_the_library_defines_every_name_once_as_a_variable_or_a_field() -> None:
    text = _without_strings(LIBRARY.text)
    defined = {name for names in EXPORTS.values() for name in names}
    [declared] = [line for line in LINES if line.endswith("-- from begin_call.lua")]
    variables = set(re.findall(r"\w+", declared.partition("--")[0])) - {"local"}
    assert variables < defined
    assert set(SHARED.findall(text)) == (defined - variables) | {"set_keys"}
    before_operations = text.partition("\ndo ")[0]
    for name in defined:
        written = name if name in variables else f"lib.{name}"
        places = rf"^function {written}\(|^(?:[\w.]+, )*{written}(?:, [\w.]+)* = "
        assert len(re.findall(places, before_operations, re.MULTILINE)) == 1, name


def test_a_constant_uses_only_what_is_defined_before_it() -> None:
    names = {name for names in EXPORTS.values() for name in names}
    known: set[str] = set()
    for line in LINES[: LINES.index("function use_state()")]:
        if re.match(r"[A-Za-z.]+[\w., ]* = |function ", line):
            left, _, value = _without_strings(line.replace("lib.", "")).partition(" = ")
            used = re.findall(r"(?<![.\w])\w+(?!\w* =)", value)
            assert names.intersection(used) <= known, line
            known |= names.intersection(re.findall(r"\w+", left))


@pytest.mark.parametrize("op", operations())
def test_an_operation_begins_a_call_and_ends_with_its_file(op: str) -> None:
    first, *_, end = section(op)
    flags = ", ".join(f"'{flag}'" for flag in source(f"ops/{op}").flags)
    register = f" register('{op}', {{{flags}}}, function(KEYS, ARGV) begin_call(KEYS, ARGV) "
    if source(f"ops/{op}").nonce:
        assert " local function run_operation() " in f"{first} "
        assert f" {end}".startswith(f" end{register}")
        assert end.endswith(" return run_operation() end) end")
    else:
        assert register in first
        assert end == "end) end"


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_line_is_found_at_its_origin(name: str) -> None:
    [mark] = [at for at, line in enumerate(LINES) if line.endswith(f"-- from {PATHS[name]}")]
    original = FILES[name].splitlines()
    composed = LINES[mark + 1 : mark + 1 + len(original)]
    for number, (line, found) in enumerate(zip(original, composed, strict=True), 1):
        text = "" if line.lstrip().startswith("--") else _compiled(line)
        if name.startswith("lib/"):
            text = "" if re.match("local (?!function )[a-z]", text) else text
            text = text.removeprefix("local ")
        assert found.replace("lib.", "") == text
        if text and number < 20:
            assert LIBRARY.locate(mark + 1 + number) == f"{PATHS[name]}:{number}"


def test_state_is_set_by_use_state_and_nowhere_else() -> None:
    start = LINES.index("function use_state()")
    body = "\n".join(LINES[start + 1 : LINES.index("end", start)]).replace("lib.", "")
    states = [
        (names, value)
        for name in libraries()
        for names, value in re.findall(
            r"^local ([a-z][\w, ]*)( = .*)?$", source(f"lib/{name}").text, re.MULTILINE
        )
    ]
    assert body.splitlines() == [
        f"{names}{value or ' = nil'}" for names, value in states if not names.startswith("function")
    ]


@pytest.mark.parametrize(
    ("op", "opening"),
    [
        ("check_leases", ["use_state()"]),
        ("throttle", ["now = current_time()"]),
        ("sweep", ["now = current_time()", "note_call()", "use_state()"]),
        ("cancel", ["use_state()", "now = current_time()", "note_call()"]),
        ("open_namespace", ["now = current_time()", "note_call()"]),
    ],
    ids=["state", "the clock", "both", "both and a nonce", "the clock of a call that may write"],
)
def test_operation_sets_only_the_variables_it_needs(op: str, opening: list[str]) -> None:
    first, *_, last = section(op)
    variables = r"now = current_time\(\)|note_call\(\)|use_state\(\)"
    prepared = re.findall(variables, f"{first} {last}".replace("lib.", ""))
    assert prepared == opening


def test_library_name_depends_only_on_its_text() -> None:
    assert Library().name == LIBRARY.name
    assert Library().operations["pop"] == LIBRARY.operations["pop"]
    assert library().name != LIBRARY.name
    assert library().operations["pop"].name != LIBRARY.operations["pop"].name
    assert library().operations["pop"].script.sha != LIBRARY.operations["pop"].script.sha


def test_an_operation_is_named_after_its_library() -> None:
    assert LIBRARY.operations["pop"].name == f"{LIBRARY.name}_pop"
    assert LIBRARY.operations["pop"].function == LIBRARY.operations["pop"].name.encode()


def test_operations_with_the_same_flags_share_one_script() -> None:
    scripts = {source(f"ops/{op}").flags: LIBRARY.operations[op].script for op in operations()}
    assert {LIBRARY.operations[op].script.sha for op in operations()} == {
        script.sha for script in scripts.values()
    }
    for flags, script in scripts.items():
        first, *_ = script.text.splitlines()
        assert first == (f"#!lua flags={','.join(flags)}" if flags else "")


@pytest.fixture(scope="module")
def swapped_functions(url: str) -> set[str]:
    """Return the functions of a library with swapped parts, loaded on the server."""
    swapped = library(tuple(GENERAL_PATH.items()))
    with redis.Redis.from_url(url) as server:
        server.function_load(swapped.text, replace=True)
        return functions_of(server, swapped.name)


@pytest.mark.parametrize("op", operations())
def test_an_operation_also_loads_with_parts_swapped(
    url: str, swapped_functions: set[str], op: str
) -> None:
    operation = library(tuple(GENERAL_PATH.items())).operations[op]
    assert operation.name in swapped_functions
    with redis.Redis.from_url(url) as server:
        assert server.script_load(operation.script.text) == operation.script.sha.decode()


# names


def test_a_missing_library_is_refused() -> None:
    text = FILES["ops/put"].replace("-- uses   plain_put", "-- uses   fancy_put")
    with pytest.raises(KeyError, match="fancy_put"):
        Library({"ops/put": text}).operations["put"]


def test_names_in_strings_and_fields_are_no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.engine.compose._LOCAL_NAMES", 0)
    probe = (
        "  local named = { ['settings'] = 'settings', [CONFIG] = entry('log', 'it\\'s key') }",
        "  named.settings, named.CONFIG = named.CONFIG == CONFIG, 1",
        "  settings(named.key, named)",
    )
    text = FILES["lib/settings"].replace(
        "\n  add_settings(", "\n" + "\n".join((*probe, "  add_settings(")), 1
    )
    composed = Library({"settings": text}).text.splitlines()
    start = next(at for at, line in enumerate(composed) if "local named" in line)

    assert composed[start : start + len(probe)] == [
        "  local named = { ['settings'] = 'settings', [lib.CONFIG] = entry('log', 'it\\'s key') }",
        "  named.settings, named.CONFIG = named.CONFIG == lib.CONFIG, 1",
        "  lib.settings(named.key, named)",
    ]


# faults in scripts


@pytest.mark.parametrize("form", ["function", "script"])
@pytest.mark.parametrize(
    ("name", "anchor"),
    [
        ("ops/pop", "local deadline = span and now + span or endless_score"),
        ("lib/settings", "  local found = setmetatable("),
        ("lib/pop_general", "  local ready, all_in, all_done = true"),
    ],
    ids=["an operation", "what it uses", "what is called when needed"],
)
def test_a_fault_in_a_script_is_named_by_file_and_line(
    url: str, name: str, anchor: str, form: str
) -> None:
    [whole] = [line for line in FILES[name].splitlines() if line.startswith(anchor)]
    broken = FILES[name].replace(whole, f"{whole}\nerror('planted')")
    line = broken[: broken.index("error('planted')")].count("\n") + 1
    client, _ = opened(url, {**GENERAL_PATH, name.removeprefix("lib/"): broken})
    if form == "script":
        client.core.use_scripts()

    with client, pytest.raises(ScriptError) as fault:
        client.queue("mail").pop("ada")

    assert fault.value.where == f"{PATHS[name]}:{line}"
    assert f"{fault.value.op} failed at {PATHS[name]}:{line}" in str(fault.value)
    assert f"user_{form}" in str(fault.value)


def test_error_in_generated_lua_names_the_line_of_the_library() -> None:
    assert LIBRARY.locate(2) == "line 2"
    assert LIBRARY.locate(LINES.index("function use_state()") + 1) == "compose.py:1"


# calls


def test_call_with_a_wrong_argument_name_is_not_built() -> None:
    with pytest.raises(TypeError, match="peek takes queue, count; got queue, number"):
        build("peek", list, queue="mail", number=1)


def test_a_call_with_too_few_or_too_many_names_is_not_built() -> None:
    with pytest.raises(TypeError, match="peek takes queue, count; got queue"):
        build("peek", list, queue="mail")
    with pytest.raises(TypeError, match="got queue, count, worker"):
        build("peek", list, queue="mail", count=1, worker="ada")


def test_a_call_with_a_wrong_number_of_values_for_each_is_not_built() -> None:
    with pytest.raises(TypeError, match="release takes 2 values for each row, not 1"):
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
