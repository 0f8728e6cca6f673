"""Folders to import: what lies in them is found and told, and so is what is not taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import BadInput
from nanomem_tui.memory.transfer import markdown
from nanomem_tui.memory.transfer.values import ImportPlan
from tests.store.homes import make_home


@pytest.fixture
def preview(tmp_path: Path, samples: Path) -> Callable[[str], ImportPlan]:
    """`preview("crystal/home")`: what an import of that folder of the samples would do."""

    def plan(folder: str) -> ImportPlan:
        with open_workspace(make_home(tmp_path, items=0)) as ws:
            return ws.transfer.preview(samples / folder)

    return plan


@pytest.mark.parametrize("folder", ["crystal", "crystal/home", "crystal/home/.nanobot"])
def test_the_database_of_a_home_without_a_workspace_is_found(preview: Callable[[str], ImportPlan], folder: str) -> None:
    plan = preview(folder)
    assert (plan.format, plan.counts["new"]) == ("facts-db", 91)
    told = " ".join(plan.notes)
    assert "memory.db." in told
    assert "360 conversation messages, 45 journal entries, 20 reflections stay in memory.db: not imported yet" in told


@pytest.mark.parametrize("folder", ["nb035", "nb035/home", "nb035/home/.nanobot/workspace"])
def test_the_files_of_an_agent_are_found_and_what_stays_is_told(
    preview: Callable[[str], ImportPlan], folder: str
) -> None:
    plan = preview(folder)
    assert plan.format == "markdown"
    assert any("小满" in entry.to_json()["text"] for entry in plan.entries)
    found, stays = plan.notes
    assert found.endswith("USER.md, home/.nanobot/workspace/memory/MEMORY.md.") or folder != "nb035"
    assert "Not imported: SOUL.md, AGENTS.md, history.jsonl, 39 sessions" in stays


def test_markdown_is_left_where_another_file_holds_the_same(preview: Callable[[str], ImportPlan]) -> None:
    assert preview("ramfirst").format == "ltm-snapshot and lessons"


def test_a_folder_with_nothing_says_so(tmp_path: Path, preview: Callable[[str], ImportPlan]) -> None:
    (tmp_path / "letters").mkdir()
    with open_workspace(make_home(tmp_path, items=0)) as ws, pytest.raises(BadInput, match="no memories of a known"):
        ws.transfer.preview(tmp_path / "letters")


def test_what_nobody_filled_in_is_no_memory() -> None:
    text = (
        "# User Profile\n\nInformation about the user to help personalize interactions.\n\n- **Name**: (your name)\n"
        "- **Role**: cook (in Rome)\n- [ ] Beginner\n- [x] Expert\n- [ ] call Ana\n"
    )
    assert [piece.text for piece in markdown.pieces(text, "USER.md")[0]] == [
        "**Role**: cook (in Rome)", "Expert", "call Ana"
    ]  # fmt: skip
