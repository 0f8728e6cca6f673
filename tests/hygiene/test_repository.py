"""What a reader of the repository may rely on: documented modules of a readable size, nothing of any one machine."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.hygiene.repository import PACKAGE, ROOT, files, modules, name

MACHINE = re.compile(rb"(?<![\w.~-])/(?:work|root|tmp/bash|opt/(?:wheels|pypi)|usr/local/lib/python)[/_]")
REGISTRY = re.compile(
    rb"index-url\s*[=:]|extra-index|find-links\s*[=:]|://[^\s\"'`)]*/simple\b|pypi\.[a-z]+/(?!project/)"
)
LATER = re.compile(rb"\b(?:TODO|FIXME|XXX)\b")


def test_there_is_something_to_look_at():
    assert len(modules("nanomem_tui")) > 20


@pytest.mark.slow
def test_every_module_says_what_it_is():
    programs = modules("nanomem_tui", "benchmarks", "scripts")
    assert [name(path) for path in programs if not ast.get_docstring(ast.parse(path.read_bytes()))] == []


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [MACHINE, REGISTRY], ids=["paths", "registries"])
def test_nothing_of_one_machine_is_recorded(pattern):
    found = {
        name(path): [match.group().decode() for match in pattern.finditer(path.read_bytes())]
        for path in files()
        if path.name != Path(__file__).name
    }
    assert {path: hits for path, hits in found.items() if hits} == {}


def test_nothing_is_left_for_later():
    assert [name(path) for path in modules("nanomem_tui") if LATER.search(path.read_bytes())] == []


LISTS = ["constraints.txt", *(name(path) for path in sorted((ROOT / "scripts/peers").glob("*.txt")))]


@pytest.mark.parametrize("listed", LISTS)
def test_constraints_are_names_and_versions_only(listed):
    lines = [line for line in (ROOT / listed).read_text().splitlines() if line and not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9.\[\]-]+==[\w.!+]+( ; [^:/@]+)?", line)] == []


def test_constraints_know_every_package_that_is_asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[\[<>=!~ ;]", line)[0].lower().replace("_", "-") for line in asked}
    known = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert names - known == set()


@pytest.mark.slow
def test_every_core_dependency_is_used():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[\[<>=!~ ;]", line)[0].replace("-", "_") for line in project["dependencies"]}
    used = set()
    for path in modules("nanomem_tui"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                used.add(node.module.split(".")[0])
    assert wanted - used == set()


@pytest.mark.slow
def test_the_generated_pages_are_fresh():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs.py", "--check"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_link_of_a_page_leads_to_a_file():
    lost = [
        f"{name(page)}: {link}"
        for page in files()
        if page.suffix == ".md"
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert lost == []


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
