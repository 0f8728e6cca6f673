"""`nanomem scrub`: every layer that holds a secret is named, the value never; --mask leaves none and breaks nothing."""

import json
from collections import Counter
from collections.abc import Callable

import pytest

from nanomem_tui.purge.matchers import Secrets
from nanomem_tui.purge.texts import in_value
from tests.cli.conftest import Result
from tests.conftest import ON_POSTGRES
from tests.purge import planted

pytestmark = pytest.mark.slow

Run = Callable[..., Result]
DATABASE = ", " if ON_POSTGRES else "nanomem.db, "
"""What stands in front of a table: of a server its name, which holds a folder of the test."""
BESIDE = ("copies/", "operations.jsonl")
"""What lies beside a database in a file."""
SECRET = "sk-proj-" + "Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8"


@pytest.fixture
def workspace(home, run):
    found = home("nb035")
    planted.plant(found, run, f"the key is {SECRET}")
    return found


def test_each_layer_is_named_and_the_value_never(workspace, run):
    run("backup", "make")
    before = planted.holding(workspace.parent, SECRET)
    result = run("scrub")
    assert (result.code, result.err) == (1, "")
    assert SECRET not in result.out
    for where in (
        *(f"{DATABASE}{table}" for table in ("memory_entries", "lessons", "records", "operations")),
        "memory/MEMORY.md", "memory/history.jsonl", "memory/2026-02-15.md", "sessions/", ".git", ".nanomem-backup",
        "happening", *(() if ON_POSTGRES else BESIDE),  # a server keeps its own copies
    ):  # fmt: skip
        assert where in result.out, where
    assert planted.holding(workspace.parent, SECRET) == before
    assert SECRET not in run("scrub", "--json").out


@pytest.mark.slow
def test_masked_nothing_of_it_is_left_and_all_can_be_read(workspace, run):
    run("backup", "make")
    items = len(run("memory", "list", "--json").json)
    assert run("scrub", "--mask", "--backups", "--yes").code == 1  # git
    assert planted.outside_git(workspace.parent, SECRET) == []
    planted.without_history(workspace)
    assert run("scrub").code == 0
    assert run("doctor").code == 0
    listed = run("memory", "list", "--json").json
    assert len(listed) == items
    (masked,) = [one["text"] for one in listed if "Remember: the key is [" in one["text"]]
    assert " #" in masked
    for path in (workspace.parent / "sessions").rglob("*.jsonl"):
        for line in path.read_text().split("\n")[:-1]:
            assert isinstance(json.loads(line), dict)


def test_of_git_it_says_what_is_left(workspace, run):
    result = run("scrub", "--mask", "--yes")
    assert result.code == 1
    assert "Left: .git" in result.out
    assert all(".git/" in where for where in planted.holding(workspace.parent, SECRET))


@pytest.mark.slow
def test_what_stands_in_quotation_marks_is_masked_once(workspace, run):
    notes = workspace / "memory" / "MEMORY.md"
    planted.without_history(workspace)
    notes.write_text('- password: "Xy7fQ2mLk90pqrs"\n- {"db": {"password": "Zt5gR1nKj80wvu"}}\n', encoding="utf-8")
    assert "came back" not in run("scrub", "--mask", "--backups", "--yes").out
    once = notes.read_bytes()
    assert run("scrub").code == 0
    assert run("scrub", "--mask", "--backups", "--yes").code == 0
    assert notes.read_bytes() == once


def test_a_clean_memory_is_said_to_be_clean(home, run):
    for name in ("nb035", "ramfirst", "v0_1_5", "torn"):
        workspace = home(name)
        before = {path: path.read_bytes() for path in workspace.parent.rglob("*") if path.is_file()}
        result = run("scrub")
        assert (result.code, result.out) == (0, "No secret was found.\n"), name
        assert {path: path.read_bytes() for path in workspace.parent.rglob("*") if path.is_file()} == before


def test_a_file_that_cannot_be_read_is_told_and_stops_no_other(workspace, run):
    run("backup", "make")
    (archive,) = (workspace.parent / "nanomem-backups").glob("*.nanomem-backup")
    archive.write_bytes(archive.read_bytes()[:-20_000])
    result = run("scrub")
    assert result.code == 1
    assert f"Could not be looked through: {archive.name}" in result.out
    assert "memory/MEMORY.md" in result.out


@pytest.mark.slow
def test_options_of_the_change_need_the_change(workspace, run):
    for option in ("--yes", "--dry-run", "--backups"):
        assert run("scrub", option).code == 2
    assert "Would mask" in run("scrub", "--mask", "--dry-run").out
    assert run("scrub", "--mask", "--dry-run").code == 0


def test_a_preview_of_the_mask_says_what_would_be_done(workspace, run):
    told = run("scrub", "--mask", "--dry-run").out
    assert f"{DATABASE}memory_entries" in told.partition("Would be masked: ")[2].splitlines()[0]
    assert "Would stay: .git" in told
    (total,) = (line for line in told.splitlines() if line.startswith("Would mask"))
    assert "would stay" in total
    assert "Would" not in run("scrub").out


@pytest.mark.slow
def test_that_no_backup_is_left_is_said_before_and_after(workspace, run):
    run("backup", "make")
    told = run("scrub", "--mask", "--backups", "--dry-run").out
    assert "Would remove 1 backup, and those that build on them; none would be left." in told
    done = run("scrub", "--mask", "--backups", "--yes")
    assert "No backup is left: `nanomem backup make` makes one." in done.out
    assert run("backup", "list", "--json").json == []
    assert "No backup is left" not in run("scrub", "--mask", "--backups", "--yes").out


@pytest.mark.slow
def test_the_value_of_a_fact_is_a_secret_where_its_key_says_so(workspace, run, tmp_path):
    values = {"password": "Zebra-91-tulip", "api_key": "0123456789abcdef0123456789abcdef01234567"}
    for key, value in values.items():
        for one in (value, f"{value}7", value):
            assert run("facts", "set", "--category", "accounts", "--key", key, "--value", one).code == 0
        assert value in _exported(run, tmp_path)
    assert run("scrub", "--mask", "--yes").code in (0, 1)
    for value in values.values():
        assert planted.outside_git(workspace.parent, value) == []
        assert value not in _exported(run, tmp_path)
    assert "memory_entries" not in run("scrub").out
    assert run("doctor").code == 0


def _exported(run, folder):
    """The rows as they are kept, in a file or on a server."""
    target = folder / "rows.jsonl"
    assert run("memory", "export", "--format", "jsonl", "--force", "--to", str(target)).code == 0
    return target.read_text("utf-8")


def test_the_value_of_a_fact_is_found_beside_its_key_alone():
    fact = {"fact": {"category": "accounts", "key": "password", "value": "Zebra-91-tulip"}}
    assert "Zebra" not in json.dumps(in_value(fact, Secrets(), Counter()))
    had = {"value": "Zebra-91-tulip", "since": "2026-01-02"}
    before = {"key": "password", "value": "[password]", "said": had, "earlier": [had, {"value": "Tulip-19-x"}]}
    left = json.dumps(in_value({"fact": before}, Secrets(), Counter()))
    assert "Zebra" not in left
    assert "Tulip" not in left
    plain = {"fact": {"category": "pets", "key": "name", "value": "Zebra-91-tulip", "earlier": [had]}}
    assert in_value(plain, Secrets(), Counter()) is plain


@pytest.mark.slow
def test_a_mask_takes_out_what_its_preview_says(workspace, run):
    run("memory", "add", "--text", "my key is sk-proj-Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8")
    would = [line for line in run("scrub", "--mask", "--dry-run").out.splitlines() if line.startswith("Would mask ")]
    did = [line for line in run("scrub", "--mask", "--yes").out.splitlines() if line.startswith("Masked secrets: ")]
    assert did[0].removeprefix("Masked secrets: ").split(";")[0] == would[0].removeprefix("Would mask ").split(";")[0]


PASSWORD, LONGER = "Zebra-4471-Quartz", "Zebra-4471-QuartzMine"


@pytest.mark.slow
def test_a_password_that_one_place_tells_is_found_where_it_stands_alone(home, run):
    workspace = home("nb035")
    assert run("memory", "add", "--text", f"The printer wants {PASSWORD} too").code == 0
    with (workspace / "USER.md").open("a") as file:
        file.write(f"- {PASSWORD}\n- {LONGER}\n")
    assert run("scrub").code == 0, "nothing tells what it is"
    with (workspace / "memory" / "MEMORY.md").open("a") as file:
        file.write(f"- the wifi password is {PASSWORD}\n")
    told = run("scrub")
    assert [place in told.out for place in ("memory_entries", "USER.md", "MEMORY.md")] == [True] * 3
    assert PASSWORD not in told.out
    run("scrub", "--mask", "--yes")
    assert PASSWORD not in (workspace / "USER.md").read_text().replace(LONGER, "")
    assert LONGER in (workspace / "USER.md").read_text()
    assert [path for path in planted.holding(workspace.parent, PASSWORD) if "USER.md" not in path] == []
    assert run("scrub").code == 0
    assert run("doctor").code == 0


@pytest.mark.parametrize("value", ["summertime", "b320cfc38283ad9d0550a89f257ad3d8", "2026-01-02T10:00Z", "telegram"])
def test_a_word_or_an_id_is_no_secret_everywhere(value):
    sought = Secrets()
    in_value({"text": f"my password is {value}"}, sought, Counter())
    again = sought.everywhere() or sought
    assert in_value(f"see {value} here", again, Counter()) == f"see {value} here"
