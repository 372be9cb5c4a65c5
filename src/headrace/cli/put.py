"""`put`: a job, or a file of them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from headrace.cli.opening import opened
from headrace.cli.options import Delay, Namespace, Queue, Url, seconds
from headrace.cli.put_lines import enveloped, put_lines
from headrace.cli.show import AsJson, show
from headrace.cli.words import counted

Data = Annotated[str | None, typer.Argument(metavar="DATA", help="The data, as JSON.")]


def as_json_value(text: str) -> Any:
    """What DATA says."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(
            f"this is not JSON ({error}); a text needs quotes of its own: '\"hello\"'",
            param_hint="DATA",
        ) from None


def retries_of(text: str) -> int | None:
    """How often it may be tried again; none is without limit."""
    if text == "none":
        return None
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is neither a number nor none")
    return int(text)


def _check(data: str | None, source: str | None, job_id: str | None, id_field: str | None) -> None:
    if (data is None) == (source is None):
        raise typer.BadParameter("give either DATA or --from, one of them", param_hint="DATA")
    if source is not None and job_id is not None:
        raise typer.BadParameter("lines have ids by --id-field", param_hint="--id")
    if source is None and id_field is not None:
        raise typer.BadParameter("it goes with --from", param_hint="--id-field")


def put(
    queue: Queue,
    data: Data = None,
    *,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="NAME", help="Put a job for this task; DATA are its args."),
    ] = None,
    job_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its id; without, it gets one.")
    ] = None,
    priority: Annotated[
        float | None, typer.Option("--priority", help="A lower one runs sooner; 0 if not given.")
    ] = None,
    delay: Delay = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be given again.")
    ] = None,
    retries: Annotated[
        str | None,
        typer.Option("--retries", metavar="NUMBER", help="How often it is tried again, or none."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Whose it is, for limits and turns.")
    ] = None,
    unique: Annotated[
        bool, typer.Option("--unique", help="Refuse it if one with the same data is there.")
    ] = False,
    unique_by: Annotated[
        str | None,
        typer.Option("--unique-by", metavar="TEXT", help="Refuse it if one with this is there."),
    ] = None,
    start_within: Annotated[
        float | None,
        typer.Option("--start-within", parser=seconds, metavar="SPAN", help="Too late after that."),
    ] = None,
    depends_on: Annotated[
        list[str] | None,
        typer.Option("--depends-on", metavar="ID", help="Wait for this one; may be given again."),
    ] = None,
    on_exists: Annotated[
        str | None,
        typer.Option(
            "--on-exists", metavar="WHAT", help="If the id is there: move, replace, reject."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Put each line of JSON in a file; - is stdin."),
    ] = None,
    id_field: Annotated[
        str | None,
        typer.Option(
            "--id-field", metavar="NAME", help="With --from: the field that is the id of a line."
        ),
    ] = None,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Put a job into a queue and print its id, or with --from many jobs.

    A file has one JSON value a line, each the data of a job. With --id-field it may be put again,
    after a Ctrl-C or an outage: lines whose jobs the server knows are passed over.
    """
    _check(data, source, job_id, id_field)
    given: dict[str, Any] = {
        "priority": priority,
        "delay": delay,
        "tags": tag,
        "key": key,
        "start_within": start_within,
        "depends_on": depends_on,
        "on_exists": on_exists,
    }
    options = {name: value for name, value in given.items() if value is not None}
    options["unique"] = unique_by or unique
    if retries is not None:
        options["retries"] = retries_of(retries)
    if source is not None:
        with opened(url, namespace, make=True) as client:
            tally = put_lines(client.queue(queue), source, id_field, task, options)
        known = f", {counted(tally.known, 'line')} known already" if id_field else ""
        sentence = f"{counted(tally.put, 'job')} put into {queue}{known}"
        show({"queue": queue, "put": tally.put, "known": tally.known}, sentence, as_json=as_json)
        return
    value = enveloped(as_json_value(data or ""), task)
    with opened(url, namespace, make=True) as client:
        made = client.queue(queue).put(value, id=job_id, **options)
    show({"id": made, "queue": queue}, made, as_json=as_json)
