"""`doctor`: check the server, the namespace and this machine."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import click
from rich.console import Console

from headrace.cli import options
from headrace.cli.connecting import ServerOptions
from headrace.cli.doctor import machine, namespace, server
from headrace.cli.doctor.finding import PROBLEM, WARNING, Finding, not_applicable, ok, problem
from headrace.cli.doctor.target import CommandRefused, NamespaceTarget, nodes_of
from headrace.cli.output import print_json, say, table
from headrace.client.connect import LAYOUT, ConnectOptions, connect_core
from headrace.client.server_url import SCHEMES, check_url
from headrace.engine import check, keys
from headrace.errors import EmbeddedServerError, HeadraceError, InvalidArgument
from headrace.local_server import embedded
from headrace.operations.core import Core
from headrace.operations.requests import raw
from headrace.transport.drive import drive

RETRY_FOR = 1
TIMEOUT = 5
UNREADABLE = "an invalid URL"


@options.command("doctor --strict")
@click.option("--strict", is_flag=True, help="Also exit with 1 if a check gives a warning.")
@click.option("--remove-libraries", is_flag=True, help="Delete libraries unused for 7 days.")
def doctor(server: ServerOptions, strict: bool, remove_libraries: bool) -> None:
    """Check the server, the namespace and this machine.

    Each finding that needs action comes with advice. The checks change no data. With
    --remove-libraries, the check "functions" also deletes the function libraries of other versions
    of Headrace that no client has used for 7 days. The exit code is 1 if a check finds a problem.
    """
    checks = []
    with Console(stderr=True).status("checking") as status:
        for result in examine(server, remove=remove_libraries):
            status.update(f"checked {result.check}")
            checks.append(result)
    verdicts = Counter(result.verdict for result in checks)
    problems, warnings = verdicts[PROBLEM], verdicts[WARNING]
    if not print_json({"problems": problems, "warnings": warnings, "checks": checks}):
        table(("verdict", "check", "finding"), map(_cells, checks))
        say("")
        say(f"{len(checks)} checks, problems: {problems}, warnings: {warnings}")
    if problems or (strict and warnings):
        sys.exit(1)


def _cells(result: Finding) -> tuple[str, str, str]:
    advice = f"; do: {result.advice}" if result.advice else ""
    return result.verdict, f"{result.check} {result.node}".strip(), result.found + advice


def examine(target: ServerOptions, *, remove: bool = False) -> Iterator[Finding]:
    """Run every check, and yield each result as soon as the check has finished."""
    yield _result("url", partial(where, target.url))
    core, why_not = _reach(target)
    if core is None:
        yield _result("server", lambda: why_not)
    else:
        try:
            yield from _on_server(core, remove_libraries=remove)
        finally:
            core.transport.close()
    for title, look in machine.CHECKS:
        yield _result(title, look)


def where(url: str | None) -> Finding:
    """Return a finding that names the examined server, without the secrets in its URL."""
    if url is None:
        return ok("the embedded server of this directory; neither --url nor HEADRACE_URL is set")
    source = "HEADRACE_URL" if url == os.environ.get("HEADRACE_URL") else "--url"
    return ok(f"{without_secrets(url)}, from {source}")


def without_secrets(url: str) -> str:
    """Return a URL without user, password and options.

    If the URL is ambiguous, returns only the scheme. If the URL is invalid, returns no part of it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return UNREADABLE
    if parts.scheme not in SCHEMES:
        return UNREADABLE
    if "@" in parts.path + parts.query + parts.fragment:
        return f"{parts.scheme}://..."
    try:
        check_url(url)
    except InvalidArgument:
        return UNREADABLE
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _reach(target: ServerOptions) -> tuple[Core | None, Finding]:
    url = target.url
    if url is None:
        try:
            running = embedded.status()
        except EmbeddedServerError as error:
            return None, problem(str(error), "run chown and chmod 700, or pass --url")
        if running is None:
            return None, problem("no embedded server runs here", "run headrace up, or pass --url")
        url = running.url
    check.namespace(target.namespace)
    try:
        asked = ConnectOptions(url, target.namespace, retry_for=RETRY_FOR, timeout=TIMEOUT)
    except InvalidArgument:
        return None, problem(
            "invalid URL",
            "write redis://user:password@host:6379/0, with %xx for special characters",
        )
    try:
        return connect_core(asked), ok("")
    except HeadraceError as error:
        return None, problem(
            str(error), "check that the server runs and that this user may run INFO"
        )


def _on_server(core: Core, *, remove_libraries: bool) -> Iterator[Finding]:
    nodes = nodes_of(core)
    for node in nodes:
        name = node.name if len(nodes) > 1 else ""
        for title, look in server.CHECKS:
            yield _result(title, partial(look, node), name)
    shards, layout = _layout(core)
    yield _result("namespace", lambda: layout)
    if shards:
        core.use_shards(shards)
        here = NamespaceTarget(core, remove_libraries=remove_libraries)
        for title, look_at in namespace.CHECKS:
            yield _result(title, partial(look_at, here))


def _layout(core: Core) -> tuple[int | None, Finding]:
    """Return the number of shards (None if the namespace cannot be read) and a finding."""
    command = (0, ("HMGET", core.key(0, keys.META), "layout", "shards"))
    try:
        [[layout, shards]] = drive(core.transport, raw(core, [command]))
    except HeadraceError as error:
        return None, problem(
            str(error),
            "see Rights in docs/guides/operations.md for the permissions that a user needs",
        )
    if layout is None or shards is None:
        advice = "check --namespace; the first program that connects creates a namespace"
        return None, not_applicable(f"there is no namespace {core.namespace!r}", advice)
    if int(layout) != LAYOUT:
        what = f"layout {int(layout)}, and this Headrace supports {LAYOUT}"
        return None, problem(what, "upgrade the older version of Headrace")
    return int(shards), ok(f"{core.namespace!r}: layout {LAYOUT}, shards: {int(shards)}")


def _result(title: str, look: Callable[[], Finding], node: str = "") -> Finding:
    try:
        found = look()
    except CommandRefused as error:
        found = not_applicable(f"not checked: the user may not run {error.command}", error.advice)
    except HeadraceError as error:
        found = problem(str(error), "check that the server runs, then run headrace doctor again")
    return replace(found, check=title, node=node)
