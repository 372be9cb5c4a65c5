"""One library is composed from all Lua files, and its operations are called by name."""

from __future__ import annotations

import re

import pytest
import redis

from headrace.engine.call import build
from headrace.engine.compose import SourceLine, _compiled, defined, local_names
from headrace.engine.keys import lua_keys
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

    assert header.args == (Argument("queue", ""), Argument("count", "int"))
    assert header.each == (
        Argument("id", ""),
        Argument("data", "optional"),
        Argument("options", "packed"),
    )
    assert header.uses == ("keys", "now", "events")
    assert header.flags == ("allow-oom",)
    assert header.errors == ("NOT_FOUND", "WRONG_STATE")
    assert local_names(" ".join(header.argument_lines())) == {"queue", "count"}


@pytest.mark.parametrize(("args", "first"), [("queue id data", 3), ("id data queue", 5)])
def test_the_last_arguments_name_the_first_row_if_they_are_those_of_each(
    args: str, first: int
) -> None:
    header = source("ops/sort", f"-- sort: x\n-- args   {args}\n-- each   id data\n\n")

    is_batch = "local is_batch = call_arguments[5] ~= nil"
    assert (is_batch in header.argument_lines()) == (first == 3)
    assert f"local at = {first - 2} return" in header.each_line()


@pytest.mark.parametrize(
    ("kind", "reads"),
    [
        ("", "{}"),
        ("int", "tonumber({})"),
        ("number", "tonumber({})"),
        ("flag", "{} == '1'"),
        ("optional", "string.sub({}, 1, 1) == '=' and string.sub({}, 2) or nil"),
        ("packed", "{} ~= '' and cmsgpack.unpack({}) or nil"),
    ],
)
def test_an_argument_is_read_as_its_kind(kind: str, reads: str) -> None:
    assert Argument("name", kind).read("3") == reads.replace("{}", "call_arguments[3]")


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
    provided = EXPORTS | {"keys": EXPORTS["keys"] | set(lua_keys()), "now": {"now"}}
    assert [used for used in file.uses if not provided[used] & words] == []
    assert len(set(file.uses)) == len(file.uses)


# composition


def section(op: str) -> list[SourceLine]:
    """Return the lines of the library that register one operation."""
    lines = LIBRARY._lines
    [start] = [at for at, (line, _) in enumerate(lines) if line.startswith(f"register('{op}', ")]
    end = next(at for at in range(start, len(lines)) if lines[at][0] == "end)")
    return lines[start : end + 1]


def _without_strings(text: str) -> str:
    return re.sub(r"'(?:[^'\\\n]|\\.)*'", "''", text)


@pytest.mark.parametrize("op", operations())
def test_every_function_of_an_operation_is_defined_before_it_is_called(op: str) -> None:
    text = _without_strings("\n".join(line for line, _ in section(op)))
    made = {found[1]: found.start() for found in reversed([*FUNCTION.finditer(text)])}
    for call in CALL.finditer(text):
        assert call.start() >= made.get(call[1], 0), f"{call[1]} is called too early"


def test_the_library_defines_every_shared_name_that_it_uses() -> None:
    text = _without_strings("\n".join(line for line, _ in LIBRARY._lines))
    defined = {name for names in EXPORTS.values() for name in names} | set(lua_keys())
    assert set(SHARED.findall(text)) == defined | {"set_keys"}
    for name in defined:
        assert re.search(rf"lib\.{name}\(.*\)$|lib\.{name}(, lib\.\w+)* = ", text, re.MULTILINE)


def test_a_constant_uses_only_what_is_defined_before_it() -> None:
    lines = [line for line, _ in LIBRARY._lines]
    known: set[str] = set()
    for line in lines[: lines.index("function use_state()")]:
        words = _without_strings(line)
        if line.startswith(("lib.", "function lib.")):
            defined, _, value = words.partition(" = ")
            assert set(SHARED.findall(value)) <= known, line
            known |= set(SHARED.findall(defined))


@pytest.mark.parametrize("op", operations())
def test_an_operation_begins_a_call_and_ends_with_its_file(op: str) -> None:
    (first, _), (second, _), *_, (_, last), (end, _) = section(op)
    flags = ", ".join(f"'{flag}'" for flag in source(f"ops/{op}").flags)
    assert first == f"register('{op}', {{{flags}}}, function(KEYS, ARGV)"
    assert (second, end) == ("begin_call(KEYS, ARGV)", "end)")
    assert last[0] == PATHS[f"ops/{op}"]


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_line_is_found_once_at_its_origin(name: str) -> None:
    original = FILES[name].splitlines()
    expected = {
        number: line
        for number, line in enumerate(original, 1)
        if line.strip() and not line.lstrip().startswith("--")
    }
    composed = [(line, at[1]) for line, at in LIBRARY._lines if at[0] == PATHS[name]]

    assert sorted(number for _, number in composed) == sorted(expected)
    for line, number in composed:
        text = _compiled(expected[number])
        if name.startswith("lib/") and text.startswith("local "):
            text = text.removeprefix("local ")
            # State without a value becomes nil.
            text += "" if "=" in text or text.endswith(")") else " = nil"
        assert line.replace("lib.", "") == text


@pytest.mark.parametrize(
    ("op", "opening"),
    [
        ("config_set", []),
        ("stats", ["now = lib.current_time()"]),
        ("cancel", ["now = lib.current_time()", "use_state()"]),
    ],
    ids=["neither", "the clock", "the clock and state"],
)
def test_operation_sets_only_the_variables_it_needs(op: str, opening: list[str]) -> None:
    lines = [line for line, _ in section(op)][2:5]
    prepared = [line for line in lines if line.startswith(("now = ", "use_state("))]
    assert prepared == opening


def test_library_name_depends_only_on_its_text() -> None:
    assert Library().name == LIBRARY.name
    assert Library()["pop"] == LIBRARY["pop"]
    assert library().name != LIBRARY.name
    assert library()["pop"].name != LIBRARY["pop"].name
    assert library()["pop"].script.sha != LIBRARY["pop"].script.sha


def test_an_operation_is_named_after_its_library() -> None:
    assert LIBRARY["pop"].name == f"{LIBRARY.name}_pop"
    assert LIBRARY["pop"].function == LIBRARY["pop"].name.encode()


def test_operations_with_the_same_flags_share_one_script() -> None:
    scripts = {source(f"ops/{op}").flags: LIBRARY[op].script for op in operations()}
    assert {LIBRARY[op].script.sha for op in operations()} == {
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
    operation = library(tuple(GENERAL_PATH.items()))[op]
    assert operation.name in swapped_functions
    with redis.Redis.from_url(url) as server:
        assert server.script_load(operation.script.text) == operation.script.sha.decode()


# names


def test_a_variable_that_is_not_defined_is_refused() -> None:
    library = Library({"setting_value": FILES["lib/setting_value"].replace("own or", "mine or")})

    with pytest.raises(ValueError, match=r"^lib/core/setting_value\.lua uses mine: define it, or"):
        library["pop"]


@pytest.mark.parametrize(
    ("swapped", "old", "new", "error"),
    [
        (
            "pop_general",
            " hand_out",
            "",
            "lib/pop/pop_general.lua uses granted: define it, or import its library",
        ),
        (
            "ops/put",
            "args   queue options:packed",
            "args   queue choices:packed",
            "ops/jobs/put.lua uses options: define it, or import its library",
        ),
        (
            "ops/put",
            "\nuse_state()",
            "\nlocal now_and_then = seldom()\nuse_state()",
            "ops/jobs/put.lua uses seldom: define it, or import its library",
        ),
        (
            "pop_general",
            "local function take_waiting(most)",
            "local function take_waiting(granted)",
            "lib/pop/pop_general.lua hides granted: rename the local variable",
        ),
        (
            "pop_general",
            "  local ids = {}",
            "  local wake = {}",
            "lib/pop/pop_general.lua hides wake: rename the local variable",
        ),
        (
            "pop_general",
            "  for i = 1, #found do",
            "  for settings = 1, #found do",
            "lib/pop/pop_general.lua hides settings: rename the local variable",
        ),
        (
            "ops/put",
            "args   queue options:packed",
            "args   queue write_back options:packed",
            "ops/jobs/put.lua hides write_back: rename the local variable",
        ),
        (
            "settings",
            "local function forget_settings(",
            "local function read_job() end\n\nlocal function forget_settings(",
            "job_records.lua and settings.lua both define read_job",
        ),
        (
            "settings",
            "local queue_settings = {}",
            "local queue_settings, books = {}, {}",
            "books.lua and settings.lua both define books",
        ),
    ],
    ids=[
        "used without an import",
        "used without an argument",
        "used by an operation",
        "hidden by a parameter",
        "hidden by a variable",
        "hidden by a loop",
        "hidden by an argument",
        "a function defined twice",
        "a variable defined twice",
    ],
)
def test_a_wrong_name_is_refused(swapped: str, old: str, new: str, error: str) -> None:
    name = swapped if swapped in FILES else f"lib/{swapped}"
    assert old in FILES[name]

    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        Library({swapped: FILES[name].replace(old, new, 1)})["put"]


def test_a_missing_library_is_refused() -> None:
    text = FILES["ops/put"].replace("-- uses   plain_put", "-- uses   fancy_put")
    with pytest.raises(KeyError, match="fancy_put"):
        Library({"ops/put": text})["put"]


def test_names_in_strings_fields_and_tables_are_no_variables() -> None:
    probe = (
        "  local named = { settings = 'settings', [CONFIG] = key('log', 'it\\'s key') }",
        "  named.settings, named.key = named.CONFIG == CONFIG, 1",
        "  local listed = {",
        "    key = 1,",
        "    settings = key,",
        "  }",
        "  settings(named.key, listed)",
    )
    text = FILES["lib/settings"].replace(
        "\n  add_settings(", "\n" + "\n".join((*probe, "  add_settings(")), 1
    )
    composed = [line for line, at in Library({"settings": text})._lines if "settings.lua" in at[0]]
    start = next(at for at, line in enumerate(composed) if "local named" in line)

    assert composed[start : start + len(probe)] == [
        "  local named = { settings = 'settings', [lib.CONFIG] = lib.key('log', 'it\\'s key') }",
        "  named.settings, named.key = named.CONFIG == lib.CONFIG, 1",
        "  local listed = {",
        "    key = 1,",
        "    settings = lib.key,",
        "  }",
        "  lib.settings(named.key, listed)",
    ]


# faults in scripts


@pytest.mark.parametrize("form", ["function", "script"])
@pytest.mark.parametrize(
    ("name", "anchor"),
    [
        ("ops/pop", "local deadline = span and now + span or 'inf'"),
        ("lib/settings", "  local found = setmetatable("),
        ("lib/pop_general", "  local ready, all_in = not has_due(SESSIONS)"),
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
    assert LIBRARY.locate(10**6) == "line 1000000"
    generated = LIBRARY.text.splitlines().index("function use_state()") + 1
    assert LIBRARY.locate(generated) == "composed:1"
    assert LIBRARY.locate(generated - 1).startswith("lib/")


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
