"""When a message of a person corrects the answer before it (seed 000): in English and Chinese.

Owns when the words of corrections (`packs/corrections.toml`) make one, and what it is about. A correction begins with
its word, so that a story in which something was wrong is none. A question and an order for one task correct nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

from nanomem_tui.language import pack_files, remembering
from nanomem_tui.language.tokens import fold, simplified, straight

_pattern = pack_files.patterns("corrections")
_ABOUT = {"response:length": "length", "response:language": "language_or_word", "response:accuracy": "accuracy"}
"""What a correction is about, the first that fits; else it is about response:alignment."""
_TOPICS = {"response:language": "language", "response:length": "length"}
"""Of what an answer can be only one way, and the words of a correction that say which."""
MAX_MESSAGE = 220
"""Characters of the longest message that is read as a correction."""
NOTHING_BETTER = "a correction that does not say what would be better"


class Correction(NamedTuple):
    """What a correction is about: response:length, response:language, response:accuracy or response:alignment.

    `is_empty`: it says that the answer was wrong, and nothing of what would have been right. `is_standing`: it is a
    wish for all answers to come, whatever the last one was.
    """

    trigger: str
    text: str
    is_empty: bool = False
    is_standing: bool = False


def topic(trigger: str, text: str) -> str:
    """What a correction decides for every answer, so that a later one about it takes its place; empty for none."""
    return trigger if trigger in _TOPICS and _pattern(_TOPICS[trigger]).search(simplified(text)) else ""


def says_nothing(answer: str) -> bool:
    """Whether an answer is only an apology or a short word: no example of what to avoid."""
    return len(answer) < 200 and _pattern("empty").fullmatch(simplified(straight(answer))) is not None


def detect(text: str, answer: str = "") -> Correction | None:
    """The correction that a message makes, None when it is none or too long.

    `answer`: what the message follows. After a question, a plain “No, …” answers it and corrects nothing.
    """
    said = " ".join(text.replace("’", "'").split())
    if not said or len(said) > MAX_MESSAGE:
        return None
    line = simplified(said)
    found = _pattern("prefix").match(line)
    if found is None or _is_none(line, found):
        if rules := " ".join(remembering.rules_in(text)):
            return Correction(_about_all_answers(simplified(rules)), rules, is_standing=True)
        standing = _of_all_answers(line)
        return Correction(standing, said, is_standing=True) if standing else None
    trigger = _about(line)
    if trigger == "response:alignment" and answer.rstrip().endswith(("?", "？")) and _pattern("no").match(line):
        return None
    is_empty = len(line) < 100 and any(_pattern(name).fullmatch(line) for name in ("only_wrong", "this_one"))
    return Correction(trigger, said, is_empty=is_empty)


def _about_all_answers(rule: str) -> str:
    """What a rule is about; naming a language alone (“write French letters”) is not about the answers."""
    trigger = _of_all_answers(rule) or _about(rule)
    is_of_answers = trigger != "response:language" or _pattern("in_language").search(rule) is not None
    return trigger if is_of_answers else "response:alignment"


def _about(line: str) -> str:
    return next((topic for topic, name in _ABOUT.items() if _pattern(name).search(line)), "response:alignment")


def _is_none(line: str, found: re.Match[str]) -> bool:
    """Whether the words of a correction make none here: they ask, tell of something else, or order one task."""
    at = found.end() - 1 if line[found.end() - 1] in ".!。！" else found.end()
    stop = _pattern("ends").search(line, at)
    sentence = line[found.start() : stop.end() if stop else len(line)]
    if _pattern("asked").search(sentence) and not _pattern("polite").search(sentence):
        return True
    if found["denies"] or found["meant"]:
        tells = found["meant"] or _pattern("of_you").match(found["denies"])
        return bool(_pattern("laughed").search(line) or (tells and _pattern("story").search(sentence)))
    return bool(_pattern("task").search(sentence) or (found["orders"] and _pattern("once").search(sentence)))


def is_for_good(sentence: str) -> bool:
    """Whether a sentence says in so many words that it holds from now on: “from now on …”, “以后都…”.

    >>> is_for_good("From now on reply in German"), is_for_good("Keep going for it!")
    (True, False)
    """
    return _pattern("now_on").match(simplified(" ".join(sentence.split()))) is not None


def _of_all_answers(line: str) -> str:
    """The topic of a wish for all answers to come (“from now on, answer in French”); empty when it is none."""
    found = _pattern("now_on").match(line)
    if found is None or line.endswith(("?", "？")):
        return ""
    rest = found["en"] or found["zh"]
    if _pattern("in_language").match(rest):
        return "response:language"
    form = _pattern("prefix").match(rest)
    return topic("response:length", rest) if form is not None and not _is_none(rest, form) else ""


# What a correction plainly asks for or forbids (`always use tabs`, `never use tabs`), in English and Chinese.


class Stance(NamedTuple):
    """A verb with its object, and whether it is wanted."""

    subject: str
    wanted: bool


MAX_TEXT = 200
"""Characters of an order; what is longer tells more than one thing."""
_stances_pattern = pack_files.patterns("stances")
_words = partial(pack_files.words, "stances")
_NOTHING = Stance("", wanted=True)
"""Of a part that only addresses, or gives a reason."""


@lru_cache(2_048)  # the same lessons are compared in every turn
def stances(text: str) -> tuple[Stance, ...]:
    """What a text orders, each subject once; nothing unless all of it is plain."""
    plain = simplified(fold(text)).replace("’", "'").strip()
    if len(plain) > MAX_TEXT or plain.endswith("?"):
        return ()
    found: dict[str, Stance] = {}
    for part in filter(None, map(str.strip, _stances_pattern("parts").split(plain))):
        read = _chinese(part) if re.search("[㐀-鿿]", part) else _english(part)
        if read is None or (read.subject and read.subject in found):
            return ()
        if read.subject:
            found[read.subject] = read
    return tuple(found.values())


@lru_cache(1)
def _verbs() -> tuple[dict[str, str], dict[str, str]]:
    """The verbs, and their forms in “ing”, each with the form as which it is kept."""
    base = {verb: re.sub("ise$", "ize", verb) for verb in _words("verbs")}
    doubled = _words("doubled")
    stems = {verb: verb + verb[-1] if verb in doubled else verb.removesuffix("e") for verb in base}
    return base, {f"{stems[verb]}ing": kept for verb, kept in base.items()}


def _english(part: str) -> Stance | None:
    lead = _stances_pattern("lead").match(part)
    rest = re.sub(r"\s+because\s.*", "", part[lead.end() :] if lead else part).strip()
    if _stances_pattern("alone").fullmatch(rest):
        return _NOTHING
    order = _stances_pattern("order").fullmatch(rest)
    if order is None:
        return None
    base, gerunds = _verbs()
    first, _, behind = order["rest"].partition(" ")
    verb = (gerunds if order["stop"] else base).get(first)
    if order["none"]:
        verb, behind = (gerunds[first], behind) if first in gerunds else ("use", order["rest"])
    if verb is None or (order["none"] and (first in base or first in _words("phrases"))):
        return None
    while ending := _stances_pattern("end").search(behind):
        behind = behind[: ending.start()].rstrip()
    words = re.findall(r"[^\s\"“”`]+", behind.replace(" '", " ").strip("'"))
    words = [word for word in words if word not in _words("articles")]
    if _words("points").intersection(words):
        return None
    if not (words or order["never"] or order["always"] or order["stop"]):
        return None  # an order without an object is one for later only where it says so
    if words and len(words[-1]) > 3 and words[-1].endswith("s") and not words[-1].endswith("ss"):
        words[-1] = words[-1][:-1]
    wanted = not (order["never"] or order["dont"] or order["stop"] or order["none"])
    return Stance(" ".join((verb, *words)), wanted)


def _chinese(part: str) -> Stance | None:
    if _stances_pattern("open_zh").search(part):
        return None
    rest = re.sub(r"(?<=[㐀-鿿])\s+|\s+(?=[㐀-鿿])", "", part)
    lead = _stances_pattern("lead_zh").match(rest)
    rest = _stances_pattern("end_zh").sub("", rest[lead.end() :] if lead else rest)
    if not rest or _stances_pattern("alone_zh").fullmatch(rest):
        return _NOTHING
    against = _stances_pattern("not_zh").match(rest)
    rest = rest[against.end() :] if against else rest
    verb = _stances_pattern("verb_zh").match(rest)
    thing = rest[verb.end() :].strip() if verb else ""
    if verb is None or not (thing or verb[0] in _words("bare_zh")):
        return None
    name = "用" if verb["use"] else "加" if verb["add"] else verb[0]
    return Stance(f"{name} {thing}".rstrip(), against is None)
