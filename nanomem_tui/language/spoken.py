"""How a statement is put, in ten languages: who is said to have said it, whom it is of, what it says is not so. The
words are data (`packs/spoken.toml`)."""

from __future__ import annotations

import re

from nanomem_tui.language import tables
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.statement import familiarity, statement
from nanomem_tui.language.topics import cues_of

_NAME = re.compile(r"[A-ZÀ-ÞА-ЯЁ][\w-]+")
_pattern = tables.patterns("spoken")


def without_speaker(text: str, *, capital: bool = True) -> str:
    """Return a statement without the words that say who said it; its first letter large, unless `capital` is false.

    >>> without_speaker("User mentioned that she moved to Porto")
    'She moved to Porto'
    """
    while (found := _pattern("says").match(text)) is not None:
        text = text[found.end() :]
        text = text[:1].upper() + text[1:] if capital else text
    return text


def denied_value(text: str) -> str:
    """Return what a statement says is not so; "" where it does not say.

    >>> denied_value("The office is in Osaka, not in Kyoto"), denied_value("Der Preis ist nicht 10, sondern 12")
    ('in Kyoto', '10')
    """
    found = _pattern("not_but").search(text) or _pattern("but_not").search(text)
    return found["wrong"].strip() if found else ""


def without_denied(text: str) -> str:
    """Return a statement without `, not X` at its end.

    >>> without_denied("The office is in Osaka, not in Kyoto")
    'The office is in Osaka'
    """
    found = _pattern("but_not").search(text)
    return text[: found.start()].rstrip().rstrip(",.。") if found else text


def exchanged(text: str) -> tuple[str, str]:
    """Return (what a statement says is so no more, what is so instead), each "" where it does not say.

    >>> exchanged("The office is in Osaka since May, not in Kyoto"), exchanged("CI: moved from Jenkins to Buildkite")
    (('in Kyoto', 'in Osaka since May'), ('Jenkins', 'Buildkite'))
    """
    if found := _pattern("not_but").search(text):
        return _cut(found["wrong"]), _cut(found["right"])
    if found := _pattern("but_not").search(text):
        wrong, said = _cut(found["wrong"]), text[: found.start()].rstrip(" ,;，；")
        words = wrong.split()
        at = said.find(f" {words[0]} ") if len(words) > 1 else -1
        if at >= 0:  # they begin alike: `with Otis, not with Kone`
            return wrong, said[at + 1 :]
        key, _, value = said.rpartition(": ")
        if key and len(value.split()) <= len(words) + 1:  # `Owner: Lena, not Tom`
            return wrong, _cut(value)
        last = _cut(said).split()[-1]
        return (wrong, last) if len(words) == 1 and (wrong[:1].isupper() and last[:1].isupper()) else ("", "")
    if (found := _pattern("moved").search(text)) and "change" in statement(text).marks | cues_of(text):
        wrong, right = found["a"] or found["c"], _cut(found["b"] or found["d"])
        return wrong, right.split()[0] if wrong.isdigit() else right
    return "", ""


def _cut(text: str) -> str:
    """A value without since when it is so, and why."""
    found = _pattern("since").search(text)
    text = (text[: found.start()] if found and found.start() else text).strip(" .。!")
    return _pattern("now").sub("", text)


def ended(text: str) -> bool:
    """Whether a statement takes back what was so before."""
    return _pattern("ended").search(text) is not None


def names_given(user: str) -> list[str]:
    """Return what a file about the user says they are called, field by field."""
    return [found[1] for found in _pattern("name").finditer(user)]


def name_told(text: str) -> str:
    """Return how a statement says that the user is called; "" where it says something else, or more.

    >>> name_told("User's name is Ana (Anastasia)"), name_told("User is called Ana and lives in Porto")
    ('Ana', '')
    """
    found = _pattern("name_told").fullmatch(text.strip())
    name = found["called"] if found else ""
    return name if len(name.split()) <= 3 else ""


def owner_of(user: str) -> str:
    """Return the name that a file about the user gives them; "" where it gives none.

    >>> owner_of("# User\\n- **Name**: Ana")
    'Ana'
    """
    return next((re.split(r"[\s,;，]", name)[0].strip("*") for name in names_given(user)), "")


def subject_of(text: str) -> str:
    """Return the name that a statement begins with; "" where it begins with another word."""
    text = text.strip("*_ ")
    found = _NAME.match(text)
    if found is None or found[0].isupper() or any(_pattern(kind).fullmatch(found[0]) for kind in ("pronoun", "opens")):
        return ""
    is_name = familiarity(found[0].lower(), language_of(text)) <= 0.4
    return found[0] if is_name and text[found.end() : found.end() + 1] in (" ", "'", "’") else ""


def with_subject(text: str, name: str) -> str:
    """Return a statement with a name in the place of the pronoun that it begins with.

    >>> with_subject("He is allergic to penicillin", "Eirik")
    'Eirik is allergic to penicillin'
    """
    found = _pattern("pronoun").match(text)
    if found is None or found["cjk"] or not name:
        return text
    ends = "'s" if found["whose"] or found["is"] else ""
    return f"{name}{ends}{text[found.end() :]}"


def points_back(text: str) -> bool:
    """Whether a statement begins with a word for something that was named before it.

    >>> points_back("It's 7.4 knots, not 7.2")
    True
    """
    return _pattern("points").match(text.strip("*_ ")) is not None


def is_of(text: str, owner: str) -> bool:
    """Whether a statement begins with the person whose memory it is: by name, as the user, by a pronoun, or by no
    subject at all."""
    plain = text.strip("*_ -")
    if owner and owner.casefold() in plain[: len(owner) + 24].casefold():
        return True
    return _pattern("own").match(plain) is not None


def of_oneself(text: str) -> str:
    """Return the first words by which somebody tells of themselves; "" where there are none.

    >>> of_oneself("Since May I work in Oslo")
    'I work'
    """
    found = _pattern("oneself").search(text)
    return found[0].strip() if found else ""


def refuses(text: str) -> bool:
    """Whether a text denies something, or says that somebody will not or can not have it."""
    return denials(text) > 0 or _pattern("refuses").search(text) is not None


def denials(text: str) -> int:
    """Return how many words of a text deny something."""
    return len(_pattern("denies").findall(text))
