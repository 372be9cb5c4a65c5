"""All checks, one after the other; whatever goes wrong in one is what that one has found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from urllib.parse import urlsplit

from headrace.cli.doctor import machine, namespace, server
from headrace.cli.doctor.finding import Checked, Finding, not_applicable, ok, problem
from headrace.cli.doctor.patient import MayNot, Namespace, nodes_of
from headrace.client.connect import LAYOUT, SCHEMES, reach, wanted
from headrace.engine import check
from headrace.errors import HeadraceError, InvalidArgument
from headrace.local_server import embedded
from headrace.operations.core import Core
from headrace.operations.requests import raw
from headrace.transport.drive import drive

RETRY_FOR = 1
TIMEOUT = 5


def examine(url: str | None, name: str, *, from_environment: bool) -> Iterator[Checked]:
    """Every check, as soon as it is made."""
    yield _checked("url", lambda: where(url, from_environment=from_environment))
    core, why_not = _reached(url, name)
    if core is None:
        yield _checked("server", lambda: why_not)
    else:
        try:
            yield from _on_server(core)
        finally:
            core.transport.close()
    for title, look in machine.CHECKS:
        yield _checked(title, look)


def where(url: str | None, *, from_environment: bool) -> Finding:
    """Which server is meant; what is secret in a URL is not shown."""
    if url is None:
        return ok("neither --url nor HEADRACE_URL: the embedded server of this directory")
    return ok(f"{without_secrets(url)}, from {'HEADRACE_URL' if from_environment else '--url'}")


def without_secrets(url: str) -> str:
    """A URL without user, password and options; little of it where these cannot be told apart."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "a URL that cannot be read"
    if parts.scheme not in SCHEMES:
        return "a URL that cannot be read"
    if "@" in parts.path + parts.query + parts.fragment:
        return f"{parts.scheme}://..."
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _reached(url: str | None, name: str) -> tuple[Core | None, Finding]:
    if url is None and (running := embedded.status()) is not None:
        url = running.url
    if url is None:
        return None, problem("no server runs here", "headrace up, or give the --url of a server")
    check.namespace(name)
    try:
        asked = wanted(url, name, None, "json", None, None, RETRY_FOR, TIMEOUT)
    except InvalidArgument:
        # What could not be read may be a part of the password, so it is not repeated.
        return None, problem(
            "the URL cannot be read",
            "write it as redis://user:password@host:6379/0, with %xx for special characters",
        )
    try:
        return reach(asked), ok("")
    except HeadraceError as error:
        return None, problem(str(error), "see that the server runs and that this user may run INFO")


def _on_server(core: Core) -> Iterator[Checked]:
    nodes = nodes_of(core)
    for node in nodes:
        where_it_is = node.name if len(nodes) > 1 else ""
        for title, look in server.CHECKS:
            yield _checked(title, partial(look, node), where_it_is)
    shards, layout = _layout(core)
    yield _checked("namespace", lambda: layout)
    if shards:
        core.use_shards(shards)
        here = Namespace(core)
        for title, look_at in namespace.CHECKS:
            yield _checked(title, partial(look_at, here))


def _layout(core: Core) -> tuple[int | None, Finding]:
    """How many shards there are, if the namespace is there and can be read."""
    command = (0, ("HMGET", core.key(0, "meta"), "layout", "shards"))
    try:
        [[layout, shards]] = drive(core.transport, raw(core, [command]))
    except HeadraceError as error:
        return None, problem(str(error), "see docs/guides/operations.md, Rights: what a user needs")
    if layout is None or shards is None:
        advice = "is the name right? --namespace; the first program that connects makes it"
        return None, not_applicable(f"there is no namespace {core.namespace!r}", advice)
    if int(layout) != LAYOUT:
        what = f"layout {int(layout)}, and this Headrace knows {LAYOUT}"
        return None, problem(what, "upgrade the older of the two")
    return int(shards), ok(f"{core.namespace!r}: layout {LAYOUT}, shards: {int(shards)}")


def _checked(title: str, look: Callable[[], Finding], node: str = "") -> Checked:
    found = _found(look)
    return Checked(title, node, found.verdict, found.found, found.advice)


def _found(look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except MayNot as error:
        return not_applicable(f"not looked at: may not run {error.command}", error.advice)
    except HeadraceError as error:
        return problem(str(error), "see that the server runs, and run headrace doctor again")


def names() -> Iterable[str]:
    """The names of all checks."""
    of_nodes = [title for title, _ in server.CHECKS]
    of_namespace = [title for title, _ in namespace.CHECKS]
    return ["url", *of_nodes, "namespace", *of_namespace, *(title for title, _ in machine.CHECKS)]
