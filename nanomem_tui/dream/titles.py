"""Headings that edits make: a line of the file that nobody asked for by itself, so it is held against as much.

Owns which heading an edit brings into a file, and which words a heading may have without an entry that says them. Must
not know who proposed the edit. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from nanomem_tui.agents import markdown
from nanomem_tui.core.text import indent
from nanomem_tui.dream import details
from nanomem_tui.dream.edits import LineEdit, find_section
from nanomem_tui.language import topics

MAX_TITLE = 80
_SHORT = 3  # words of a title that may be nothing but the names of subjects
_WORDS = """
about activities address allergies animals appointments basic birthdays books budget calendar career car communication
conditions contacts context cooking core current daily dates decisions devices diet drinks education environment events
facts family films finance fitness food friends games general goals habits hardware health history hobbies home house
identity important information infrastructure interests job languages life location long long-term medical medication
memory miscellaneous misc money movies music notes ongoing other people personal pets places plans preferences
principles profile project projects recent recipes relationships reminders routine routines schedule school servers
setup shopping software sports study style tasks tech technology term tone tools travel trips user vehicles voice weekly
work facts infra instructions interest key length level main primary response role special technical topics misc
session summary conversation durable new known update updates details remember said today made
"""
"""What headings are called that say nothing of anybody."""
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_TITLE = re.compile(r"\s*(?![-*+] )(?:\*\*.+\*\*[:：]?|.+[:：])\s*")
_OTHERS = "animals car contacts events family friends people pets places relationships school travel trips vehicles"


def made(edit: LineEdit, files: Mapping[str, str]) -> str:
    """The title of the heading that the edit would make in `files` (text by name), "" when it makes none."""
    if edit.op not in ("add", "move") or not edit.section:
        return ""
    there = files.get(edit.to_file or edit.file, "") if edit.op == "move" else files.get(edit.file, "")
    return edit.section if find_section(there, edit.section) is None else ""


def leads(text: str, old: str, line: int | None) -> bool:
    """Whether lines stand under the line `old` of a text, the one nearest to `line`: those of its section, those that
    are set in, or the list of a line in bold or with a colon."""
    lines = [one.removesuffix("\r") for one in text.split("\n")]
    same = [at for at, one in enumerate(lines) if one == old]
    if not same:
        return False
    at = min(same, key=lambda place: abs(place + 1 - (line or 1)))
    head = next((part for part in markdown.sections(text) if part.level and part.start_line == at + 1), None)
    if head is not None:
        below = next((part.level for part in markdown.sections(text) if part.start_line > head.start_line), 0)
        return below > head.level or any(one.strip() for one in head.lines)
    rest = [one for one in lines[at + 1 :] if one.strip()][:1]
    if not rest or rest[0].startswith("#"):
        return False
    if indent(rest[0]) > indent(old):
        return True
    return _TITLE.fullmatch(old) is not None and _ITEM.match(rest[0]) is not None


def impossible(title: str) -> str:
    """Why it is no heading, whoever asks for it; "" when it is one."""
    if len(title.splitlines()) > 1:
        return "a heading is one line"
    return f"a heading of more than {MAX_TITLE} characters" if len(title) > MAX_TITLE else ""


def scope(title: str) -> frozenset[str]:
    """The words of a title by which what stands under it may be another's than the user's."""
    return telling(title) | (details.words(title) & others()) | topics.people_in(title)


def telling(title: str) -> frozenset[str]:
    """The words of a title that say something of somebody."""
    left = topics.without_subjects(title)
    if len(left.split()) <= _SHORT:
        left = " ".join(topics.names_of_heading(left))
    return details.words(left) - _general()


@lru_cache(1)
def others() -> frozenset[str]:
    """The words of titles under which it is of others than the user, and not of whom."""
    return details.words(_OTHERS)


@lru_cache(1)
def _general() -> frozenset[str]:
    return details.words(_WORDS)
