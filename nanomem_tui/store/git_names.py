"""The names in a repository: its branches, tags and other refs, and every path that its history or its index has.
Reads only."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from nanomem_tui import regular
from nanomem_tui.errors import from_os_error
from nanomem_tui.store import git_index
from nanomem_tui.store.git_objects import ObjectStore, is_sha, parse_tree


def refs(git_dir: Path) -> dict[str, str]:
    """Every ref by its full name (`refs/heads/master`), with the object that it names; "" where that cannot be read.
    Raises the errors of `from_os_error`."""
    found: dict[str, str] = {}
    try:
        with contextlib.suppress(FileNotFoundError):
            for line in regular.read(git_dir / "packed-refs").decode("utf-8", "surrogateescape").split("\n"):
                sha, _, name = line.partition(" ")
                found |= {name: sha} if is_sha(sha) else {}
        for folder, _, names in os.walk(git_dir / "refs"):
            for name in names:
                path = Path(folder, name)
                told = regular.read(path).decode("ascii", "replace").strip()
                found[path.relative_to(git_dir).as_posix()] = told if is_sha(told) else ""
        with contextlib.suppress(FileNotFoundError):
            head = regular.read(git_dir / "HEAD").decode("utf-8", "surrogateescape").strip()
            if head.startswith("ref:"):
                found.setdefault(head.removeprefix("ref:").strip(), "")
            elif is_sha(head):
                found["HEAD"] = head
    except OSError as error:
        raise from_os_error(error, "reading the names in the git repository") from error
    return found


def paths(git_dir: Path, tops: Iterable[str]) -> Iterator[str]:
    """The path of every file and folder in the commits that lead to `tops`, and of the index; one may come twice.
    Raises DamagedGit."""
    with contextlib.closing(ObjectStore(git_dir / "objects")) as objects:
        seen: set[tuple[str, str]] = set()
        todo = [(sha, "") for sha in tops if sha]
        while todo:
            one = todo.pop()
            if one in seen:
                continue
            seen.add(one)
            sha, folder = one
            kind, data = objects.raw(sha)
            if kind == "tree":
                for name, entry in parse_tree(data, sha).items():
                    yield f"{folder}{name}"
                    todo += [(entry.sha, f"{folder}{name}/")] if entry.is_folder else []
            elif kind == "commit":
                commit = objects.commit(sha)
                todo += [(inner, "") for inner in (commit.tree, *commit.parents)]
            elif kind == "tag":
                named = data.partition(b"\n")[0].removeprefix(b"object ").decode("ascii", "replace")
                todo += [(named, "")] if is_sha(named) else []
    for raw in git_index.held(git_dir) or {}:
        parts = raw.decode("utf-8", "surrogateescape").split("/")
        yield from ("/".join(parts[: number + 1]) for number in range(len(parts)))
