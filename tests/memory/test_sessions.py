"""Sessions: every release's transcripts listed, read, searched, and compacted with an undo that loses nothing."""

import fcntl
import json
import os
import shutil
import stat
import time

import pytest

from nanomem_tui.agents.releases import detect, named_folders
from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import new_operation
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.memory.sessions.files import SessionLayer
from nanomem_tui.memory.sessions.sessions import Sessions
from nanomem_tui.store.files.presence import Presence

NB035 = "b320cfc38283ad9d0550a89f257ad3d8"
TALK = "discord:2600079"
RUNNING = Presence(True, 4711, "nanobot gateway", False)


class Desk:
    """Sessions of one home with the shortest possible way from an operation to the file, and an agent to switch on."""

    def __init__(self, home):
        self.paths = find_workspace(home)
        self.layout = detect(self.paths)
        self.agent = Presence()
        folders = named_folders(self.paths, self.layout)
        self.layer = SessionLayer(lambda: folders, self.paths.backups, lambda: self.agent)
        self.sessions = Sessions(self.paths, lambda: self.layout, self.perform, lambda: self.agent)

    def perform(self, operation):
        self.layer.check(operation.changes)
        self.layer.apply(operation, operation.changes)
        return operation

    def undo(self, operation):
        return self.perform(new_operation("undo", "undo", operation.inverse(), undoes=operation.id))

    def file(self, key):
        return next(self.paths.workspace / info.path for info in self.sessions.list() if info.key == key)


@pytest.fixture
def sample(sample_copy):
    return lambda name: Desk(sample_copy(name) / "home" / ".nanobot")


@pytest.fixture
def nb035(sample):
    return sample("nb035")


@pytest.fixture
def read_only(samples):
    return lambda name: Desk(samples / name / "home" / ".nanobot")


@pytest.fixture
def desk(tmp_path):
    """A home of nanobot 0.3.5 without any session."""
    home = tmp_path / ".nanobot"
    (home / "workspace" / ".nanobot").mkdir(parents=True)
    (home / "workspace" / ".nanobot" / "workspace-id").write_text("a" * 32 + "\n")
    (home / "sessions" / ("a" * 32)).mkdir(parents=True)
    (home / "config.json").write_text("{}")
    return Desk(home)


def line(value):
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def metadata(key, **fields):
    head = {"_type": "metadata", "key": key, "created_at": "2026-01-02T03:04:05", "updated_at": "2026-01-02T03:04:05"}
    return line({**head, "metadata": {}, "last_archived": 0, "last_consolidated": 0, **fields})


def said(number, role="user", **fields):
    return line({"role": role, "content": f"message {number}", "timestamp": "2026-01-02T03:04:05", **fields})


def write(desk, key, *lines, name=None):
    path = desk.layout.sessions_dir / (name or key_to_name(key))
    path.write_bytes(b"".join(lines))
    return path


# --- listing


@pytest.mark.parametrize(
    ("name", "files", "messages"), [("nb035", 39, 1395), ("v0_1_5", 8, 269), ("ramfirst", 6, 840), ("torn", 6, 839)]
)
def test_every_session_of_every_release_is_listed_with_its_messages(read_only, name, files, messages):
    desk = read_only(name)
    infos = desk.sessions.list()
    assert len(infos) == desk.sessions.count() == files
    assert sum(info.messages for info in infos) == messages
    assert not any(info.hidden_reason or info.checkpoint for info in infos)
    assert [info.updated_at for info in infos] == sorted((info.updated_at for info in infos), reverse=True)
    for info in infos:
        session = desk.sessions.get(info.key)
        assert (len(session.messages), len(session.problems)) == (info.messages, info.problems)
        assert info.unarchived == len(session.messages) - session.last_archived


def test_a_row_says_what_a_person_asks_for(read_only):
    info = next(info for info in read_only("nb035").sessions.list() if info.key == TALK)
    assert info.title == "Caroline & Melanie #26"
    assert info.path.endswith(f"/sessions/{NB035}/{key_to_name(TALK)}")
    assert info.updated_at.endswith("+00:00")
    assert info.last_archived > 0


def test_nuls_of_a_power_cut_are_reported_and_cost_one_line(read_only):
    desk = read_only("torn")
    bad = next(info for info in desk.sessions.list() if info.problems)
    assert (bad.key, bad.problems) == ("cli:direct", 1)
    (problem,) = desk.sessions.problems()
    assert "40 NUL bytes" in problem.what
    assert (problem.where, problem.line) == ("sessions/cli_direct.jsonl", 4)


def test_listing_changes_nothing_and_the_second_time_reads_nothing(nb035, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in nb035.paths.home.rglob("*")}
    first = nb035.sessions.list()
    monkeypatch.setattr(core_files, "open_plainly", None)
    assert nb035.sessions.list() == first
    assert {path: path.stat().st_mtime_ns for path in nb035.paths.home.rglob("*")} == before


def test_a_changed_file_is_counted_again(desk):
    path = write(desk, "cli:a", metadata("cli:a"), said(1))
    assert desk.sessions.list()[0].messages == 1
    with path.open("ab") as file:
        file.write(said(2))
    assert desk.sessions.list()[0].messages == 2


def test_provider_state_and_metadata_are_no_messages(desk):
    write(desk, "cli:a", metadata("cli:a"), line({"_type": "provider_state", "state": {"payload": "x"}}), said(1))
    (info,) = desk.sessions.list()
    assert (info.messages, info.problems) == (1, 0)


def test_sessions_that_an_upgrade_made_invisible_are_listed_with_the_reason(sample, desk):
    old = sample("v0_1_5")
    for path in old.layout.sessions_dir.iterdir():
        shutil.copy(path, desk.layout.sessions_dir)
    infos = desk.sessions.list()
    assert len(infos) == 8
    assert all("older release" in info.hidden_reason for info in infos)
    assert {info.key for info in infos} == {info.key for info in old.sessions.list()}
    assert desk.sessions.get("cli:direct").messages


def test_sessions_left_in_the_folder_of_an_older_release_are_listed(desk):
    folder = desk.paths.workspace / "sessions"
    folder.mkdir()
    (folder / "cli_direct.jsonl").write_bytes(metadata("cli:direct") + said(1))
    (info,) = desk.sessions.list()
    assert (info.key, info.messages) == ("cli:direct", 1)
    assert "older release" in info.hidden_reason


def test_of_two_files_for_one_key_the_one_that_the_agent_finds_is_opened(desk):
    write(desk, "cli:direct", metadata("cli:direct"), said(1), said(2))
    later = write(desk, "", metadata("cli:direct"), said(3), name="cli_direct.jsonl")
    os.utime(later, (time.time() + 60, time.time() + 60))
    assert len(desk.sessions.list()) == 2
    assert len(desk.sessions.get("cli:direct").messages) == 2


def test_a_file_named_for_another_key_is_hidden(desk):
    write(desk, "cli:b", metadata("cli:a"), said(1))
    assert "named for cli:b" in desk.sessions.list()[0].hidden_reason


def test_a_file_without_metadata_is_listed(desk):
    write(desk, "cli:a", said(1))
    (info,) = desk.sessions.list()
    assert (info.key, info.messages, info.problems) == ("cli:a", 1, 1)
    assert "no metadata line" in info.hidden_reason


def test_keys_that_shared_a_file_in_old_releases_are_named(read_only):
    shared = [info for info in read_only("v0_1_5").sessions.list() if info.other_keys]
    assert [(info.key, info.other_keys) for info in shared] == [("slack_T1:C2", ("slack:T1_C2",))]


def test_a_file_with_two_metadata_lines_names_both_keys(desk):
    write(desk, "cli:b", metadata("cli:a"), said(1), metadata("cli:b"), said(2))
    (info,) = desk.sessions.list()
    assert (info.key, info.other_keys, info.messages, info.problems) == ("cli:b", ("cli:a",), 2, 1)


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"", 0),
        (b"\xff\xfe\x00", 0),
        (b"\0" * 4096, 0),
        (metadata("cli:a") + b'{"role": "user", "content": "\xff"}\n' + said(2), 1),
        (metadata("cli:a") + said(1) + b'{"role": "us', 1),
        (metadata("cli:a") + b"[1]\n7\nnull\n" + said(1), 1),
        (metadata("cli:a") + said(1).replace(b"message", "\u2028\u0085\u2029".encode()), 1),
        (metadata("cli:a", last_archived=99), 0),
        (metadata("cli:a", last_archived=True) + said(1), 1),
        (b'{"_type": "metadata", "key": 7, "metadata": [], "updated_at": {}}\n' + said(1), 1),
    ],
)
def test_damage_is_counted_and_never_hides_the_rest(desk, content, messages):
    write(desk, "cli:a", content)
    write(desk, "cli:b", metadata("cli:b"), said(1))
    infos = {info.key: info for info in desk.sessions.list()}
    assert infos["cli:a"].messages == messages == len(desk.sessions.get("cli:a").messages)
    assert infos["cli:b"].problems == 0
    desk.sessions.problems()


def test_links_pipes_folders_and_temporary_files_are_not_opened(desk, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(metadata("cli:stolen") + said(1))
    folder = desk.layout.sessions_dir
    (folder / key_to_name("cli:link")).symlink_to(secret)
    os.mkfifo(folder / key_to_name("cli:pipe"))
    (folder / key_to_name("cli:folder")).mkdir()
    (folder / ".Y2xp.jsonl.0123456789abcdef.tmp").write_bytes(said(1))
    link, pipe, place = (
        "a link, which is not followed",
        "a pipe lies in the place of the file",
        "a folder lies in the place of the file",
    )
    listed = {info.key: (info.messages, info.hidden_reason) for info in desk.sessions.list()}
    assert listed == {"cli:link": (0, link), "cli:pipe": (0, pipe), "cli:folder": (0, place)}
    assert desk.sessions.search("message") == []
    with pytest.raises(NotFound):
        desk.sessions.get("cli:link")
    assert {problem.what for problem in desk.sessions.problems()} == {link, pipe, place}


@pytest.mark.parametrize("key", ["../../secret", "/etc/passwd", "", "x\0y", "\ud800", "a" * 5000])
def test_a_key_never_becomes_a_path(desk, key):
    (desk.paths.home / "secret.jsonl").write_bytes(said(1))
    with pytest.raises(NotFound):
        desk.sessions.get(key)
    with pytest.raises(NotFound):
        desk.sessions.compact(key)


def test_a_file_that_may_not_be_read_is_still_listed(desk, monkeypatch):
    write(desk, "cli:a", metadata("cli:a"), said(1))

    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(core_files, "open_plainly", denied)
    (info,) = desk.sessions.list()
    assert info.problems == 1
    assert "no permission" in info.hidden_reason
    assert "no permission" in desk.sessions.problems()[0].what


def test_hundreds_of_sessions_are_listed_and_none_is_read_twice(desk):
    for number in range(300):
        write(desk, f"cli:{number}", metadata(f"cli:{number}"), said(1), said(2))
    assert {info.messages for info in desk.sessions.list()} == {2}
    opened = []
    real = os.open
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", lambda path, *more, **named: (opened.append(path), real(path, *more, **named))[1])
        desk.sessions.list()
    assert opened == []


# --- searching


def test_a_word_is_found_in_every_transcript_whatever_its_case(read_only):
    hits = read_only("nb035").sessions.search("WINDOW seats")
    assert len(hits) >= 2
    assert all(hit.text[slice(*hit.ranges[0])].lower() in ("window", "window seats", "seats") for hit in hits)


def test_chinese_is_found_by_two_characters(read_only):
    hits = read_only("nb035").sessions.search("房租")
    assert "cli:direct" in {hit.session_key for hit in hits}
    assert all(hit.text[start:end] == "房租" for hit in hits for start, end in hit.ranges)


def test_width_is_no_difference(desk):
    write(desk, "cli:a", metadata("cli:a"), said(1).replace(b"message", "ＡＢＣ ﬁsh".encode()))
    assert [hit.text[slice(*hit.ranges[0])] for hit in desk.sessions.search("abc")] == ["ＡＢＣ"]
    assert [hit.text[slice(*hit.ranges[0])] for hit in desk.sessions.search("Fish")] == ["ﬁsh"]


def test_a_phrase_and_an_exclusion(desk):
    write(desk, "cli:a", metadata("cli:a"), said(1), said(2), said(12))
    assert [hit.index for hit in desk.sessions.search('"message 1"')] == [2, 0]
    assert [hit.index for hit in desk.sessions.search('"message 1" -12')] == [0]


def test_tool_calls_are_searched(read_only):
    hits = read_only("nb035").sessions.search("edit_file 交房租")
    assert hits
    assert all(hit.role in ("assistant", "tool") for hit in hits)


def test_the_newest_come_first_and_the_limit_holds(read_only):
    desk = read_only("nb035")
    every = desk.sessions.search("e", limit=10_000)
    assert len(every) > 1000
    assert desk.sessions.search("e", limit=7) == every[:7]
    order = [info.key for info in desk.sessions.list()]
    assert [order.index(hit.session_key) for hit in every] == sorted(order.index(hit.session_key) for hit in every)
    assert desk.sessions.search("", limit=7) == desk.sessions.search("x", limit=0) == []


def test_a_huge_message_is_found_and_cut_around_the_hit(desk):
    write(desk, "cli:a", metadata("cli:a"), said("x" * 11_000_000 + " needle " + "y" * 1000), said(2))
    (hit,) = desk.sessions.search("needle")
    assert len(hit.text) <= 242
    assert hit.text[slice(*hit.ranges[0])] == "needle"


def test_indices_are_right_when_a_file_is_read_in_pieces(desk):
    write(desk, "cli:a", metadata("cli:a"), *(said(number, pad="p" * 9000) for number in range(1200)))
    assert desk.sessions.list()[0].messages == 1200
    assert [hit.index for hit in desk.sessions.search('"message 1199"')] == [1199]


# --- compacting


def test_a_preview_tells_what_would_go_and_changes_nothing(sample):
    desk = sample("ramfirst")
    plan = desk.sessions.compact_preview("cli:direct", keep=10)
    assert (plan.messages, plan.kept, plan.removed, plan.refused) == (140, 10, 130, "")
    assert plan.bytes_after < plan.bytes_before == desk.file("cli:direct").stat().st_size
    assert not desk.paths.data.exists()


def test_compaction_keeps_the_last_messages_and_undo_brings_back_every_byte(nb035):
    path = nb035.file(TALK)
    path.chmod(0o640)
    before, old = path.read_bytes(), nb035.sessions.get(TALK)
    operation = nb035.sessions.compact(TALK, keep=10)
    new = nb035.sessions.get(TALK)
    assert [message.raw for message in new.messages] == [message.raw for message in old.messages[-10:]]
    assert (new.key, new.metadata, new.updated_at) == (old.key, old.metadata, old.updated_at)
    assert (new.last_archived, new.last_consolidated) == (
        max(0, old.last_archived - len(old.messages) + 10),
        max(0, old.last_consolidated - len(old.messages) + 10),
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert operation.label == f"compact session {TALK} to 10 of {len(old.messages)} messages"
    compacted = path.read_bytes()
    undo = nb035.undo(operation)
    assert path.read_bytes() == before
    nb035.undo(undo)
    assert path.read_bytes() == compacted


def test_undo_brings_back_what_was_removed_after_the_agent_went_on(nb035):
    path = nb035.file(TALK)
    old = nb035.sessions.get(TALK)
    operation = nb035.sessions.compact(TALK, keep=10)
    head, _, rest = path.read_bytes().partition(b"\n")
    changed = json.loads(head) | {"updated_at": "2027-01-01T00:00:00"}
    path.write_bytes(line(changed) + rest + said("new one") + said("new two", role="assistant"))
    nb035.undo(operation)
    new = nb035.sessions.get(TALK)
    assert [message.raw for message in new.messages[:-2]] == [message.raw for message in old.messages]
    assert [message.content for message in new.messages[-2:]] == ["message new one", "message new two"]
    assert (new.last_archived, new.last_consolidated) == (old.last_archived, old.last_consolidated)
    assert new.updated_at == "2027-01-01T00:00:00"
    assert not new.problems


def test_undo_refuses_when_the_kept_messages_were_changed(nb035):
    path = nb035.file(TALK)
    operation = nb035.sessions.compact(TALK, keep=10)
    path.write_bytes(path.read_bytes().replace(b'"role": "user"', b'"role": "system"', 1))
    data = path.read_bytes()
    with pytest.raises(Conflict):
        nb035.undo(operation)
    assert path.read_bytes() == data


def test_a_session_that_was_deleted_meanwhile_is_a_conflict(nb035):
    operation = nb035.sessions.compact(TALK, keep=10)
    nb035.file(TALK).unlink()
    with pytest.raises(Conflict, match="gone"):
        nb035.undo(operation)


def test_a_tool_call_stays_with_its_result(nb035):
    nb035.sessions.compact("cli:direct", keep=1)
    session = nb035.sessions.get("cli:direct")
    calls = {call.id for message in session.messages for call in message.tool_calls}
    assert all(message.tool_call_id in calls for message in session.messages if message.role == "tool")


@pytest.mark.parametrize("keep", [1, 2, 5, 30])
def test_every_sample_session_survives_compaction_and_undo(sample, keep):
    for name in ("nb035", "v0_1_5", "ramfirst", "torn"):
        desk = sample(name)
        before = {info.path: (desk.paths.workspace / info.path).read_bytes() for info in desk.sessions.list()}
        for operation in reversed(desk.sessions.compact_all(keep)):
            assert len(operation.changes) > 1
            desk.undo(operation)
        assert {path: (desk.paths.workspace / path).read_bytes() for path in before} == before


def test_a_short_session_has_nothing_to_compact(nb035):
    with pytest.raises(NothingToDo):
        nb035.sessions.compact("cli:direct", keep=300)
    with pytest.raises(BadInput):
        nb035.sessions.compact("cli:direct", keep=0)
    assert nb035.sessions.compact_all(keep=300) == []
    assert not nb035.paths.data.exists()


def test_nothing_is_compacted_while_an_agent_runs_unless_a_person_insists(nb035):
    before = nb035.file(TALK).read_bytes()
    nb035.agent = RUNNING
    assert "nanobot gateway runs (process 4711)" in nb035.sessions.compact_preview(TALK, keep=10).refused
    with pytest.raises(Refused):
        nb035.sessions.compact(TALK, keep=10)
    with pytest.raises(Refused):
        nb035.sessions.compact_all(keep=10)
    assert nb035.file(TALK).read_bytes() == before
    operation = nb035.sessions.compact(TALK, keep=10, force=True)
    with pytest.raises(Refused):
        nb035.undo(operation)
    nb035.agent = Presence()
    nb035.undo(operation)
    assert nb035.file(TALK).read_bytes() == before


def test_the_layer_refuses_by_itself_when_an_agent_came_up_in_between(nb035):
    operation = nb035.sessions.compact(TALK, keep=10)
    nb035.agent = RUNNING
    with pytest.raises(Refused):
        nb035.layer.check(operation.inverse())
    with pytest.raises(Refused):
        nb035.layer.apply(operation, operation.inverse())


def test_a_turn_in_flight_is_not_voided(nb035):
    checkpoint = nb035.file(TALK).with_name(key_to_name(TALK).replace(".jsonl", ".checkpoint.json"))
    checkpoint.write_text("{}")
    assert next(info for info in nb035.sessions.list() if info.key == TALK).checkpoint
    with pytest.raises(Refused, match="checkpoint"):
        nb035.sessions.compact(TALK, keep=10)
    done = nb035.sessions.compact_all(keep=10)
    assert TALK not in {change.key for operation in done for change in operation.changes}
    assert len(nb035.sessions.get(TALK).messages) > 10
    nb035.sessions.compact(TALK, keep=10, force=True)


def test_a_change_between_plan_and_write_is_a_conflict(nb035):
    path = nb035.file(TALK)
    kept = path.read_bytes()
    operation = nb035.sessions.compact(TALK, keep=10)
    nb035.undo(operation)
    path.write_bytes(kept + said("in between"))
    with pytest.raises(Conflict):
        nb035.perform(operation)
    assert path.read_bytes() == kept + said("in between")


def test_applying_again_what_is_already_so_changes_nothing(nb035):
    operation = nb035.sessions.compact(TALK, keep=10)
    found = nb035.file(TALK).stat()
    nb035.layer.apply(operation, operation.changes)
    assert nb035.file(TALK).stat().st_mtime_ns == found.st_mtime_ns


def test_the_agents_lock_is_waited_for_and_taken_only_where_it_exists(sample):
    desk = sample("nb035")
    lock = desk.layout.sessions_dir / ".session-files.lock"
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="busy"):
            desk.sessions.compact(TALK, keep=10)
    assert len(desk.sessions.get(TALK).messages) > 10
    desk.sessions.compact(TALK, keep=10)
    with lock.open("rb") as free:
        fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)
    old = sample("ramfirst")
    old.sessions.compact("cli:direct", keep=10)
    assert not any(path.name.startswith(".") for path in old.layout.sessions_dir.iterdir())


def test_nothing_is_left_beside_the_files(nb035):
    names = sorted(os.listdir(nb035.layout.sessions_dir))
    nb035.undo(nb035.sessions.compact(TALK, keep=10))
    assert sorted(os.listdir(nb035.layout.sessions_dir)) == names


def test_provider_state_goes_when_messages_go(desk):
    state = line({"_type": "provider_state", "state": {"payload": "opaque"}})
    path = write(desk, "cli:a", metadata("cli:a"), state, *(said(number) for number in range(5)))
    operation = desk.sessions.compact("cli:a", keep=2)
    assert b"opaque" not in path.read_bytes()
    desk.undo(operation)
    assert b"opaque" in path.read_bytes()


def test_unknown_keys_and_damaged_lines_survive_compaction_and_undo(desk):
    bad = b'{"role": "user", "content": "\xff\n'
    lines = (metadata("cli:a", custom={"x": [1]}), said(0), said(1), bad, said(2, strange=1), said(3))
    path = write(desk, "cli:a", *lines)
    before = path.read_bytes()
    operation = desk.sessions.compact("cli:a", keep=2)
    after = path.read_bytes()
    assert bad in after
    assert lines[4] in after
    assert b'"custom": {"x": [1]}' in after
    desk.undo(operation)
    assert path.read_bytes() == before


def test_a_session_elsewhere_than_the_agent_looks_is_left_alone(desk):
    folder = desk.paths.workspace / "sessions"
    folder.mkdir()
    (folder / "cli_a.jsonl").write_bytes(metadata("cli:a") + said(1) + said(2))
    with pytest.raises(Refused, match="older release"):
        desk.sessions.compact("cli:a", keep=1, force=True)


@pytest.mark.parametrize("name", ["../workspace/SOUL.md", "/etc/passwd", ".hidden.jsonl", "x.json", "a/b.jsonl", ""])
def test_a_recorded_path_never_leads_out_of_the_sessions_folder(nb035, name):
    operation = nb035.sessions.compact(TALK, keep=10)
    (change,) = operation.changes
    forged = change._replace(before={**change.before, "path": name}, after={**change.after, "path": name})
    with pytest.raises(BadInput):
        nb035.layer.check([forged])
    with pytest.raises(BadInput):
        nb035.layer.apply(operation, [forged])


def test_a_session_replaced_by_a_link_is_refused(nb035, tmp_path):
    path = nb035.file(TALK)
    operation = nb035.sessions.compact(TALK, keep=10)
    target = tmp_path / "target"
    shutil.move(path, target)
    data = target.read_bytes()
    path.symlink_to(target)
    with pytest.raises(Refused):
        nb035.undo(operation)
    assert target.read_bytes() == data


def test_a_removed_file_and_a_made_one_are_changes_too(nb035):
    path = nb035.file(TALK)
    data = path.read_bytes()
    compact = nb035.sessions.compact(TALK, keep=10)
    nb035.undo(compact)
    (change,) = compact.changes
    gone = nb035.perform(new_operation("session.delete", "delete", [change._replace(after=None)]))
    assert not path.exists()
    nb035.undo(gone)
    assert path.read_bytes() == data
    with pytest.raises(Conflict, match="already"):
        nb035.layer.check([change._replace(before=None)])


def test_the_removed_messages_stay_readable_in_the_backups(nb035):
    before = nb035.file(TALK).read_bytes()
    (change,) = nb035.sessions.compact(TALK, keep=10).changes
    kept = nb035.paths.backups / change.before["blob"]
    assert kept.read_bytes() == before
    assert parse_session(kept.read_bytes(), "", TALK).messages
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
