"""Homes of agents that are not read yet are called what they are; what is wrong is counted and named the same way."""

import json

import pytest


def written(folder, texts):
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def hermes(tmp_path):
    said = [{"role": "session_meta", "tools": []}, {"role": "user", "content": "hello"}]
    return written(
        tmp_path / "hermes",
        {
            "SOUL.md": "# Soul\n",
            "memories/MEMORY.md": "The gateway runs in Docker.\n§\nThe team chat\nneeds a mention.",
            "memories/USER.md": "Speaks French.\n§\nIs called Rob.",
            "sessions/20260402_235037_df7ef62b.jsonl": "".join(json.dumps(line) + "\n" for line in said),
            "state.db": "",
        },
    )


@pytest.fixture
def openclaw(tmp_path):
    files = {
        "openclaw.json": "{}",
        "workspace/SOUL.md": "# Soul\n",
        "workspace/IDENTITY.md": "A name.\n",
        "workspace/MEMORY.md": "- Sits by the window\n",
        "workspace/DREAMS.md": "A diary.\n",
        "workspace/memory/2026-11-24.md": "- Called the bank\n",
        "workspace/memory/dreaming/light/2026-11-24.md": "A report.\n",
    }
    return written(tmp_path / "claw", files) / "workspace"


def test_a_home_of_hermes_is_called_that(hermes, run):
    at = ("--workspace", hermes)
    status = run("memory", "status", *at).out
    assert "Agent       Hermes, not running" in status
    assert "a Hermes home: its MEMORY.md is not read yet" in status
    told = run("doctor", *at)
    assert told.out.splitlines()[0].startswith(
        "note     memories/MEMORY.md: a Hermes home: its MEMORY.md is not read yet"
    )
    assert "the agent loads this session" not in told.out, "nobody knows what Hermes lists"
    assert run("session", "rescue", *at).out == "The agent finds every session.\n"


def test_a_home_of_openclaw_is_called_that(openclaw, run):
    for folder in (openclaw, openclaw.parent):
        found = run("memory", "status", "--json", "--workspace", folder).json
        assert found["release"] == "OpenClaw"
        assert [one["what"] for one in found["problems"]] == ["an OpenClaw home: its MEMORY.md is not read yet"]
    assert "an OpenClaw home" in run("doctor", "--workspace", openclaw).out


@pytest.mark.parametrize(
    "files",
    [
        {"MEMORY.md": "- a note\n", "memory/2026-01-02.md": "- a day\n"},
        {"SOUL.md": "x", "IDENTITY.md": "x", "memory/MEMORY.md": "- of nanobot\n"},
        {"memories.md": "x", "AGENTS.md": "x", "memory/history.jsonl": ""},
    ],
    ids=["a folder of notes", "nanobot with an identity", "a project"],
)
def test_other_folders_are_not_taken_for_one(tmp_path, run, files):
    found = run("memory", "status", "--json", "--workspace", written(tmp_path / "w", files)).json
    assert found["release"] not in ("Hermes", "OpenClaw")


def test_what_hermes_remembers_is_imported_entry_by_entry(hermes, tmp_path, run):
    mine = written(tmp_path / "mine", {"memory/MEMORY.md": "# Memory\n"})
    for folder in (hermes, hermes / "memories"):
        plan = run("memory", "import", folder, "--dry-run", "--workspace", mine).out
        assert "MEMORY.md" in plan.splitlines()[1]
        assert "USER.md" in plan.splitlines()[1]
        for text in (
            "The gateway runs in Docker.",
            "Speaks French.",
            "Is called Rob.",
        ):
            assert f"new  {text}" in plan
    assert "state.db" in run("memory", "import", hermes, "--dry-run", "--workspace", mine).out


def test_every_file_of_another_agent_is_taken_or_listed(openclaw, tmp_path, run):
    mine = written(tmp_path / "mine", {"memory/MEMORY.md": "# Memory\n"})
    (openclaw / "tool.bin").write_bytes(b"\0")
    plan = run("memory", "import", openclaw, "--dry-run", "--workspace", mine).out
    for path in openclaw.rglob("*"):
        assert path.is_dir() or path.relative_to(openclaw).as_posix() in plan, path
    assert "Found in workspace: MEMORY.md, memory/2026-11-24.md." in plan


# -- what is wrong


def test_the_status_counts_what_is_wrong_and_names_the_first_five(tmp_path, run):
    lines = ['{"cursor": 1, "timestamp": "2026-01-02 03:04", "content": "good"}', *["broken"] * 7]
    where = written(tmp_path / "w", {"memory/history.jsonl": "\n".join(lines) + "\n"})
    told = run("memory", "status", "--workspace", where).out.splitlines()
    at = told.index("7 problems:")
    assert [line.split(": ")[0] for line in told[at + 1 : at + 6]] == [
        f"  memory/history.jsonl:{n}" for n in range(2, 7)
    ]
    assert told[at + 6 :] == ["  and 2 more: nanomem doctor"]
    found = run("memory", "status", "--json", "--workspace", where).json
    assert (found["problem_count"], [one["line"] for one in found["problems"]][:5]) == (7, [2, 3, 4, 5, 6])
    (where / "memory" / "history.jsonl").write_text(lines[0] + "\n")
    assert run("memory", "status", "--json", "--workspace", where).json["problem_count"] == 0


@pytest.mark.parametrize("files", [
    {"memory/MEMORY.md": "x", "sessions/cli_direct.jsonl": '{"role": "user", "content": "hi"}\n'},
    {".nanobot/workspace-id": "0" * 32, "sessions/Y2xpOmRpcmVjdA.jsonl": '{"role": "user", "content": "hi"}\n'},
], ids=["old names", "new names"])  # fmt: skip
def test_doctor_never_sends_to_a_rescue_that_has_nothing_to_do(tmp_path, run, files):
    """A transcript without its metadata line, and one in a folder where the agent does not look."""
    where = written(tmp_path / "home" / "workspace", files)
    written(
        where.parent, {"config.json": "{}", "sessions/telegram_1.jsonl": '{"_type": "metadata", "key": "telegram:1"}\n'}
    )
    told, rescued = run("doctor", "--workspace", where), run("session", "rescue", "--dry-run", "--workspace", where)
    sent = "`nanomem session rescue` brings it back" in told.out
    assert sent is ("Would bring back" in rescued.out)
    if "does not find session" in told.out or "does not list" in told.out:
        assert "The agent finds every session" not in rescued.out


@pytest.mark.parametrize("home", ["hermes", "openclaw"])
def test_find_says_which_memory_it_could_not_look_into(home, request, run):
    at = ("--workspace", request.getfixturevalue(home))
    found = run("find", "kayak", *at)
    assert (found.code, "Nothing found in what could be read." in found.out) == (1, True)
    assert "MEMORY.md is not read yet" in found.err
    assert json.loads(run("find", "kayak", "--json", *at).out)["left_out"].endswith("MEMORY.md")
