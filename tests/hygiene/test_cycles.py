"""No module imports one that imports it back, directly or through others; late imports and types count too."""

import pytest

from scripts.size import cycles, imports

COMPOSED = frozenset({"memory", "dreams", "tiers", "review", "status"})
"""What a workspace is composed of: it takes the parts that it uses, or a protocol, never the workspace."""


@pytest.fixture(scope="module")
def graph():
    return imports()


def folder_of(module):
    return module.split(".")[1] if "." in module else module


@pytest.mark.slow
def test_nothing_is_imported_in_a_circle(graph):
    assert cycles(graph) == []


def test_a_circle_would_be_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.slow
def test_no_part_knows_the_workspace_that_it_is_part_of(graph):
    users = {module for module, others in graph.items() if "nanomem_tui.workspace" in others}
    assert {module for module in users if folder_of(module) in COMPOSED} == set()
