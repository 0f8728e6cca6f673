"""Every install command that a user is shown works from a clone, and is composed in one place."""

import re
import sys
import tomllib
from importlib import import_module

import pytest

from nanomem_tui.core.errors import NAME, PACKAGE, extra_command, library_command
from tests.hygiene.repository import ROOT, modules, name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COMPOSED = "nanomem_tui/core/errors.py"
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs" / "nanomem.1",
    ROOT / "CONTRIBUTING.md",
]
_INSTALL = re.compile(r"(?:pipx?|uv tool) (?:install|inject)\b[^\n`#]*")
_EXTRAS = re.compile(r"\[([a-z]+(?:,[a-z]+)*)\]")


def extras_in(text):
    return {extra for found in _EXTRAS.findall(text) for extra in found.split(",")}


def used_extras():
    """The extras that the code asks for."""
    asked = re.compile(r"extra_command\(['\"]([a-z,]+)['\"]\)")
    texts = [path.read_text("utf-8") for path in modules("nanomem_tui", "benchmarks")]
    return {extra for text in texts for found in asked.findall(text) for extra in found.split(",")}


@pytest.mark.slow
def test_every_hint_is_composed_in_one_place():
    loose = [
        f"{name(path)}: {line.strip()}"
        for path in modules("nanomem_tui", "benchmarks")
        for line in path.read_text("utf-8").splitlines()
        if name(path) not in {COMPOSED, "nanomem_tui/demo.py"} and (_INSTALL.search(line) or f"{NAME}[" in line)
    ]
    assert loose == []


def test_every_extra_that_is_asked_for_exists():
    assert {"vector", "chroma", "llm", "grpc", "mcp", "web", "postgres", "png", "system"} <= used_extras()
    assert used_extras() <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("extra", sorted(used_extras()))
def test_a_hint_names_a_command_that_works_in_a_clone(extra):
    hint = extra_command(extra)
    command = re.search(r"pip install '(?P<what>[^'\[]+)\[(?P<extras>[^\]]+)\]'$", hint)
    assert command is not None, hint
    assert command["what"] == PACKAGE == "."
    assert "in a clone of nanomem: " in hint
    assert set(command["extras"].split(",")) <= PROJECT["optional-dependencies"].keys()
    assert (ROOT / command["what"] / "pyproject.toml").is_file(), "what the command installs in a clone"


@pytest.mark.parametrize(
    ("prefix", "extra", "library"),
    [
        ("/home/ana/.local/share/pipx/venvs/nanomem-tui", "pipx install --force '.[mcp]'", "pipx inject nanomem-tui x"),
        ("/home/ana/.local/share/uv/tools/nanomem-tui", "uv tool install --force '.[mcp]'", "pip install x"),
        ("/home/ana/nanomem/.venv", "pip install '.[mcp]'", "pip install x"),
    ],
)
def test_a_hint_is_for_the_program_that_made_the_environment(prefix, extra, library, monkeypatch):
    monkeypatch.setattr(sys, "prefix", prefix)
    assert extra_command("mcp") == f"in a clone of nanomem: {extra}"
    assert library_command("x") == library


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_names_no_install_from_an_index_and_no_extra_that_is_not_there(page):
    for command in _INSTALL.findall(page.read_text("utf-8")):
        assert NAME not in command, command
        assert extras_in(command) <= PROJECT["optional-dependencies"].keys(), command


def test_the_readme_says_that_it_is_installed_from_a_clone():
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert "not on a package index yet: install it from a clone" in text
    for command in ("pipx install .", "uv tool install .", "pip install ."):
        assert command in text
    assert used_extras() <= extras_in(text) | set(re.findall(r"`([a-z]+)`", text))


def test_an_error_of_a_missing_part_ends_with_the_command(monkeypatch):
    from nanomem_tui.core.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    for extra in ("web", "mcp"):
        with pytest.raises(MissingExtra) as raised:
            getattr(import_module(f"nanomem_tui.servers.{extra}"), f"require_{extra}")()
        assert raised.value.line().endswith(f". Fix: in a clone of nanomem: pip install '.[{extra}]'")
