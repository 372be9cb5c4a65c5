"""Control characters in the data of jobs never reach the terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace import Client
from headrace.engine import keys
from headrace.engine.shard import prefix
from tests.cli.conftest import RunCommand

CLI = Path(headrace.__file__).parent / "cli"

# A C1 control character, a reversed text direction, a line separator, an invisible character.
MARKS = "\x9b31m\u202e\u2028\u200b\u2066"
ESCAPED = r"\x9b31m\u202e\u2028\u200b\u2066"
# The client refuses C0 control characters in names, but not in texts.
WILD = f"\x1b]0;title\x07\r\n\b\x7f{MARKS}"
FOREIGN = f"foreign{WILD}"

COMMANDS = (
    ("cancel", "--queue", f"q{MARKS}", "--state", "waiting", "--dry-run"),
    ("retry", "--queue", f"q{MARKS}", "--dry-run"),
    ("cancel", f"none{MARKS}"),
    ("release", f"waiting{MARKS}"),
    ("timeout", f"waiting{MARKS}"),
    ("peek", f"q{MARKS}"),
    ("peek", f"none{MARKS}"),
    ("jobs", f"q{MARKS}"),
    ("jobs", f"q{MARKS}", "--state", "failed"),
    ("jobs", "--tag", f"t{MARKS}"),
    ("job", f"waiting{MARKS}"),
    ("job", f"failed{MARKS}"),
    ("job", f"none{MARKS}"),
    ("why", f"blocked{MARKS}"),
    ("result", f"complete{MARKS}"),
    ("failures",),
    ("failures", f"f{MARKS}"),
    ("workers",),
    ("schedules",),
    ("tags",),
    ("stats", f"q{MARKS}"),
    ("events",),
    ("queues",),
    ("pause", f"q{MARKS}"),
    ("configure", f"q{MARKS}", "keep_count=1"),
    ("audit",),
    ("top", "--once", "--interval", "0.1"),
    ("put", f"q{MARKS}", "1", "--id", f"new{MARKS}"),
    ("doctor",),
)
# The output of these commands contains no data of jobs.
NAMELESS = ("retry", "audit", "configure")
BOLD = ("\x1b[1m", "\x1b[0m")


@pytest.fixture(autouse=True)
def hostile_jobs(client: Client) -> Iterator[None]:
    queue = client.queue(f"q{MARKS}")
    tags = [f"t{MARKS}"]
    for name in ("failed", "complete"):
        queue.put(WILD, id=f"{name}{MARKS}", tags=tags)
    [failed, complete] = queue.pop(f"w{MARKS}", count=2)
    failed.log(WILD)
    failed.progress(0.5, WILD)
    failed.fail(f"f{MARKS}", WILD, traceback=f"first{WILD}\nsecond{WILD}")
    complete.complete(WILD)
    queue.put({WILD: WILD}, id=f"waiting{MARKS}", tags=tags, key=f"k{MARKS}", unique=f"u{MARKS}")
    queue.put(1, id=f"blocked{MARKS}", depends_on=[f"waiting{MARKS}"])
    queue.schedule(f"s{MARKS}", WILD, every=60)
    # Other programs can write any name.
    shard = prefix(client.core.namespace, 0)
    client.core.transport.send([(0, ("ZADD", shard + keys.QUEUES, "0", FOREIGN))])
    with client.session(f"w{MARKS}", ttl=None) as session:
        session.serve(f"q{MARKS}")
        yield


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_commands_escape_control_characters(cli: RunCommand, words: tuple[str, ...]) -> None:
    result = cli(*words)

    shown = result.out + result.err
    assert shown.replace("\n", "").isprintable(), shown
    assert (r"\u202e" in shown) == (words[0] not in NAMELESS)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_commands_escape_control_characters_on_a_terminal(
    cli: RunCommand, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    result = cli(*words)

    shown = result.out + result.err
    for style in BOLD:
        shown = shown.replace(style, "")
    assert shown.replace("\n", "").isprintable(), shown


def test_dry_run_prints_one_line_per_job(cli: RunCommand) -> None:
    result = cli("cancel", "--queue", f"q{MARKS}", "--state", "waiting", "--dry-run")

    assert result.out == f"waiting{ESCAPED}\n"


def test_errors_are_escaped(cli: RunCommand) -> None:
    result = cli("job", f"none{MARKS}")

    assert result.code == 1
    assert f"none{ESCAPED}" in result.err


def test_only_one_module_prints_text() -> None:
    allowed = {"output.py", "completion_setup.py"}
    for path in CLI.rglob("*.py"):
        calls = {
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call)
        }
        if path.name not in allowed:
            assert not calls & {"click.echo", "click.secho", "click.confirm", "print"}, path
