"""How a rule of the facts extractor is written, and how one is read: a pattern of a clause, and the fact it says.

Owns what every language shares: clauses, several things named at once, how a value ends. Pure; knows no language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

PERSONAL, WORK, TECHNOLOGY, PREFERENCES = "Personal", "Work", "Technology", "User Preferences"
"""The domains."""
_APART = 3
"""Words of a thing that may be named beside others."""

Check = Callable[[str, str], bool]


class Fields(NamedTuple):
    """A fact as a clause says it, with that clause."""

    domain: str
    category: str
    sub_category: str
    key: str
    value: str
    clause: str


class Rule(NamedTuple):
    """A pattern of a whole clause, and the fact that it says. `key` and `value` are made of its groups, as in `{k}`.

    `many`: the group of that name names several things, each a fact. `check`: whether key and value make one;
    `sort`: where a key belongs (domain, category), where the rule does not say. `more`: the rules after it may fit too.
    """

    domain: str
    category: str
    pattern: str
    key: str = "{k}"
    value: str = "{v}"
    many: str = ""
    check: Check | None = None
    sort: Callable[[str], tuple[str, str]] | None = None
    more: bool = False


class Grammar(NamedTuple):
    """The rules of a language. `clauses` parts a sentence; `tail` is what a value ends before; `joints` parts what is
    named together; `trim` takes off what belongs to no value; `plain` is a clause as the patterns read it, of the same
    length; `never` is found in no key and no value: days without a date."""

    rules: Sequence[Rule]
    asked: Sequence[Rule]
    clauses: Callable[[str], Sequence[str]]
    tail: re.Pattern[str]
    joints: re.Pattern[str]
    trim: re.Pattern[str]
    plain: Callable[[str], str] = str
    never: re.Pattern[str] | None = None

    def read(self, sentence: str, *, asked: bool) -> Iterator[Fields]:
        """What a sentence says, clause by clause: of each the first rule that fits. `asked`: a person asked for it to
        be remembered."""
        rules = (*self.rules, *self.asked) if asked else self.rules
        for clause in self.clauses(sentence):
            for rule in rules:
                found = _compiled(rule.pattern).fullmatch(self.plain(clause))
                facts = list(self._facts(rule, found, clause)) if found is not None else []
                yield from facts
                if facts and not rule.more:
                    break

    def _facts(self, rule: Rule, found: re.Match[str], clause: str) -> Iterator[Fields]:
        groups = {name: self.ended(clause[slice(*found.span(name))]) for name in found.groupdict()}
        things = self._parts(rule, groups[rule.many]) if rule.many else [""]
        for thing in things:
            filled = {**groups, rule.many: thing} if rule.many else groups
            key, value = (" ".join(shape.format(**filled).split()) for shape in (rule.key, rule.value))
            if not key or not value or (rule.check is not None and not rule.check(key, value)):
                continue
            if self.never is not None and self.never.search(self.plain(f"{key}: {value}")):
                continue
            domain, category = rule.sort(key) if rule.sort is not None else (rule.domain, rule.category)
            yield Fields(domain, category, "", key, value, clause)

    def ended(self, text: str) -> str:
        """The words of a value up to where the sentence goes on with something else, without marks around them."""
        words = self.tail.split(text, maxsplit=1)[0]
        while (shorter := self.trim.sub("", words.strip(" \t,;:!?。！？，；：~…\"'“”«»„*_`"))) != words:
            words = shorter
        return words.removesuffix(".") if not re.search(r"\b\w\.$", words) else words

    def _parts(self, rule: Rule, text: str) -> list[str]:
        """What is named together, each alone; nothing where one is no thing (`how it looks and feels`), and longer ones
        stay together: they may share words."""
        parts = [part for one in self.joints.split(text) if (part := self.ended(one))]
        if rule.check is not None and not all(rule.check(part, "") for part in parts):
            return []
        return parts if all(len(part.split()) <= _APART for part in parts) else [text]


def sorter(
    sorts: Sequence[tuple[str, str, str]], plain: Callable[[str], str] = str
) -> Callable[[str], tuple[str, str]]:
    """What tells where a key belongs (domain, category): as the first of the sorts says whose pattern is found in it.
    `plain`: a key as the patterns read it."""

    def sort(key: str) -> tuple[str, str]:
        words = plain(key)
        for domain, category, pattern in sorts:
            if _compiled(pattern).search(words):
                return domain, category
        return PERSONAL, "General"

    return sort


@lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
