"""A person clears a labelled memory of some five hundred items of junk by keys alone, in the real program, and takes it
all back."""

import random
import re
import time

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.review.findings import KINDS
from nanomem_tui.store.database import operation_log
from tests.review import junk
from tests.snapshots.terminal import nanomem

pytestmark = pytest.mark.slow

KEYS = {"keep": "+", "delete": "d", "disable": "x", "merge": "m"}
MINUTES = 10
BY_KEY = 60
"""Decisions that are taken back by keys; the others by the command."""
WRONG = [*"+-dxmeZS&jkgGvsyn/*u ?l19", "\r", "\t", "\x1b", "\x12", "\x13", "\x1b[A", "\x1b[B"]
"""Keys and signs that a hand on the wrong place types: none leaves the program."""
CURSOR = re.compile(r"^│▸ . (\S+)\s+(.*)$")
DONE = re.compile(r"([\d,]+) left · ([\d,]+) done|([\d,]+) things? decided: all done")


@pytest.fixture
def home(tmp_path):
    """The labelled memory; the agent wrote it, so that no key of a person takes it back."""
    return junk.write_home(tmp_path)


@pytest.mark.long
def test_five_hundred_are_cleared_in_under_ten_minutes_and_all_of_it_comes_back(home):
    labels = {one.item.text: one.decisions for one in junk.labelled()}
    with open_workspace(home) as ws:
        before, found = rows(home), ws.triage.findings()
        right = {one.id: _right(ws, one, labels) for one in found}
        shown = {one.id: (one.kind, " ".join(one.text.split())) for one in found}
    assert len(found) > 400
    started = time.monotonic()
    with nanomem(home, 99, 40) as terminal:
        terminal.shows("Items")
        terminal.type("7")
        terminal.until(lambda: (cursor(terminal) or ("",))[0] in KINDS, "the queue is there")
        decided = 0
        for decision in walk(terminal, shown, right):
            decide(terminal, decision, decided := decided + 1)
        took = time.monotonic() - started
        assert took < MINUTES * 60
        terminal.shows(f"{decided:,} things decided: all done")
        after = rows(home)
        gone = [text for text, decisions in labels.items() if decisions[0] == "delete" and text in _texts(after)]
        assert len(gone) < len(labels) / 20, "what nobody found stays"
        good = {text for text, decisions in labels.items() if decisions == ("keep",)}
        assert good <= _texts(after)
        for number in range(decided, decided - BY_KEY, -1):
            terminal.press("u", f" · {number - 1:,} done")
        terminal.type("q")
        terminal.ends()
    with open_workspace(home) as ws:
        ws.undo(count=decided - BY_KEY)
    assert rows(home) == before
    with open_workspace(home) as ws:
        assert {one.id for one in ws.triage.findings()} == {one.id for one in found}
    print(f"{decided} decisions in {took:.0f} s: {decided * 60 / took:.0f} a minute")


@pytest.mark.parametrize("seed", [1, 2])
def test_wrong_keys_in_the_real_program_lose_nothing(home, seed):
    before, chance = rows(home), random.Random(seed)
    with nanomem(home, 80, 24) as terminal:
        terminal.shows("Items")
        terminal.type("7")
        terminal.until(lambda: (cursor(terminal) or ("",))[0] in KINDS, "the queue is there")
        for _ in range(150):
            terminal.type(chance.choice(WRONG))
            terminal.read()
        for _ in range(8):
            terminal.type("\x1b")
            while terminal.read(0.3):  # an escape that comes at once behind another is another key
                pass
        terminal.type("q")
        left = terminal.text
        assert terminal.ends() == 0, left
    with open_workspace(home) as ws:
        mine = [one for one in ws.log(1_000) if operation_log.started_by_person(one.operation) and not one.undone]
        assert mine, "the keys did something"
        ws.undo(count=len(mine))
        assert not ws.triage.marks()
        assert not ws.triage.rules.all()
    assert rows(home) == before


def walk(terminal, shown, right):
    """The decision that is right for the row at the cursor, as a person reads it, until there is none."""
    open_ids = dict(shown)
    while (line := cursor(terminal)) is not None:
        kind, words = line
        of_kind = {key: _letters(text) for key, (of, text) in open_ids.items() if of == kind}
        whole = [key for key, text in of_kind.items() if _letters(words).startswith(text)]  # the reason stands behind
        cut = [key for key, text in of_kind.items() if text.startswith(_letters(words))]
        near = sorted(cut, key=lambda key: len(of_kind[key])) or sorted(whole, key=lambda key: -len(of_kind[key]))
        assert near, f"{kind}: {words} is none of what was found"
        del open_ids[near[0]]
        yield right[near[0]]


def decide(terminal, decision, number):
    """Press the key of a decision and wait until it is made."""
    if decision == "edit":
        terminal.press("e", "^s save")
        terminal.type("\x13")
    else:
        terminal.type(KEYS[decision])

    def made():
        told = DONE.search(terminal.text)
        return told is not None and int((told[2] or told[3]).replace(",", "")) == number

    terminal.until(made, f"{number} are decided")


def cursor(terminal):
    """Kind and words of the row at the cursor, as far as they are shown."""
    for line in terminal.text.splitlines():
        if found := CURSOR.match(line):
            return found[1], re.split(r"…|\s{2,}|│", found[2])[0].strip()
    return None


def rows(home):
    """What is remembered, but for what turns count."""
    with open_workspace(home) as ws:
        every = ws.store.load().items.values()
        return sorted((one.id, one.text, one.scope_key, bool(one.enabled), bool(one.is_deleted)) for one in every)


def _texts(after):
    return {row[1] for row in after if row[3] and not row[4]}


def _right(ws, one, labels):
    """The best decision of the label that is one key for such a finding."""
    decisions = labels.get(ws.items.get(one.ids[0]).text, ("keep",))
    usable = [each for each in decisions if each in KEYS and (each != "merge" or "merge" in one.offers)]
    if decisions[0] == "edit" and ws.triage.proposed(one) is not None:
        return "edit"
    return usable[0] if usable else "keep"


def _letters(text):
    """What of a text a picture of a terminal surely holds: no marks that stand over letters."""
    return "".join(char for char in text if char.isalnum())
