"""One text planted in everything that a memory consists of, and the search for it in every byte that is left."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORD = "Quxwhalery"
TEXT = f"the safe is behind the {WORD} painting"
GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null")


def git(workspace: Path, *args: str) -> str:
    """A line for the real git in a workspace."""
    return subprocess.run([*GIT, *args], cwd=workspace, check=True, capture_output=True, text=True).stdout


def plant(workspace: Path, run: Callable[..., Any], text: str = TEXT) -> list[str]:
    """Put a text into every layer of a workspace of nanobot; the ids of the rows that hold it."""
    home = workspace.parent
    ids = []

    def did(*line: str, **given: Any) -> Any:
        result = run(*line, **given)
        assert result.code == 0, (line, result.err)
        return result

    did("memory", "add", "--text", f"Remember: {text}.")
    did("memory", "add", "--text", "tea is green", "--json")
    key = did("memory", "list", "--limit", "1", "--json").json[0]["id"]
    did("memory", "edit", key, "--text", f"No, {text}!")
    did("memory", "edit", key, "--text", "tea is black")
    did("memory", "lessons", "add", "--trigger", f"when {text}", "--action", "look there")
    did("journal", "add", f"Today I learned that {text}")
    did("event", "push", f"somebody said {text}")
    ids.append(key)
    with (workspace / "memory" / "MEMORY.md").open("a") as file:
        file.write(f"- {text}\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", f"learned that {text}")
    memory = workspace / "memory" / "MEMORY.md"
    memory.write_text(memory.read_text().replace(f"- {text}\n", f"- Note: {text}.\n"))
    git(workspace, "commit", "-q", "-am", "a word more")
    with (workspace / "memory" / "history.jsonl").open("a") as file:
        file.write(json.dumps({"cursor": 999, "timestamp": "2026-02-15 09:00", "content": f"[FACT] {text}"}) + "\n")
    session = next((home / "sessions").rglob("*.jsonl"), None) or next(workspace.rglob("sessions/*.jsonl"))
    with session.open("a") as file:
        message = {"role": "user", "content": f"By the way, {text}", "timestamp": "2026-02-15T09:00:00"}
        file.write(json.dumps(message, ensure_ascii=False) + "\n")
    (workspace / "memory" / "2026-02-15.md").write_text(f"# Notes\n\n- {text}\n- buy bread\n")
    return ids


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every byte below a folder: files as they are, and what is packed in them."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        where = str(path.relative_to(folder))
        yield where, data
        if ".git/objects/" in where and not re.search(r"/info/|\.(pack|idx|rev|bitmap)$", where):
            yield where, zlib.decompress(data)
        if where.endswith(".gz"):
            yield where, gzip.decompress(data)
        if re.fullmatch(r"[0-9a-f]{64}", path.name) and data.startswith(b"\x78"):
            yield where, zlib.decompress(data)
        if where.endswith(".nanomem-backup"):
            with zipfile.ZipFile(path) as backup:
                for member in backup.infolist():
                    yield where, backup.read(member)
        if where.endswith((".pack", ".bundle")):
            yield where, b"".join(_streams(data))


def _streams(data: bytes) -> Iterator[bytes]:
    """What can be unpacked at any place."""
    for found in re.finditer(rb"\x78[\x01\x9c\xda\x5e]", data):
        try:
            yield zlib.decompressobj().decompress(data[found.start() :])
        except zlib.error:
            continue


def told_then_cleaned(workspace: Path, run: Callable[..., Any], asked: tuple[str, str], word: str) -> None:
    """What a git history and a backup hold of it is told by `forget`, and gone where that is asked for."""
    assert run("backup", "make").code == 0
    told = run("forget", *asked, "--yes")
    assert told.code == 1
    assert ".git: 1 time (nanomem writes no history anew: " in told.out
    assert ".nanomem-backup: " in told.out
    assert run("forget", *asked, "--yes", "--backups").code == 1
    assert outside_git(workspace.parent, word) == []


def holding(folder: Path, word: str = WORD) -> list[str]:
    """The files that hold a word, in any case, as UTF-8, as UTF-16 or as JSON escapes."""
    escaped = json.dumps(word)[1:-1]
    forms = {form.lower() for form in (word.encode(), word.encode("utf-16-le"), escaped.encode())}
    return sorted({where for where, data in everything(folder) if any(form in data.lower() for form in forms)})


def without_history(workspace: Path) -> None:
    """The workspace with a history in git of what there is now alone, as one that was written anew."""
    shutil.rmtree(workspace / ".git")
    git(workspace, "init", "-q")


def outside_git(folder: Path, word: str = WORD) -> list[str]:
    """`holding` without the histories in git, which nanomem never writes."""
    return [where for where in holding(folder, word) if ".git/" not in where]


if __name__ == "__main__":
    print(*holding(Path(sys.argv[1]), sys.argv[2]), sep="\n")
