"""Who wrote a line, why, and from which words: through a workspace, as the console and the command line ask."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.agents.session_file import Message
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core.errors import BadInput, NotFound
from nanomem_tui.dreams import edits
from nanomem_tui.dreams.blame import Candidates, SessionWords
from nanomem_tui.dreams.log import EntryEvidence
from nanomem_tui.review.quarantine import Quarantine
from tests.memory.test_inbox import hold
from tests.store.git_samples import git, needs_git, sample, write

USER = "# User Profile\n\n## Identity\n- Name: Ada\n"
SESSION = "telegram:7"


@pytest.fixture
def workspace(tmp_path):
    """An agent's home: three files, an archive of one entry, and the session that it came from."""
    folder = tmp_path / "home" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / ".nanobot").mkdir()
    (folder / ".nanobot" / "workspace-id").write_text("0123456789abcdef0123456789abcdef\n")
    (folder.parent / "config.json").write_text("{}")
    write(folder, {"SOUL.md": "# Soul\n", "USER.md": USER, "memory/MEMORY.md": "# Long-term Memory\n"})
    remember(folder, "- [permanent] Allergic to penicillin\n- [ephemeral] Says hello")
    sessions = folder.parent / "sessions" / "0123456789abcdef0123456789abcdef"
    sessions.mkdir(parents=True)
    said = [
        ("user", "Good morning, how was your weekend?"),
        ("assistant", "Quiet. What can I do for you?"),
        ("user", "For the form: I am allergic to penicillin, has been so since school."),
        ("assistant", "Noted: an allergy to penicillin."),
    ]
    head = {"_type": "metadata", "key": SESSION, "created_at": "2026-04-01T10:00:00", "metadata": {}}
    rows = [
        {"role": role, "content": text, "timestamp": f"2026-04-01T10:0{n}:00"} for n, (role, text) in enumerate(said)
    ]
    lines = [json.dumps(row) + "\n" for row in [{**head, "updated_at": "2026-04-01T10:04:00"}, *rows]]
    (sessions / key_to_name(SESSION)).write_text("".join(lines))
    return folder


def remember(folder, content, cursor=1, session=SESSION):
    row = {"cursor": cursor, "timestamp": f"2026-04-01 1{cursor}:05", "content": content}
    with (folder / "memory" / "history.jsonl").open("a") as file:
        file.write(json.dumps({**row, "session_key": session} if session else row) + "\n")


def dreamt(folder):
    with open_workspace(folder) as ws:
        ws.dream.run()


class TestOurDream:
    def test_a_line_leads_to_the_entry_that_the_dream_named_and_to_what_was_said(self, workspace):
        dreamt(workspace)
        with open_workspace(workspace) as ws:
            line = next(line for line in ws.dream.blames.blame("USER.md") if "penicillin" in line.text)
            (full,) = ws.dream.blames.with_messages([line])
            assert line.sha == ws.dream.commits()[0].sha
        assert (line.who, line.cursors, line.session_key) == ("nanomem dream", (1,), SESSION)
        assert [(entry.recorded, entry.text) for entry in line.entries] == [(True, "Allergic to penicillin")]
        assert [(m.session_key, m.index, m.role) for m in full.messages] == [(SESSION, 2, "user")]

    def test_an_edit_that_a_person_took_over_has_the_evidence_of_its_dream(self, workspace):
        with open_workspace(workspace) as ws:
            ws.dream.run(review=True)
            ws.dream.review.accept([hunk.id for hunk in ws.dream.review.waiting()])
            line = next(line for line in ws.dream.blames.blame("USER.md") if "penicillin" in line.text)
            (full,) = ws.dream.blames.with_messages([line])
        assert (line.who, line.role, line.cursors, line.entries[0].recorded) == ("person", "accepted", (1,), True)
        assert [(m.session_key, m.index) for m in full.messages] == [(SESSION, 2)]

    def test_so_has_one_that_was_accepted_together_with_an_item(self, workspace):
        with open_workspace(workspace) as ws:
            hold(ws, 1)
            ws.dream.run(review=True)
            done = Quarantine(ws).accept([one.id for one in Quarantine(ws).list()]).operation
            line = next(line for line in ws.dream.blames.blame("USER.md") if "penicillin" in line.text)
        assert done.kind == "inbox.accept"
        assert (line.role, line.cursors, line.session_key) == ("accepted", (1,), SESSION)

    def test_of_two_decisions_in_the_same_words_each_has_its_own_evidence(self, workspace):
        remember(workspace, "- [durable] Lives in Berlin\n- [durable] Plays the cello", 2)
        remember(workspace, "- [durable] Owns a cat", 3)
        with open_workspace(workspace) as ws:
            ws.dream.run(review=True)
            ids = [hunk.id for hunk in ws.dream.review.waiting()]
            assert len(ids) == 4
            ws.dream.review.accept(ids[:2])
            ws.dream.review.accept(ids[2:])
            found = {line.text: line.cursors for name in ws.documents.names() for line in ws.dream.blames.blame(name)}
        words = {"penicillin": (1,), "Berlin": (2,), "cello": (2,), "cat": (3,)}
        assert {word: next(found[text] for text in found if word in text) for word in words} == words

    def test_a_message_leads_to_the_line_and_no_other_message_does(self, workspace):
        dreamt(workspace)
        with open_workspace(workspace) as ws:
            for index, expected in ((0, []), (1, []), (2, ["- Allergic to penicillin"])):
                assert [line.text for line in ws.dream.blames.led_to(SESSION, index)] == expected
            with pytest.raises(NotFound, match="no such message"):
                ws.dream.blames.led_to(SESSION, 4)
            with pytest.raises(NotFound, match="no such session"):
                ws.dream.blames.led_to("telegram:8", 0)

    def test_lines_from_before_are_of_no_dream(self, workspace):
        dreamt(workspace)
        with open_workspace(workspace) as ws:
            lines = ws.dream.blames.blame("USER.md")
        assert {(line.who, line.entries) for line in lines[:4]} == {("before", ())}

    def test_an_undo_and_a_redo_still_lead_to_the_dream(self, workspace):
        dreamt(workspace)
        with open_workspace(workspace) as ws:
            dream = ws.dream.commits()[0].sha
            ws.undo()
            assert all("penicillin" not in line.text for line in ws.dream.blames.blame("USER.md"))
            ws.redo()
            line = next(line for line in ws.dream.blames.blame("USER.md") if "penicillin" in line.text)
        assert line.sha != dream
        assert (line.who, line.first and line.first.sha, line.cursors) == ("person", dream, (1,))

    def test_an_entry_that_was_compacted_away_is_still_named(self, workspace):
        dreamt(workspace)
        (workspace / "memory" / "history.jsonl").write_text("")
        with open_workspace(workspace) as ws:
            line = next(line for line in ws.dream.blames.blame("USER.md") if "penicillin" in line.text)
            assert (line.cursors, line.session_key) == ((1,), None)
            assert ws.dream.blames.with_messages([line])[0].messages == ()


class TestWho:
    def test_a_person_another_program_and_nobody_yet(self, workspace):
        dreamt(workspace)
        with open_workspace(workspace) as ws:
            text = ws.documents.read("memory/MEMORY.md") or ""
            (workspace / "memory" / "MEMORY.md").write_text(f"{text}- from an editor\n")
            ws.documents.edit("memory/MEMORY.md", f"{text}- from an editor\n- by hand\n")
            path = workspace / "memory" / "MEMORY.md"
            path.write_text(f"{path.read_text()}- not yet\n")
            lines = {line.text: line.who for line in ws.dream.blames.blame("MEMORY.md")}
        assert lines["- from an editor"] == "outside"
        assert lines["- by hand"] == "person"
        assert lines["- not yet"] == "uncommitted"

    def test_without_versions_nothing_is_committed(self, workspace):
        with open_workspace(workspace) as ws:
            found = ws.dream.blames.blame("soul.md")
        assert [(line.number, line.text, line.sha, line.who) for line in found] == [(1, "# Soul", None, "uncommitted")]

    @pytest.mark.parametrize("name", ["AGENTS.md", "", "../USER.md", "memory", "history.jsonl", "\x1b[2J"])
    def test_only_the_three_files_are_blamed(self, workspace, name):
        with open_workspace(workspace) as ws, pytest.raises(BadInput):
            ws.dream.blames.blame(name)

    def test_a_file_that_is_not_there_is_told(self, workspace):
        (workspace / "SOUL.md").unlink()
        with open_workspace(workspace) as ws, pytest.raises(NotFound, match="no such file"):
            ws.dream.blames.blame("SOUL.md")


@needs_git
class TestTheAgentsDream:
    @pytest.fixture
    def agent(self, workspace):
        """Two Dreams of an agent: the first read entries 1 and 2, the second 3 and 4."""
        remember(workspace, "- [durable] Lives in Oslo, Norway", 2, "cli:direct")
        git(workspace, "init", "-q")
        self.commit(workspace, "init: nanobot memory store", 0)
        text = "# Long-term Memory\n- Lives in Oslo\n- Penicillin allergy\n\n## Things\n- likes chess\n"
        (workspace / "memory" / "MEMORY.md").write_text(text)
        self.commit(workspace, "dream: manual run", 2)
        remember(workspace, "- [durable] Plays chess on Fridays", 3, None)
        remember(workspace, "- [correction] Lives in Oslo since 2019", 4, "cli:direct")
        (workspace / "memory" / "MEMORY.md").write_text(text.replace("Oslo", "Oslo since 2019"))
        self.commit(workspace, "dream: periodic memory consolidation", 4)
        return workspace

    @staticmethod
    def commit(folder, message, cursor):
        (folder / "memory" / ".dream_cursor").write_text(str(cursor))
        git(folder, "add", "-f", "SOUL.md", "USER.md", "memory/MEMORY.md", "memory/.dream_cursor")
        git(folder, "commit", "-q", "-m", message)

    def test_a_line_leads_to_the_entries_between_the_cursors_that_share_its_words(self, agent):
        with open_workspace(agent) as ws:
            lines = {line.text: line for line in ws.dream.blames.blame("MEMORY.md")}
        assert lines["- Lives in Oslo since 2019"].cursors == (4,)
        assert lines["- Penicillin allergy"].cursors == (1,)
        assert lines["- Penicillin allergy"].who == "agent dream"
        assert not lines["- Penicillin allergy"].entries[0].recorded
        assert lines["- likes chess"].cursors == (), "only the later Dream read of it"
        assert lines["## Things"].cursors == lines[""].cursors == ()

    def test_after_a_compaction_what_is_gone_is_told_and_not_taken_for_never_said(self, agent):
        with open_workspace(agent) as ws:
            assert not any(line.gone for line in ws.dream.blames.blame("MEMORY.md"))
            ws.history_changes.compact(2)
            lines = {line.text: line for line in ws.dream.blames.blame("MEMORY.md")}
            allergy, oslo = lines["- Penicillin allergy"], lines["- Lives in Oslo since 2019"]
            assert (allergy.entries, allergy.gone, allergy.to_json()["gone"]) == ((), True, True)
            assert "no longer holds all entries that this Dream read" in allergy.doubt
            assert (oslo.cursors, oslo.gone, oslo.doubt) == ((4,), False, "")
            ws.undo()
            assert ws.dream.blames.blame("MEMORY.md")[2].cursors == (1,)

    def test_an_entry_without_a_session_is_looked_up_by_its_time(self, agent):
        with open_workspace(agent) as ws:
            line = next(line for line in ws.dream.blames.blame("MEMORY.md") if "Penicillin" in line.text)
            unnamed = line.entries[0]._replace(session_key=None)
            (found,) = ws.dream.blames.with_messages([line._replace(entries=(unnamed,))])
        assert [message.index for message in found.messages][:1] == [2]


@needs_git
class TestSamples:
    def test_behind_the_agents_restore_stands_the_dream_that_wrote_the_line(self, tmp_path):
        paths = sample("nb035", tmp_path)
        with open_workspace(paths.workspace) as ws:
            lines = {line.text: line for line in ws.dream.blames.blame("memory/MEMORY.md")}
        line = lines["- Backups: restic to b2:acme-backup, 7d/4w/12m"]
        assert line.writer is not None
        assert line.first is not None
        assert (line.writer.short, line.writer.who) == ("a303f8f1", "agent")
        assert (line.first.short, line.first.who) == ("49e6285a", "agent dream")
        assert line.cursors == (111,)
        assert line.session_key == "cli:direct"

    @pytest.mark.parametrize("name", ["nb035", "v0_1_5"])
    def test_a_blame_of_a_short_history_writes_nothing(self, tmp_path, name):
        paths = sample(name, tmp_path)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        with open_workspace(paths.workspace) as ws:
            for file in ws.documents.names():
                assert ws.dream.blames.with_messages(ws.dream.blames.blame(file))
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.slow
def test_a_long_history_is_blamed_again_after_a_change(workspace):
    dreamt(workspace)
    lines = ["# Long-term Memory"]
    with open_workspace(workspace) as ws:
        git_history = ws.git()
        assert git_history is not None
        for number in range(80):
            lines.insert(1 + number % len(lines), f"- fact {number}")
            git_history.commit_files({"memory/MEMORY.md": ("\n".join(lines) + "\n").encode()}, f"edit {number}")
        (workspace / "memory" / "MEMORY.md").write_text("\n".join(lines) + "\n")
        before = [line.sha for line in ws.dream.blames.blame("MEMORY.md")]
        assert len(set(before)) == 81
        ws.documents.edit("memory/MEMORY.md", f"{ws.documents.read('memory/MEMORY.md')}- one more\n")
        assert [line.sha for line in ws.dream.blames.blame("MEMORY.md")] == [*before, ws.dream.commits(1)[0].sha]


class TestWords:
    ENTRY = HistoryEntry(
        3, "2026-04-01 10:05", "- [durable] Jump host moved to 10.0.8.2\n- [durable] Likes tea", SESSION
    )

    def about(self, line):
        noise = [HistoryEntry(n, "2026-04-01 09:00", f"- talked about the weather {n}") for n in (1, 2)]
        return [found.cursor for found in Candidates([*noise, self.ENTRY]).about(line)]

    def test_a_detail_finds_its_entry_and_a_common_word_none(self):
        assert self.about("- Jump host: 10.0.8.2 (old one decommissioned)") == [3]
        assert self.about("- The host of the party was late because of a train") == []

    def test_headings_rules_and_blank_lines_have_no_reason(self):
        for line in ("", "   ", "---", "## Jump host moved to 10.0.8.2", "- **"):
            assert self.about(line) == []

    def test_nothing_said_after_the_entry_counts(self):
        entry = EntryEvidence(3, "2026-04-01 10:05", SESSION, "Jump host moved to 10.0.8.2", 1.0)
        texts = ["The jump host is 10.0.8.2 now", "The jump host is 10.0.8.2 now", "Thanks"]
        messages = [
            Message(n, "user", text, at)
            for n, (text, at) in enumerate(zip(texts, ["2026-04-01T10:00", "2026-04-01T11:00", "bad"], strict=True))
        ]
        found = SessionWords(SESSION, messages).about("- Jump host: 10.0.8.2", entry)
        assert [message.index for message in found] == [0]

    def test_what_was_said_since_the_entry_before_comes_first(self):
        entry = EntryEvidence(3, "2026-04-01 10:05", SESSION, "Likes green tea", 1.0)
        messages = [
            Message(n, "user", "I like green tea", f"2026-04-01T{hour}:00") for n, hour in enumerate(("08", "10"))
        ]
        said = SessionWords(SESSION, messages)
        assert [m.index for m in said.about("- Likes green tea", entry, "2026-04-01 09:00")] == [1]
        assert [m.index for m in said.about("- Likes green tea", entry, "2026-04-01 10:02")] == [1, 0]

    def test_hidden_messages_and_tool_results_say_nothing(self):
        entry = EntryEvidence(3, "2026-04-01 10:05", SESSION, "Likes green tea", 1.0)
        messages = [Message(0, "tool", "Likes green tea"), Message(1, "user", "Likes green tea", hidden=True)]
        assert SessionWords(SESSION, messages).about("- Likes green tea", entry) == ()
        assert edits.plain_line("  - [durable] Likes tea ") == "Likes tea"


@pytest.mark.slow
def test_every_line_of_a_large_dream_has_the_evidence_that_it_recorded(workspace):
    for number in range(2, 232):
        remember(workspace, f"- [permanent] Shelf {number} holds the tools", number)
    with open_workspace(workspace) as ws:
        ws.dream.run(max_batch_size=300, max_iterations=300)
        lines = [line for line in ws.dream.blames.blame("memory/MEMORY.md") if "Shelf" in line.text]
    assert len(lines) == 230
    assert [
        line.text for line in lines if line.guessed or line.text != f"- Shelf {line.cursors[0]} holds the tools"
    ] == []
