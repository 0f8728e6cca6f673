"""Questions whose right section is known, over the man pages of 200 commands."""

import pytest

from nanomem_tui.core import config, paths
from nanomem_tui.workspace import Workspace
from tests.tiers.man_pages import answers, manuals, questions

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ws(tmp_path_factory):
    found = manuals()
    if found is None:
        pytest.skip("not all of the 200 man pages are here: make manuals")
    place = tmp_path_factory.mktemp("manuals")
    located = paths.find_workspace(place, starting=True)
    with Workspace(located, config.load(located)) as opened:
        opened.knowledge.add(found)
        yield opened


@pytest.mark.parametrize(("name", "least"), [("keywords", 45), ("questions", 40)])
def test_the_right_section_is_among_the_first_three(ws, name, least):
    missed = [
        one["question"]
        for one in questions(name)
        if not any(answers(one, hit) for hit in ws.knowledge.search(one["question"], 3))
    ]
    assert len(missed) <= 50 - least, missed


def test_every_labelled_section_is_one_of_its_page(ws):
    pages = {one.title: one.id for one in ws.knowledge.documents(own=False)}
    assert len(pages) == 200
    for one in (*questions("keywords"), *questions("questions")):
        sections = {chunk.section for title in one["answers"] for _, chunk in ws.knowledge.chunks(pages[title])}
        named = [section for known in one["answers"].values() for section in known]
        assert any(section == name or section.startswith(f"{name} > ") for name in named for section in sections), one
