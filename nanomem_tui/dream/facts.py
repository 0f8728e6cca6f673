"""History entries as facts: which lines of a summary are worth remembering, and where they belong.

Owns reading one line of `history.jsonl` as a person would sort it: fact or talk, about the user, the agent or the work.
Deterministic and offline. Must not know what the memory files hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nanomem_tui.formats.history import TRUNCATED_SUFFIX, HistoryEntry, marks

SOUL, USER, MEMORY = "SOUL.md", "USER.md", "memory/MEMORY.md"
MAX_FACT = 600

_I = re.IGNORECASE
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_FILE_MARK = re.compile(r"\[(SOUL|USER|MEMORY)(?:\.md)?\]\s*")
_SPEECH = re.compile(r"(?P<who>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}) (?:said|says|wrote|asked|replied): ?(?P<what>.*)")
_SMALL_TALK = re.compile(
    r"(?:hi|hey|hello|thanks?|thank you|thx|ok(?:ay)?|bye|cheers|good (?:morning|night|evening)|see you|welcome|great|"
    r"wow|cool|nice|awesome|sounds good|no worries|congrats|你好|谢谢|再见|好的|嗯|哈哈)(?=[\s,.!?，。！？]|$)",
    _I,
)
_EMPTY = re.compile(r"\(?(?:nothing|none|n/?a|no new facts|无)\)?\.?", _I)
_OF_A_PERSON = re.compile(
    r"\bmy (?:full )?name(?:'s|’s) \S|"
    r"\bmy (?:full )?(?:name|birthday|job|wife|husband|partner|son|daughter|dog|cat|hometown|address|timezone|email)"
    r" is \S|"
    r"\bI(?: am|['’]m) (?:allergic|vegetarian|vegan|from|born|married|engaged|divorced|\d{1,3} years? old)\b|"
    r"\bI (?:live in|moved to|work (?:at|as|for|in)|was born|graduated|study|adopted|got married|lost my job|"
    r"quit my job)\b"
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_USER_PROSE = re.compile(r"(?:the )?user (?:prefers?|likes?|dislikes?|lives?|works?|wants|is|has|uses)\b|用户", _I)

_SOUL_LINE = re.compile(
    r"(?:please )?(?:always|never|don['’]?t|do not|avoid|stop|reply|respond|answer|speak|talk|address|"
    r"call (?:me|the user)|sign off|"
    r"be (?:more |less )?(?:concise|brief|terse|short|formal|informal|casual|direct|honest|polite|friendly|warm|kind)|"
    r"keep (?:all |your |the )?(?:replies|responses|answers|messages)|"
    r"use (?:no |fewer |more )?(?:emojis?|markdown|bullet|plain|formal|short|exclamation)|"
    r"(?:the )?(?:assistant|agent|bot|nanobot|you) "
    r"(?:should|must|needs? to|is to|shall|will|speaks?|repl(?:y|ies)))\b|"
    r"(?:请|以后|今后)?(?:一律|总是|始终|永远|每次|务必)?(?:回复|回答|答复|说话|语气)|"
    r"(?:请)?(?:不要|切勿|禁止)|(?:助手|机器人)(?:应|要|需|必须)",
    _I,
)
_USER_LINE = re.compile(
    r"(?:the )?users?\b|^(?:strongly )?(?:prefers?|likes?|loves?|dislikes?|hates?|enjoys?|wants|allergic|vegetarian|"
    r"vegan|lives? in|located in|based in|works? (?:at|as|for|from)|born|speaks?|stud(?:y|ies)|is called|name|age|"
    r"time ?zone|languages?|birthday|e-?mail|phone|pronouns|wife|husband|daughter|son|family|partner|"
    r"hobb(?:y|ies)|diet)\b|"
    r"^(?:I|I['’]m|my)\b|用户|^我|称呼|偏好|喜欢|讨厌|不吃|过敏|女儿|儿子|妻子|丈夫|老婆|老公|家人|生日|住在|居住|"
    r"时区|工作时间",
    _I,
)
_TOPIC_WORDS = {
    "health": r"allerg|vegetarian|vegan|\bdiet|medication|\bdoctor|dentist|blood|过敏|不吃|药|医",
    "preference": r"\b(?:prefer|like|love|dislike|hate|enjoy|favou?rite|want)|偏好|喜欢|讨厌|习惯",
    "identity": r"\b(?:name|called|born|lives?|live|based|located|time ?zone|languages?|speaks?|works?|job|birthday|"
    r"e-?mail|phone|wife|husband|daughter|son|family|partner|years old)\b|"
    r"称呼|名字|女儿|儿子|妻子|丈夫|生日|住|时区|工作",
    "decision": r"\b(?:decided|decision|chose|agreed|switched|adopt|will use|instead of)|决定|采用|选用|改用|确定",
    "infrastructure": r"\b(?:host|server|port|ip|backups?|restore|database|db|deploy|staging|production|cluster|vm|"
    r"jump|nas|dns|ci)\b|服务器|数据库|备份|跳板机|部署|生产|端口",
    "project": r"\b(?:project|repo|repository|release|build|branch|api|frontend|backend|test|make)\b|项目|代码|发布",
}
_TOPICS = tuple((topic, re.compile(pattern, _I)) for topic, pattern in _TOPIC_WORDS.items())


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a summary that may be worth remembering, with the cursor of its entry as evidence."""

    text: str
    cursor: int
    mark: str | None = None
    file: str = ""
    """The file that the line itself names; else `route` decides."""
    person: bool = False
    """Said by somebody in a conversation: `Name: what was said`."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One line that is not remembered, and why."""

    cursor: int
    text: str
    why: str


def facts_of(entry: HistoryEntry) -> tuple[list[Fact], list[Skipped]]:
    """The facts of one entry in order, and the lines left out with the reason."""
    if entry.raw:
        return [], [Skipped(entry.cursor, entry.content[:80], "a dump of messages, no summary")]
    facts: list[Fact] = []
    skipped: list[Skipped] = []
    for raw in entry.content.removesuffix(TRUNCATED_SUFFIX).split("\n"):
        for mark, text in marks(raw):
            found = _fact(entry.cursor, mark, " ".join(text.split()), is_bullet=_BULLET.match(raw) is not None)
            if isinstance(found, Fact):
                facts.append(found)
            else:
                skipped.append(Skipped(entry.cursor, text, found))
    return facts, skipped


def _fact(cursor: int, mark: str | None, text: str, *, is_bullet: bool) -> Fact | str:
    """The fact in one line, or why there is none."""
    if mark in ("ephemeral", "skip"):
        return f"marked {mark}"
    if mark == "SKILL":
        return "a skill, not a memory"
    file = ""
    if named := _FILE_MARK.match(text):
        file = {"SOUL": SOUL, "USER": USER, "MEMORY": MEMORY}[named[1]]
        text = text[named.end() :]
    if len(text) < 3 or _EMPTY.fullmatch(text):
        return "nothing said"
    if len(text) > MAX_FACT:
        return f"longer than {MAX_FACT} characters"
    if speech := _SPEECH.fullmatch(text):
        said = _of_a_person(speech["what"]) if mark else None
        return Fact(f"{speech['who']}: {said}", cursor, mark, MEMORY, person=True) if said else "talk"
    if text.endswith(("?", "？")):
        return "a question"
    if mark is None and _SMALL_TALK.match(text):
        return "talk"
    if mark is None and not is_bullet and not file and not _USER_PROSE.match(text):
        return "prose, no list of facts"
    return Fact(text, cursor, mark, file)


def _of_a_person(said: str) -> str | None:
    """The sentence in which somebody tells a lasting fact of their life, if there is one."""
    for sentence in _SENTENCE.split(said):
        if _OF_A_PERSON.search(sentence) and not sentence.endswith(("?", "？")) and len(sentence) <= 240:
            return sentence.strip()
    return None


def route(fact: Fact) -> tuple[str, str]:
    """(file, topic) where a new fact belongs."""
    topic = next((name for name, pattern in _TOPICS if pattern.search(fact.text)), "note")
    if fact.person:
        return MEMORY, "people"
    if fact.file:
        return fact.file, topic
    if _SOUL_LINE.match(fact.text):
        return SOUL, "style"
    if _USER_LINE.search(fact.text):
        return USER, topic
    return MEMORY, topic
