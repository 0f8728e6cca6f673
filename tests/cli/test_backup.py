"""`nanomem backup`: made, listed, checked, brought back; what is refused, in words."""

import json
import shlex
from pathlib import Path

import pytest

from nanomem_tui.agents.releases import detect
from nanomem_tui.core.errors import AccessDenied
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.files import presence
from nanomem_tui.store.files.presence import Presence
from nanomem_tui.store.moving import backup


@pytest.fixture
def made(run, ramfirst):
    """A backup of a home of a RAM-first agent."""
    run("memory", "add", "--text", "Prefers trains")
    return Path(run("backup", "make", "--json").json["path"])


def test_none_yet_is_said(run, ramfirst):
    assert "`nanomem backup make` makes one" in run("backup", "list").out
    assert run("backup", "list", "--json").json == []
    assert run("backup", "restore", "latest", "--yes").code == 2
    assert not (ramfirst.parent / "nanomem-backups").exists()


def test_it_is_listed_and_whole(run, made):
    [told] = run("backup", "list", "--json").json
    assert (told["id"], told["base"], told["problem"]) == (made.name, "", "")
    checked = run("backup", "check")
    assert (checked.code, checked.out.split(":")[0]) == (0, f"{made.name} is whole")
    assert made.name in run("backup", "list").out


def test_a_torn_one_is_named_and_hinders_no_other(run, made, tmp_path):
    whole = made.read_bytes()
    made.with_name("19990101-000000-000.nanomem-backup").write_bytes(whole[: len(whole) // 2])
    assert "or a damaged one" in run("backup", "list").out
    assert run("backup", "check").code == 0
    bad = run("backup", "check", "19990101-000000-000")
    assert (bad.code, bad.out, len(bad.err.splitlines())) == (2, "", 1)


def test_a_flipped_bit_is_found_and_nothing_is_restored(run, made):
    data = bytearray(made.read_bytes())
    data[len(data) // 3] ^= 1
    made.write_bytes(data)
    assert run("backup", "check").code in (1, 2)
    run("memory", "add", "--text", "Since")
    assert run("backup", "restore", made.name, "--yes").code == 2
    assert "Since" in run("memory", "list").out


@pytest.mark.slow
def test_in_place_and_back_again(run, made):
    run("memory", "add", "--text", "Since")
    plan = run("backup", "restore", "latest", "--dry-run")
    assert "Would write: nanomem/nanomem.db" in plan.out
    assert "Since" in run("memory", "list").out
    assert run("backup", "restore", "latest").code == 2  # nobody to ask
    done = run("backup", "restore", "latest", "--yes")
    assert done.code == 0
    assert "Since" not in run("memory", "list").out
    assert "Prefers trains" in run("memory", "list").out
    back = done.out.splitlines()[1].split("`")[1].removeprefix("nanomem ").split()
    assert run(*back, "--yes").code == 0
    assert "Since" in run("memory", "list").out
    assert f"before {made.name} was restored" in run("backup", "list").out


def test_beside_an_agent_it_is_refused(run, made, monkeypatch):
    monkeypatch.setattr(
        presence, "find_running_agent", lambda *_args, **_options: Presence(True, 4711, "nanobot gateway", False)
    )
    refused = run("backup", "restore", "latest", "--yes")
    assert (refused.code, "nanobot gateway runs (process 4711)" in refused.err) == (2, True)


def test_elsewhere_even_where_there_is_no_memory(run, made, tmp_path):
    copy = tmp_path / made.name
    copy.write_bytes(made.read_bytes())
    assert "Would write" in run("backup", "restore", copy, "--to", tmp_path / "new", "--dry-run").out
    assert not (tmp_path / "new").exists()
    assert run("--workspace", tmp_path / "no", "backup", "restore", copy, "--to", tmp_path / "new").code == 0
    assert "Prefers trains" in run("memory", "list", "--workspace", tmp_path / "new" / "workspace").out
    again = run("backup", "restore", copy, "--to", tmp_path / "new")
    assert (again.code, "something is there already" in again.err) == (2, True)


def test_another_folder_holds_them_where_a_person_wants(run, made, tmp_path):
    other = tmp_path / "disk"
    told = run("backup", "make", "--in", other, "--json").json
    assert (Path(told["path"]).parent, told["base"]) == (other, "")
    assert len(run("backup", "list", "--in", other, "--json").json) == 1
    assert run("backup", "check", "--in", other).code == 0


def test_an_interrupted_restore_is_told_by_the_doctor(run, made):
    made.with_name("restoring.json").write_text('{"archive": "A", "before": "B"}')
    told = run("doctor")
    assert told.code == 1
    assert "`nanomem backup restore A` finishes it, and sets back what was changed since" in told.out
    assert "`nanomem backup restore B` takes it back, and what was changed since" in told.out


@pytest.mark.slow
def test_a_restore_that_was_interrupted_at_its_end_is_ended_by_the_next_one(run, made):
    mark = made.with_name("restoring.json")
    told = {"archive": str(made), "before": "B", "at": "2026-05-01T10:00:00Z"}
    mark.write_text(json.dumps(told))
    assert "a restore was interrupted on 2026-0" in run("doctor").out
    run("backup", "restore", made.name, "--dry-run")
    assert mark.exists()
    assert run("backup", "restore", made.name, "--yes").code == 0
    assert not mark.exists()
    assert "restore was interrupted" not in run("doctor").out
    assert "Everything is as in" in run("backup", "restore", made.name, "--yes").out


def test_old_ones_go_after_a_yes(run, made):
    second = Path(run("backup", "make", "--json").json["path"])
    assert "Would remove: " + made.name in run("backup", "prune", "--keep", "1", "--dry-run").out
    assert run("backup", "prune", "--keep", "1").code == 2  # nobody to ask
    assert made.exists()
    told = run("backup", "prune", "--keep", "1", "--yes", "--json").json
    assert (told["removed"], told["kept"]) == ([made.name], [second.name])
    assert run("backup", "check").code == 0
    assert "Nothing to remove: 1 backup." in run("backup", "prune", "--keep", "1").out
    assert run("backup", "prune", "--keep", "0").code == 2


def flipped(path):
    """One bit in the middle of a backup."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_where_nothing_goes_a_backup_that_cannot_be_read_is_no_success(run, made):
    made.write_bytes(made.read_bytes()[:1000])
    done = run("backup", "prune", "--keep", "1", "--yes")
    assert (done.code, f"Cannot be read, and stays: {made.name}" in done.out) == (1, True), done


@pytest.mark.slow
def test_a_damaged_one_keeps_nobody_from_a_backup_or_a_restore(run, made, ramfirst):
    run("memory", "add", "--text", "Since")
    second = Path(run("backup", "make", "--json").json["path"])
    flipped(second)
    told = run("doctor")
    assert told.code == 1
    assert f"nanomem-backups/{second.name}: the newest backup is damaged" in told.out
    pruned = run("backup", "prune", "--keep", "1", "--yes")
    assert (pruned.code, f"Damaged, and stays: {second.name}" in pruned.out, made.exists()) == (1, True, True)
    plan = run("backup", "restore", second.name, "--dry-run")
    assert (plan.code, "Would write" in plan.out, "the backup is damaged" in plan.err) == (2, False, True)
    there = run("backup", "restore", second.name, "--to", ramfirst / "new", "--dry-run")
    assert (there.code, "Would write" in there.out) == (1, False)
    assert run("backup", "restore", made.name, "--yes").code == 0
    assert "Prefers trains" in run("memory", "list").out
    [safe] = [one for one in run("backup", "list", "--json").json if one["reason"]]
    assert run("backup", "check", safe["id"]).code == 0
    assert "the newest backup is damaged" not in run("doctor").out


def test_a_line_of_a_script_that_asks_for_a_whole_one_still_runs(run, ramfirst):
    assert run("backup", "make", "--whole").code == 0


def test_the_list_says_that_nothing_was_read_through(run, made):
    assert "Not checked: `nanomem backup check NAME`" in run("backup", "list").out


def test_latest_says_what_it_passes_over(run, made):
    data = made.read_bytes()
    torn = made.with_name("29990101-000000-000.nanomem-backup")
    torn.write_bytes(data[: len(data) // 2])
    checked = run("backup", "check")
    assert checked.code == 1
    assert f"{torn.name}: newer than {made.name}, and" in checked.out
    assert f"{made.name} is whole" in checked.out
    assert f"Note: {torn.name} is newer, and cannot be read" in run("backup", "restore", "latest", "--dry-run").err


def test_latest_where_only_nanomem_made_one(run, made, ramfirst):
    made.unlink()
    paths = find_workspace(ramfirst)
    own = backup.make_backup(paths, detect(paths), reason="before doctor --fix").path.name
    told = run("backup", "restore", "latest", "--yes")
    assert (told.code, f"no backup that you made; nanomem itself made {own}" in told.err) == (2, True)


def test_what_could_not_be_read_is_named_when_it_is_made_and_when_it_is_checked(run, ramfirst, monkeypatch):
    (ramfirst / "USER.md").write_text("# User\n")
    parts_of = backup.parts_of

    def refusing(path):
        if path.name == "USER.md":
            raise AccessDenied("permission denied", str(path))
        return parts_of(path)

    with monkeypatch.context() as patched:
        patched.setattr(backup, "parts_of", refusing)
        told = run("backup", "make")
    lacks = "It lacks workspace/USER.md, which could not be read: permission denied"
    assert (told.code, lacks in told.out) == (1, True)
    checked = run("backup", "check")
    assert (checked.code, lacks in checked.out) == (1, True)
    assert run("backup", "make").code == 0


def test_what_is_no_memory_is_listed_as_left_out(run, ramfirst):
    for name in ("media", "cli-apps"):
        (ramfirst.parent / name).mkdir(exist_ok=True)
        (ramfirst.parent / name / "one").write_text("x")
    told = run("backup", "make")
    assert told.code == 0
    assert "Left out: media (files that came with messages)" in told.out
    assert "Left out: cli-apps (programs of the agent)" in told.out


@pytest.mark.slow
def test_what_else_lies_in_the_workspace_is_told_in_one_line(run, home):
    workspace = home("nb035")
    told = run("backup", "make")
    assert told.code == 0
    said = "what else lies there: hello.py; --everything takes it"
    assert f"Left out: workspace ({said})" in told.out
    for number in range(1200):
        (workspace / f"z{number:04}").write_text("x")
    more = "what else lies there: hello.py, z0000, z0001 and 1,198 more; --everything takes it"
    assert ["workspace", more] in run("backup", "make", "--json").json["left_out"]
    assert run("backup", "check").code == 0
    assert "what else lies there" not in run("backup", "make", "--everything").out


def test_the_line_that_opens_what_was_brought_to_a_new_place(run, made, tmp_path):
    place = tmp_path / "a new place"
    told = run("backup", "restore", made, "--to", place).out
    [line] = [line for line in told.splitlines() if line.endswith("` opens it.")]
    assert line.startswith("`nanomem --workspace ")
    args = shlex.split(line.split("`")[1])[1:]
    assert args[1] == str(place / "workspace")
    assert run(*args).code == 0


@pytest.mark.slow
def test_the_users_own_settings_stay_unless_they_are_asked_for_or_gone(run, made, user):
    """They hold for every workspace, and a backup is of one."""
    user.write_text("max_items = 5000\n")
    made = Path(run("backup", "make", "--json").json["path"])
    run("memory", "add", "--text", "Since")
    now = 'max_items = 6000\nworkspaces = ["/somewhere"]\n'
    user.write_text(now)
    plan = run("backup", "restore", made.name, "--dry-run")
    assert "@user" not in plan.out
    left = f"Left as they are: your own settings in {user} (they hold for every workspace; --user-settings brings back"
    assert left in plan.out
    done = run("backup", "restore", made.name, "--yes")
    assert (done.code, left in done.out, user.read_text()) == (0, True, now)
    assert "Since" not in run("memory", "list").out
    again = run("backup", "restore", made.name, "--yes")
    assert (again.code, "Everything is as in" in again.out, left in again.out) == (0, True, True)
    assert run("backup", "restore", made.name, "--yes", "--json").json["left"] == str(user)

    asked = run("backup", "restore", made.name, "--user-settings", "--yes")
    assert (asked.code, left in asked.out, user.read_text()) == (0, False, "max_items = 5000\n")
    back = shlex.split(asked.out.splitlines()[1].split("`")[1])[1:]
    assert run(*back, "--yes").code == 0
    assert user.read_text() == now

    user.unlink()
    assert "Would write: @user/config.toml" in run("backup", "restore", made.name, "--dry-run").out
    assert run("backup", "restore", made.name, "--yes").code == 0
    assert user.read_text() == "max_items = 5000\n"
    assert run("backup", "restore", made.name, "--to", made.parent / "x", "--user-settings").code == 2


@pytest.fixture
def user(tmp_path, monkeypatch):
    """The file of the user's own settings, in an empty folder."""
    file = tmp_path / "user" / "config.toml"
    file.parent.mkdir()
    monkeypatch.setenv("NANOMEM_CONFIG", str(file))
    return file
