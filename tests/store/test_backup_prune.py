"""Old backups go; those that stay are whole without them, whatever they were built on and wherever it is stopped."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import BadInput
from nanomem_tui.formats.agent_home import detect
from nanomem_tui.paths import Paths
from nanomem_tui.store import backup, backup_archive, backup_files, backup_place, backup_prune
from tests.store.test_backup import make, paths, texts

pytestmark = pytest.mark.sqlite("the file itself")

__all__ = ["paths"]  # a fixture

NUMBER = 6


@pytest.fixture
def made(paths: Paths) -> list[str]:
    """Backups of six moments, the newest first: each builds on the one before, and a file goes away and comes back."""
    chance = random.Random(5)
    large = [chance.randbytes(100_000) for _ in range(NUMBER)]
    names = []
    for number in range(NUMBER):
        (paths.workspace / "AGENTS.md").write_bytes(large[number % 3])
        (paths.workspace / f"USER{number}.md").write_bytes(large[number][:50_000])
        with open_workspace(paths.workspace) as ws:
            ws.items.add(f"of moment {number}")
        names.append(make(paths, everything=True).path.name)
    return names[::-1]


def folder(paths: Paths) -> Path:
    return backup_files.folder_of(paths)


def whole(paths: Paths, names: list[str]) -> bool:
    return all(backup.check(folder(paths) / name)[1] == [] for name in names)


def test_the_newest_stay_and_are_whole_without_the_others(paths: Paths, made: list[str], tmp_path: Path) -> None:
    held = {name: backup.check(folder(paths) / name)[0].entries for name in made}
    plan = backup_prune.plan(folder(paths), 2)
    done = backup_prune.prune(folder(paths), 2)
    assert (plan.removed, plan.kept, plan.anew) == (done.removed, done.kept, done.anew)
    assert list(done.kept) == made[:2]
    assert sorted(os.listdir(folder(paths))) == sorted(made[:2])
    assert done.freed > 0
    for name in made[:2]:
        manifest, problems = backup.check(folder(paths) / name)
        assert problems == []
        assert manifest.entries == held[name]
    backup.restore_to(folder(paths) / made[1], tmp_path / "there")
    assert f"of moment {NUMBER - 2}" in texts(tmp_path / "there" / "workspace")


def test_the_next_backup_builds_on_what_is_left(paths: Paths, made: list[str]) -> None:
    backup_prune.prune(folder(paths), 1)
    after = make(paths)
    assert after.base == made[0]
    assert whole(paths, [made[0], after.path.name])


def test_a_dry_look_changes_nothing(paths: Paths, made: list[str]) -> None:
    before = {name: (folder(paths) / name).read_bytes() for name in made}
    backup_prune.plan(folder(paths), 1)
    assert {path.name: path.read_bytes() for path in folder(paths).iterdir()} == before


def test_stopped_at_any_step_what_is_there_is_whole_and_the_next_one_ends_it(
    paths: Paths, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = {name: getattr(os, name) for name in ("replace", "unlink", "fsync")}

    def stopping(name: str, left: list[None]) -> Callable[..., None]:
        def call(*args: object, **options: object) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop()
            real[name](*args, **options)

        return call

    ended, step = False, 0
    while not ended:
        here = tmp_path / f"step {step}"
        shutil.copytree(folder(paths), here)
        left: list[None] = [None] * step
        with monkeypatch.context() as patched:
            for name in real:
                patched.setattr(os, name, stopping(name, left))
            try:
                backup_prune.prune(here, 2)
                ended = True
            except KeyboardInterrupt:
                step += 1
        there = [name for name in made if (here / name).exists()]
        assert there[:2] == made[:2]
        assert all(backup.check(here / name)[1] == [] for name in there)
        backup_prune.prune(here, 2)
        assert [one.path.name for one in backup.listed(here)] == made[:2]
    assert step >= 8


def damage(path: Path) -> None:
    """Flip a bit in the largest piece of its own."""
    with backup_archive.Archive(path) as archive:
        own = [archive._pieces[name] for name in archive.own]
        largest = max((member for tar, member in own if tar.name == str(path)), key=lambda member: member.size)
    with path.open("r+b") as file:
        file.seek(largest.offset_data + largest.size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def test_a_damaged_one_that_would_stay_is_named_and_left_with_what_it_builds_on(paths: Paths, made: list[str]) -> None:
    damage(folder(paths) / made[1])
    done = backup_prune.prune(folder(paths), 2)
    assert {name for name, _ in done.damaged} >= {made[1]}
    assert done.removed == ()
    assert sorted(os.listdir(folder(paths))) == sorted(made)


def test_a_damaged_one_keeps_nothing_else_from_going(paths: Paths, made: list[str]) -> None:
    own = backup.make(paths, detect(paths), reason="before a fix", whole=True).path.name  # it stays, being the one
    damage(folder(paths) / own)
    alone = [make(paths, whole=True).path.name for _ in range(2)]
    done = backup_prune.prune(folder(paths), 1)
    assert [name for name, _ in done.damaged] == [own]
    assert sorted(done.removed, reverse=True) == [alone[0], *made]
    assert sorted(os.listdir(folder(paths))) == sorted([own, alone[1]])
    assert whole(paths, [alone[1]])


def test_what_an_unreadable_one_may_build_on_stays(paths: Paths, made: list[str]) -> None:
    torn = folder(paths) / made[2]
    torn.write_bytes(torn.read_bytes()[:1000])  # made[0] and made[1] build on it
    plan = backup_prune.plan(folder(paths), 1)
    assert list(plan.unread) == made[:3]
    assert plan.removed == ()
    assert list(plan.kept) == made[3:]


def test_what_nanomem_made_by_itself_is_counted_apart(paths: Paths, made: list[str]) -> None:
    own = [backup.make(paths, detect(paths), reason="before a fix").path.name for _ in range(3)]
    plan = backup_prune.plan(folder(paths), 2)
    assert list(plan.kept) == [own[2], own[1], made[0], made[1]]


def test_what_is_young_stays(paths: Paths, made: list[str]) -> None:
    assert backup_prune.plan(folder(paths), 1, days=1).removed == ()


def test_none_may_go_that_an_interrupted_restore_needs(
    paths: Paths, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(backup_place, "write", stop)
        with pytest.raises(KeyboardInterrupt):
            backup.restore(paths, detect(paths), folder(paths) / made[-1])
    assert made[-1] in backup_prune.plan(folder(paths), 1).kept


def test_one_has_to_stay(paths: Paths) -> None:
    with pytest.raises(BadInput, match="at least one"):
        backup_prune.plan(folder(paths), 0)
