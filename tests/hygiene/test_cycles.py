"""No module imports one that imports it back, directly or through others; late imports and types count too."""

from __future__ import annotations

import pytest

from scripts.size import cycles, imports

COMPOSED = frozenset({"memory", "dreams", "tiers", "review"})
"""What a workspace is composed of: it takes the parts it uses, or a protocol, never the workspace."""
FREE = COMPOSED | {"nanomem_tui", "workspace", "workspaces", "status"}


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return imports()


def folder_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def test_what_an_agent_remembers_is_imported_without_cycles(graph: dict[str, set[str]]) -> None:
    assert [group for group in cycles(graph) if FREE & {folder_of(module) for module in group}] == []


def test_no_part_knows_the_workspace_that_it_is_part_of(graph: dict[str, set[str]]) -> None:
    users = {module for module, others in graph.items() if "nanomem_tui.workspace" in others}
    assert {module for module in users if folder_of(module) in COMPOSED | {"status"}} == set()
