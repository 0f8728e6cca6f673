"""The transcript files of a workspace: where every release puts them, whose they are, and how to read them safely.

A key never becomes a path: files are found by listing folders. Links are never followed and nothing but a regular file
is opened. Must not write.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.jsonl import parse_jsonl, text_of
from nanomem_tui.agents.layout import NOT_READ, Layout, session_folders
from nanomem_tui.agents.transcripts import (
    CHECKPOINT_SUFFIX,
    OFFSET_KEYS,
    SUFFIX,
    is_metadata,
    is_own_name,
    is_provider_state,
    key_to_lossy_name,
    key_to_name,
    key_to_own_name,
    lossy_name_to_key,
    name_to_key,
    offset_fault,
    plain_messages,
)
from nanomem_tui.core import files as core_files
from nanomem_tui.core.files import Stamp, chunks, stamp_of
from nanomem_tui.core.paths import Paths

NO_METADATA = "no metadata line"
WHOLE = 64_000_000
"""Bytes of a transcript up to which it is held whole: some 70,000 messages in 250 MB."""
TAKEN_OUT = "`nanomem doctor --fix` takes the line out while no agent runs, and undo puts it back"
"""What to do about a line of a transcript that cannot be read."""


class SessionFile(NamedTuple):
    """One transcript file; `current` when it lies where the agent of this layout looks. `link`: it is none, but a link,
    a folder or a pipe in the place of one, and is never opened; `instead` says which."""

    path: Path
    stamp: Stamp
    modified: float
    current: bool
    link: bool
    checkpoint: bool
    instead: str = ""


class Summary(NamedTuple):
    """What a listing says of a transcript, counted line by line. `header` is the metadata that agents obey."""

    header: Mapping[str, Any] | None
    messages: int
    last_archived: int
    problems: int
    other_keys: tuple[str, ...] = ()


def session_files(paths: Paths, layout: Layout, named: Collection[str] | None = None) -> Iterator[SessionFile]:
    """Every transcript file, in no order; `named`: only those with one of these names. Hidden and temporary files are
    left out; what is no regular file is named and not opened."""
    for folder in session_folders(paths, layout):
        current = layout.sessions_dir is not None and folder == layout.sessions_dir
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        names = {entry.name for entry in entries}
        for entry in entries:
            if not entry.name.endswith(SUFFIX) or entry.name.startswith("."):
                continue
            if named is not None and entry.name not in named:
                continue
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                instead = _instead(found.st_mode)
                yield SessionFile(
                    path=folder / entry.name,
                    stamp=stamp_of(found),
                    modified=found.st_mtime,
                    current=current,
                    link=bool(instead),
                    checkpoint=checkpoint_name(entry.name) in names,
                    instead=instead,
                )


def _instead(mode: int) -> str:
    """What lies in the place of a transcript; "" where it is one."""
    if stat.S_ISREG(mode):
        return ""
    kind = core_files.kind_of(mode)
    return "a link, which is not followed" if kind == "link" else f"a {kind} lies in the place of the file"


def checkpoint_name(name: str) -> str:
    """The name of the sidecar with the turn in flight that belongs to a transcript's file name."""
    return name.removesuffix(SUFFIX) + CHECKPOINT_SUFFIX


def key_of(name: str, header: Mapping[str, Any] | None) -> str:
    """Whose transcript a file is: its metadata knows best, then its name."""
    return text_of((header or {}).get("key")) or name_to_key(name) or lossy_name_to_key(name)


def names_of(key: str) -> set[str]:
    """The file names that any release, or we, give to the transcript of a key. Raises BadInput for one that no name can
    hold."""
    return {key_to_name(key), key_to_own_name(key), key_to_lossy_name(key)}


def is_of_one(name: str, header: Mapping[str, Any] | None) -> bool:
    """Whether a transcript is of one session for certain: an old name does not tell, and two keys may share it."""
    key = key_of(name, header)
    if name_to_key(name) == key or is_own_name(name, key):
        return True
    return key == lossy_name_to_key(name) and name.count("_") == 1


def hidden_reason(file: SessionFile, header: Mapping[str, Any] | None, layout: Layout) -> str:
    """Why the agent of this layout does not find that session, in words; "" when it does."""
    name = file.path.name
    if file.link:
        return file.instead
    if layout.release in NOT_READ:
        return ""
    if not file.current:
        return "lies in the folder of an older release, where this agent does not look"
    named, key = name_to_key(name), text_of((header or {}).get("key"))
    if is_own_name(name, key):
        return ""
    if layout.session_naming == "base64url":
        if named is None:
            return "its file name is of an older release, which this agent ignores"
        if key and key != named:
            return f"its file is named for {named}: the agent looks for {key} elsewhere"
        return "" if header is not None else f"it has {NO_METADATA}: the agent loads it but does not list it"
    if key and key not in (named, None) and key_to_lossy_name(key) != name:
        return f"its file is not named as this agent names {key}"
    return ""


def other_keys(name: str, key: str) -> tuple[str, ...]:
    """Keys that an old release put into the same file, as far as its name tells: `slack:T1_C2` with `slack_T1:C2`."""
    if name_to_key(name) == key or key_to_lossy_name(key) != name:
        return ()
    likely = lossy_name_to_key(name)
    return (likely,) if likely != key and ":" in likely else ()


def summarise(file: SessionFile) -> Summary:
    """Count a transcript without holding it in memory; of a long one, lines of the form that agents write are counted
    and not read out. Raises the errors of `from_os_error`."""
    long = file.stamp[1] > WHOLE
    header: dict[str, Any] | None = None
    keys: list[str] = []
    pieces = chunks(file.path)
    first = next(pieces, b"")
    wide = core_files.is_wide(first)
    messages, problems = 0, int(wide)
    for chunk in [core_files.plain(b"".join([first, *pieces]))] if wide else chain([first], pieces):
        if long and (plain := plain_messages(chunk)) is not None:
            messages += plain
            continue
        for record in parse_jsonl(chunk, ""):
            problems += record.problem is not None
            if record.value is None:
                continue
            if is_metadata(record.value):
                problems += header is not None
                header = record.value
                keys.append(text_of(header.get("key")))
            elif not is_provider_state(record.value):
                messages += 1
                problems += not text_of(record.value.get("role"))
    head = header or {}
    offsets = [head.get(name, 0) for name in OFFSET_KEYS]
    faults = [bool(offset_fault(offset, messages)) for offset in offsets]
    at = 0 if OFFSET_KEYS[0] in head else 1
    others = tuple(dict.fromkeys(key for key in keys if key and key != keys[-1]))
    return Summary(
        header=header,
        messages=messages,
        last_archived=0 if faults[at] else int(offsets[at]),
        problems=problems + sum(faults) + (header is None),
        other_keys=others,
    )


def newest_first(files: Iterable[SessionFile]) -> list[SessionFile]:
    """The files by their time of change, the newest first; of the same time, those that the agent finds."""
    return sorted(files, key=lambda file: (file.modified, file.current, file.path.name), reverse=True)
