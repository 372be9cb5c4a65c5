"""`acl`: print the ACL rules of a user of a namespace."""

from __future__ import annotations

import click

from headrace.cli import options
from headrace.cli.output import print_json, say, wants_json
from headrace.engine import check
from headrace.engine.rights import ROLES, acl_rules


@options.command("acl producer -n shop --user web", server=False)
@click.argument("role", type=click.Choice(ROLES), help="Role: producer, worker or observer.")
@options.namespace
@click.option("--user", metavar="NAME", help="Name of the user; default: the role.")
@options.number("--shards", most=1024, default=1, help="Number of shards of the namespace.")
def acl(role: str, namespace: str, user: str | None, shards: int) -> None:
    """Print the ACL rules of a user of a namespace.

    A producer can put jobs and read everything. A worker can make every call, also those of an
    operator. An observer can read everything. The output is a line for an ACL file. It has no
    password, so the user cannot log in until you add one, for example >secret.
    """
    name = _user_name(role if user is None else user)
    rules = acl_rules(role, check.namespace(namespace), shards)
    if wants_json():
        print_json({"user": name, "role": role, "namespace": namespace, "rules": rules})
    else:
        say(" ".join(["user", name, "on", *rules]))


def _user_name(name: str) -> str:
    if not name or any(char.isspace() or not char.isprintable() for char in name):
        raise click.BadParameter(
            f"a user name must not be empty or contain spaces, as in {name!r}", param_hint="--user"
        )
    return name
