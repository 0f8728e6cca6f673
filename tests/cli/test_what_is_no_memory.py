"""What stands in Markdown and is no memory: front matter, comments, what is struck out, headings, placeholders, and
conversations."""

import pytest

TEXTS = {
    "front matter": "---\ntags:\n- home\n- family\ncreated: 2026-03-01\n---\nAna lives in Porto.\n",
    "front matter of TOML": '+++\ntitle = "Home"\n[extra]\ntags = ["a", "b"]\n+++\nAna lives in Porto.\n',
    "comment": "<!-- Bob lives in Rome -->\nAna lives in Porto. <!-- checked\ntwice -->\n",
    "comment of Obsidian": "%% Bob lives in Rome %%\n[//]: # (Bob lives in Rome)\n- Ana lives in Porto.\n",
    "struck out": "- ~~Bob lives in Rome~~\n- <del>Bob</del>\n- ~~Eve and~~ Ana lives in Porto.\n",
    "tags": "<div align='center'>\n<br/>\n\n- Ana lives in Porto.\n</div>\n",
    "underlined heading": "Where people live\n=================\n\nCities\n------\n- Ana lives in Porto.\n",
    "bold heading": "**Where people live**\n- Ana lives in Porto.\n",
    "rulers": "***\nAna lives in Porto.\n\n---\n___\n",
    "heading of a table": "| Who | Where |\n|:----|------:|\n| Ana lives in Porto. |\n",
    "heading of a bare table": "Who | Where\n--- | ---\nAna lives in Porto. |\n",
    "heading of an indented table": "  | Who | Where |\n  |---|---|\n  | Ana lives in Porto. |\n",
    "placeholders": "- TBD\n- (empty)\n- …\n- ...\n- n/a\n- _none yet_\n- TODO\n- ???\n\nAna lives in Porto.\n",
    "names without values": "- **Name:**\n- Phone: TBD\n- Pronouns: _(optional)_\n- City: (your city)\n- Car: …\n"
    "- Ana lives in Porto.\n",
    "template": "{{name}}\n\n<your name>\n\n[Add your notes here]\n\nLorem ipsum dolor\n\nAna lives in Porto.\n",
    "announcements": "- Next actions:\n- **March 4 timeline:**\n- Ana lives in Porto.\n",
}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace without a memory."""
    folder = tmp_path / "empty"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Soul\n")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(folder))
    return folder


@pytest.mark.parametrize("what", TEXTS)
def test_only_the_memory_is_imported(run, workspace, tmp_path, what):
    note = tmp_path / "note.md"
    note.write_text(TEXTS[what])
    run("memory", "import", note, "--yes")
    assert [one["text"].strip(" |") for one in run("memory", "list", "--json").json] == ["Ana lives in Porto."]


def test_what_only_looks_like_that_stays(run, workspace, tmp_path):
    lines = [
        "---", "A rule above is no front matter.", "", "---", "", "- Allergies: none",
        "- Todo app: it is called Things", "- Uses ~ for home and ~/bin", "- User: root", "- The wiki is at <https://example.org>",
        "- [10:30] the server was replaced", "- Price: (5 euro a month)", "", "Our cat is called Mio.", "---",
    ]  # fmt: skip
    note = tmp_path / "note.md"
    note.write_text("\n".join(lines) + "\n")
    run("memory", "import", note, "--yes")
    assert {one["text"] for one in run("memory", "list", "--json").json} == {
        "A rule above is no front matter.", "Allergies: none", "Todo app: it is called Things", "User: root",
        "Uses ~ for home and ~/bin", "The wiki is at <https://example.org>", "[10:30] the server was replaced",
        "Price: (5 euro a month)", "Our cat is called Mio.",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["Lives in Porto\nPrefers the window seat\n", "Lives in Porto\r\n\r\n* Prefers the window seat"]
)
def test_each_line_of_plain_text_is_a_memory(run, workspace, tmp_path, text):
    file = tmp_path / "m.txt"
    file.write_bytes(text.encode())
    assert run("memory", "import", file, "--yes").code == 0
    texts = {one["text"] for one in run("memory", "list", "--json").json}
    assert texts == {"Lives in Porto", "Prefers the window seat"}


TALKS = {
    "2026-02-20-model-test.md": "# Session: 2026-02-20 21:31:08 UTC\n\n- **Session Key**: agent:main:main\n"
    "- **Source**: telegram\n\n## Conversation Summary\n\nassistant: Done.\nuser: thanks\n\n## Result\n- I like tea\n",
    "roles.md": "user: I live in Rome\nassistant: Noted.\n\nMore of it.\n",
    "bold.md": "**User:** I live in Rome\n\n**Assistant:** Noted.\n",
    "heads.md": "### User\nI live in Rome\n\n### Assistant\nNoted.\n",
    "stamps.md": "[10:01] Eve: I live in Rome\n[10:02] Bob: me too\nand Ana\n",
    "dated.md": "2026-02-20 21:31 Eve: I live in Rome\n2026-02-20 21:32 Bob: me too\n",
    "nicks.md": "[10:01] <eve> I live in Rome\n[10:02] <bob> me too\n",
}


@pytest.mark.parametrize("name", TALKS)
def test_a_conversation_in_a_note_becomes_no_memory(run, workspace, name):
    (workspace / "memory").mkdir(exist_ok=True)
    (workspace / "memory" / name).write_text(TALKS[name])
    (workspace / "memory" / "2026-02-21.md").write_text(
        "# 2026-02-21\n- Bought a bike\n## Chat\nuser: I live in Rome\nassistant: ok\n## Rent\n- The rent is 900 euro\n"
    )
    assert "a conversation is left out" in run("memory", "backfill", "--dry-run").out
    assert run("memory", "backfill", "--yes").code == 0
    assert {one["text"] for one in run("memory", "list", "--json").json} == {"Bought a bike", "The rent is 900 euro"}


@pytest.mark.parametrize("name", ["2026-02-21.md", "2026-02-21-bike.md", "2026-02-21_a b.md"])
@pytest.mark.parametrize("way", ["backfill", "import"])
def test_a_daily_note_is_dated_by_its_name(run, workspace, name, way):
    note = workspace / "memory" / name
    note.parent.mkdir(exist_ok=True)
    note.write_text("# Note\n- Bought a bike\n")
    assert run("memory", *(["backfill"] if way == "backfill" else ["import", note]), "--yes").code == 0
    [item] = run("memory", "list", "--json").json
    assert (item["text"], item["created_at"][:10]) == ("Bought a bike", "2026-02-21")


def test_a_name_that_is_no_day_dates_nothing(run, workspace):
    note = workspace / "memory" / "2026-13-41-bike.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("- Bought a bike\n")
    run("memory", "backfill", "--yes")
    [item] = run("memory", "list", "--json").json
    assert not item["created_at"].startswith("2026-13")


def test_what_a_backfill_took_from_a_document_is_no_finding_about_that_document(run, workspace):
    (workspace / "memory").mkdir(exist_ok=True)
    line = "Ana keeps the spare keys in the blue drawer"
    (workspace / "memory" / "MEMORY.md").write_text(f"# Memory\n\n- {line}\n- The NAS is at 10.0.0.5 in the cellar\n")
    (workspace / "USER.md").write_text(f"# User\n\n- {line}\n")
    run("memory", "backfill", "--yes")
    assert [one for one in run("triage", "list", "--json").json if one["kind"] == "restated"] == []
    run("memory", "import", workspace / "USER.md", "--yes")
    assert [one for one in run("triage", "list", "--json").json if one["kind"] == "restated"] == []
    run("memory", "add", "--text", "In the cellar is the NAS, at 10.0.0.5")
    [finding] = [one for one in run("triage", "list", "--json").json if one["kind"] == "restated"]
    assert "memory/MEMORY.md, line 4" in finding["why"]


@pytest.mark.parametrize("screen", ["recall", "context"])
def test_the_filter_of_a_picture_of_recall_is_the_message(run, workspace, screen):
    run("memory", "add", "--text", "The NAS is at 10.0.0.5 in the cellar")
    run("memory", "add", "--text", "Ana likes green tea")
    shown = run("--snapshot", screen, "--size", "120x30", "--filter", "where is the NAS")
    assert "where is the NAS" in shown.out
    assert "The NAS is at 10.0.0.5 in the cellar" in shown.out
