"""`nanomem members`: who may see a memory that lies on a PostgreSQL server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli.shared import Count, Group, Words, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core.errors import Refused

if TYPE_CHECKING:
    from nanomem_tui.store.postgres import PostgresDatabase


@click.group("members", cls=Group)
def members() -> None:
    """Who may see a memory that lies on a PostgreSQL server: roles of the server, each of which may read and change all
    of it.

    \b
    Example:
      nanomem members add colleague
      nanomem members list
    """


@members.command("list")
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def list_members(state: State, limit: int, offset: int) -> None:
    """The roles that see this memory; superusers of the server see it too.

    \b
    Example:
      nanomem members list
    """
    from nanomem_tui.store import processes

    with _database(state) as database:
        found = processes.members(database)[offset : offset + limit]
        state.show({"members": found, "where": database.where}, found)


@members.command("add")
@click.argument("role", type=Words())
@pass_state
def add_member(state: State, role: str) -> None:
    """Let a role of the server see and change this memory. The first one makes a group of it, for which the owner needs
    CREATEROLE.

    \b
    Example:
      nanomem members add colleague
    """
    from nanomem_tui.store import processes

    with _database(state) as database:
        processes.grant(database, role)
        state.show({"operation": None, "member": role}, [f"{role} sees this memory now, and may change it."])


@members.command("remove")
@click.argument("role", type=Words())
@pass_state
def remove_member(state: State, role: str) -> None:
    """Let a role see this memory no more. What it read it knows, and what it changed stays.

    \b
    Example:
      nanomem members remove colleague
    """
    from nanomem_tui.store import processes

    with _database(state) as database:
        processes.revoke(database, role)
        state.show({"operation": None, "member": role}, [f"{role} sees this memory no more."])


@contextlib.contextmanager
def _database(state: State) -> Iterator[PostgresDatabase]:
    """The schema of the workspace. Raises Refused where the memory lies in a file."""
    with state.open() as ws:
        if ws.store.server is None:
            fix = "`nanomem migrate-store` brings it to a server (docs/postgresql.md)"
            raise Refused("only a memory in a schema of a server has members", ws.store.where, fix)
        yield ws.store.server
