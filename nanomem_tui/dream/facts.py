"""History entries as facts: which lines of a summary are worth remembering, and where they belong.

Owns reading one line of `history.jsonl` as a person would sort it: fact or talk, about the user, the agent or the work.
Deterministic and offline. Must not know what the memory files hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nanomem_tui import dates
from nanomem_tui.dream import titles
from nanomem_tui.dream.details import details
from nanomem_tui.dream.entry_lines import SPEECH, lines_of
from nanomem_tui.formats.history import TRUNCATED_SUFFIX, HistoryEntry
from nanomem_tui.memory import secrets
from nanomem_tui.sentences import split

SOUL, USER, MEMORY = "SOUL.md", "USER.md", "memory/MEMORY.md"
MAX_FACT = 600
MAX_HELD = 1900
"""Characters of a line that waits for a person: what is longer waits in parts."""
ALWAYS_KEPT = ("permanent", "correction")
KEEP_MARKS = (*ALWAYS_KEPT, "durable")
"""Marks by which the agent asks that a line is kept; the first two are its judgement, and no line is talk then."""
DUMP, PROSE = "a dump of messages, no summary", "prose, no list of facts"
"""Why the rules could not read a line: what it says is known to nobody."""

_I = re.IGNORECASE
_FILE_MARK = re.compile(r"\[(SOUL|USER|MEMORY)(?:\.md)?\]\s*")
_NAMED = re.compile(r"(?P<who>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}): (?P<what>.+)")
_SMALL_TALK = re.compile(
    r"(?:hi|hey|hello|thanks?|thank you|thx|ok(?:ay)?|bye|cheers|good (?:morning|night|evening)|see you|welcome|great|"
    r"wow|cool|nice|awesome|sounds good|no worries|congrats|你好|谢谢|再见|好的|嗯|哈哈)(?=[\s,.!?，。！？]|$)",
    _I,
)
_PHRASE = (
    r"(?i:(?:great|nice|good) to (?:hear from|talk to|see) you|great news|"
    r"hi|hey|hello|thanks?|thank you|thx|ok(?:ay)?|(?:good)?bye|cheers|good (?:morning|night|evening|luck)|"
    r"see (?:you|ya)(?: soon| later)?|catch you later|talk (?:to you )?(?:soon|later)|"
    r"stay safe|take care|welcome|great|"
    r"wow|whoa|woah|ooh|aww+|oof|cool|nice|awesome|amazing|(?:that )?sounds (?:good|great|cool|awesome|amazing)|"
    r"that['’]s (?:great|cool|awesome|amazing|wonderful)|no (?:worries|problem)|congrats|congratulations|"
    r"yes|yeah|yep|yup|"
    r"nah|sure(?: thing)?|definitely|absolutely|agreed|of course|exactly|same(?: here)?|me too|oh (?:no|man|yeah|nice)|"
    r"bon appetit|long time no (?:talk|see)|"
    r"(?:I (?:really )?)?appreciate (?:it|(?:your|the|all the) (?:help|support|offer))|"
    r"hope (?:you['’]re|you are) (?:well|doing (?:well|good|great))|what['’]s (?:up|new)|guess what|"
    r"miss(?:ed)? y(?:ou|a)|"
    r"你好|谢谢|再见|好的|嗯|哈哈)"
)
_THANKS = r"(?i:thanks|thank you|thx)(?: so much| a lot)? for [a-z' ]{2,60}(?=[.,!…]|$)"  # of nothing with a name
_GREETING = re.compile(rf"(?:{_THANKS}|{_PHRASE})(?![\w'’])")
_NEXT = re.compile(
    rf"(?:[\s,.!…，。！-]|and\b)+(?:{_PHRASE}|(?i:again|so much|a lot|there|all|everyone|buddy|friend|then)|"
    r"[A-Z][\w'’-]*)(?![\w'’])"
)
NO_NAMES = frozenset(
    "user assistant agent bot note notes fact rule lesson decision preference preferences correction project status "
    "goal goals plan todo reminder name timezone language health work home family".split()
)
_EMPTY = re.compile(r"\(?(?:nothing|none|n/?a|no new facts|无)\)?\.?", _I)
FIRST_PERSON = re.compile(r"(?:\b(?:I|[Mm]y|[Mm]e|[Mm]yself)\b(?!['’]d\b))|我")
_OF_US = re.compile(
    r"\b[Ww]e(?:['’](?:ve|re|ll) | )(?:just |also |both |all |already )?(?:had|have|got|live|moved|bought|own|went|did|"
    r"were|are|use|visited|adopted|decided|chose|agreed|plan|planning|about|going|started|won|met|work|married|hiked)\b|"
    r"\b[Oo]ur \w+|我们"
)
_UNSAID = re.compile(
    r"(?:just |still |also |already )?(?:used to|started|haven['’]t|been|trying to|took|went|moved|bought|joined|"
    r"finished|planning|thinking of|working (?:on|at|as)|lost|quit|adopted|learned|not yet, been)\b",
    _I,
)
_OF_OTHERS = re.compile(
    r"\b(?:decided|decision|chose|agreed to|switched to|prefers?|allergic|birthday|deadline)\b|"
    r"\b(?!(?:You|It|That|This|There|What|Everyone)\b)[A-Z][\w'’-]* (?:is (?:a|an|my|the|in|from|called|named|on|at|"
    r"now)|was (?:a|born|called)|lives?|works?|has|moved|got|married|likes|loves|hates|studies|plays)\b|\d",
)
_REACTION = re.compile(
    r"\b(?:I|we)(?:['’](?:ll|m|d|ve)| will| am| would| can| could| have| do| did)?(?: (?:really|totally|completely|"
    r"truly|just|so|always|still|definitely|also|both|all))* (?:agree|appreciate|hear you|get (?:it|how|that|what)|bet|"
    r"imagine|hope|wish|guess|owe|see (?:how|what|why)|remember you|"
    r"be sure|let you|keep (?:you|it|going|pushing|on)|gonna keep|here (?:for|if)|sure|glad|happy for|happy to help|"
    r"proud of you|sorry|excited (?:to see|for you)|curious|cheering|couldn['’]t agree|"
    r"(?:see|tell) you|no doubt|show you|in awe|happy you|impressed)\b|"
    r"\bI (?:love|like) (?:the|that|this|your|how|all the|what)\b|"
    r"\bI (?:think|guess|feel like|believe) (?:this|that|it)(?: is|['’]s| was| could| might| would| will)\b|"
    r"\bexactly what (?:I|we)\b|\bI couldn['’]t agree\b|\b(?:can['’]t|cannot) wait\b|"
    r"\b(?:let|tell|show|send|join|remind|reminds|ask|count) me\b|\blet['’]s\b|"
    r"\b(?:a lot|so much|means (?:a lot|the world)) to me\b|"
    r"\bhere['’]s (?:a|my|one|another)\b|\b(?:check (?:it )?out|take a look)\b|\bfor me\W*$|"
    r"^(?:thanks|thank you|congrats|way to go|glad|so glad|so happy|so proud|sorry|must(?:['’]ve| have| be)|hope|"
    r"crossing)\b|\bme too\b|\bthere for me\b|\bI (?:did|do|have|am|can|will)\W*$|\bamazes? me\b|"
    r"\bbelieves? in me\b|\blove you\b|\blot['’]?s been going on\b|\blots (?:has )?happened\b|\bgood news\b",
    _I,
)
_DANGLING = re.compile(
    r"\b(?:them|they|those|these)\b|\bit\b(?! (?:when|if|that|is|was|takes?)\b)|"
    r"\b(?:this|that)(?=\s*(?:[.,!…]|$|one\b|is\b))",
    _I,
)
_WHERE = (
    r"(?:(?:my|the|our|a) )?(?:(?:morning|evening|afternoon|daily|quick|little|long|short) )?"
    r"(?:walk|run|jog|swim|gym|work|school|class|office|stores?|shops?|supermarket|breakfast|lunch|dinner)"
)
_PASSING = re.compile(
    r"(?:(?:so|and|well|ok(?:ay)?|oh|hey),? )?(?:(?:I|we)(?:['’](?:m|re|ve)| am| are| have)? )?"
    r"(?:just (?:woke up|got up|got home|came home|arrived home|sat down|"
    rf"(?:got|came) back(?: home)?(?: from {_WHERE})?|"
    rf"finished (?:{_WHERE}|my (?:coffee|tea|meal|shower|chores|dishes|laundry)))|"
    rf"(?:about to|going to|gonna) (?:head (?:out|home)|leave|go to (?:bed|sleep)|sleep|eat|(?:have|grab) {_WHERE})"
    rf"(?: for {_WHERE})?|heading (?:out|home|to bed|off)(?: for {_WHERE})?|"
    r"(?:(?:feeling|so|very|really|a bit|a little|pretty) )*(?:tired|hungry|sleepy|bored|thirsty|exhausted))"
    r"(?: (?:now|right now|today|tonight|soon|again|this (?:morning|afternoon|evening)))?[\s.!…]*",
    _I,
)
"""What is over by the time that somebody reads it, and names nothing: where somebody comes from, that one is tired."""
_FRAGMENT = re.compile(
    r"(?i:(?:(?:by the way|btw|also|so|and|but|well|anyway|oh|plus),? )?(?:my|our|your|his|her|their|the|this|that) "
    r"(?:(?:new|old|little|big|dear|own|best|whole) )?)[a-z]+[\s.!…]*"
)
"""A thing, and nothing said of it: `By the way, my dogs.`"""
_LASTING = re.compile(
    r"allerg|vegetarian|vegan|intoleran|\b(?:name is|called|born|live in|moved to|work (?:at|for|as|in)|prefer|married|"
    r"engaged|divorced|pregnant|birthday|daughter|son|wife|husband|years old|speak|decided|chose|agreed)\b",
    _I,
)
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
    under: str = ""
    """The lines of the entry that it is in a list under."""
    held: str = ""
    """Why a person has to look at it first; secrets in `text` are masked then. "" for what may be remembered."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One line that is not remembered, and why; a `fact` is one that says something to remember."""

    cursor: int
    text: str
    why: str
    mark: str | None = None
    """The agent's own mark of the line: `durable`, `ephemeral` …"""
    fact: bool = False

    @property
    def reason(self) -> str:
        """`why` after the mark, in brackets as the agent writes it, unless `why` names the mark."""
        return f"[{self.mark}] {self.why}" if self.mark and self.why != f"marked {self.mark}" else self.why

    @property
    def unread(self) -> bool:
        """Whether nobody knows what it says: no more than a title is known."""
        return self.why == DUMP or (self.why == PROSE and bool(titles.telling(self.text)))

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object."""
        return {"cursor": self.cursor, "text": self.text, "mark": self.mark, "reason": self.why, "fact": self.fact}


def skipped_summary(skipped: Sequence[Skipped]) -> str:
    """How many lines change nothing, and how many of them the agent had marked to be kept."""
    count = f"Skipped {len(skipped):,} {'line' if len(skipped) == 1 else 'lines'}"
    kept = [(mark, sum(line.mark == mark for line in skipped)) for mark in KEEP_MARKS]
    named = ", ".join(f"{number:,} marked {mark}" for mark, number in kept if number)
    named = named.replace(" marked", " of them marked", 1)
    return f"{count}, {named}" if named else count


def facts_of(entry: HistoryEntry) -> tuple[list[Fact], list[Skipped]]:
    """The facts of one entry in order, those included that are `held`, and the lines left out with the reason."""
    if entry.raw:
        return [], [Skipped(entry.cursor, entry.content[:80], DUMP)]
    facts: list[Fact] = []
    skipped: list[Skipped] = []
    for mark, text, is_bullet, under in lines_of(entry.content.removesuffix(TRUNCATED_SUFFIX)):
        found = _fact(entry.cursor, mark, text, is_bullet=is_bullet)
        if isinstance(found, Fact):
            if kinds := {secret.kind for secret in secrets.find(found.text)}:
                why = f"it holds a secret: {', '.join(sorted(kinds))}"
                found = replace(found, text=secrets.mask(found.text), held=why)
            told = dates.absolute(found.text, entry.timestamp)
            facts += [replace(found, text=part, under=under) for part in (_parts(told) if found.held else (told,))]
        else:
            skipped.append(Skipped(entry.cursor, secrets.mask(text), found, mark))
    return facts, skipped


def _parts(text: str) -> list[str]:
    """A held line as lines that a file can take, cut between sentences where that is possible."""
    parts = [""]
    for sentence in split(text, spaced=True):
        for at in range(0, len(sentence), MAX_HELD):
            piece = sentence[at : at + MAX_HELD]
            if parts[-1] and len(parts[-1]) + 1 + len(piece) > MAX_HELD:
                parts.append(piece)
            else:
                parts[-1] = f"{parts[-1]} {piece}".strip()
    return list(filter(None, parts))


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
    found = _read(cursor, mark, text, file, is_bullet=is_bullet)
    if isinstance(found, Fact) and len(text) > MAX_FACT:
        return replace(found, held=f"longer than {MAX_FACT} characters")
    return found


def _read(cursor: int, mark: str | None, text: str, file: str, *, is_bullet: bool) -> Fact | str:
    """The fact in a line without marks, or why there is none."""
    if speech := _speech(text):
        if mark is None and SPEECH.fullmatch(text):
            return "talk"
        said, why = _said(speech["what"], mark)
        return why or Fact(f"{speech['who']}: {said}", cursor, mark, MEMORY, person=True)
    if mark in KEEP_MARKS:
        said, why = _told(text) if text.endswith(("?", "？")) or _greets(text) else (text, "")
        if mark not in ALWAYS_KEPT and not why:
            said, why = _settled(said)
        return why or Fact(said, cursor, mark, file)
    if text.endswith(("?", "？")):
        return "a question"
    if _SMALL_TALK.match(text):
        return "talk"
    if not is_bullet and not file and not _USER_PROSE.match(text):
        return PROSE
    text, why = _settled(text)
    return why or Fact(text, cursor, mark, file)


def _speech(text: str) -> re.Match[str] | None:
    """Who said what: `Gina said: …`, or `Gina: …` when that is told in the first person."""
    if said := SPEECH.fullmatch(text):
        return said
    named = _NAMED.fullmatch(text)
    if named and FIRST_PERSON.search(named["what"]) and named["who"].casefold() not in NO_NAMES:
        return named
    return None


def is_speech(text: str) -> bool:
    """Whether somebody named says it in the first person: `Gina: I lost my job.`"""
    return _speech(text) is not None


def stated(text: str, *, named: bool = False) -> str:
    """What of something said states a fact: without questions, greetings and reactions; "" when it is talk.

    `named`: it is told who said it."""
    said = _said(text, "durable")[0]
    return said if named or not said else _settled(said)[0]


def _settled(text: str) -> tuple[str, str]:
    """(`text` without the talk of somebody unnamed, "") or ("", why nothing is left)."""
    if says_nothing(text):
        return "", "talk"
    if not (FIRST_PERSON.search(text) or _OF_US.search(text)):
        return text, ""
    sentences = split(text, spaced=True)
    left = [sentence for sentence in sentences if not _idle(sentence)]
    if len(left) == len(sentences):
        return text, ""
    return " ".join(left), "" if left else "talk"


def says_nothing(sentence: str) -> bool:
    """Whether a sentence tells only what passes within the hour, or names a thing of which it says nothing."""
    return bool(_PASSING.fullmatch(sentence) or _FRAGMENT.fullmatch(sentence))


def _idle(sentence: str) -> bool:
    """Whether a sentence in the first person tells nothing by itself: it exclaims, or says "them" of nobody."""
    if says_nothing(sentence):
        return True
    if not (FIRST_PERSON.search(sentence) or _OF_US.search(sentence)) or _LASTING.search(sentence):
        return False
    told = [detail for detail in details(sentence) if not detail[:1].isdigit()]
    if _REACTION.search(sentence) or told:
        return not told and _REACTION.search(sentence) is not None
    return sentence.rstrip().endswith(("!", "！")) or _DANGLING.search(sentence) is not None


def _said(what: str, mark: str | None) -> tuple[str, str]:
    """(the sentences to remember, "") or ("", why none).

    What the agent marked as permanent or as a correction is remembered whole; of the rest only what states something.
    """
    text, why = _told(what)
    if why or mark in ALWAYS_KEPT:
        return text, why
    stated = " ".join(sentence for sentence in split(text, spaced=True) if _states(sentence))
    return stated, "" if stated else "talk"


def _told(text: str) -> tuple[str, str]:
    """(`text` without questions and bare greetings, "") or ("", why nothing is left)."""
    sentences = split(text, spaced=True)
    left = [s for s in sentences if not s.endswith(("?", "？")) and not _greets(s)]
    if left:
        return " ".join(left), ""
    return "", "a question" if text.rstrip().endswith(("?", "？")) else "a greeting" if sentences else "nothing said"


def _greets(text: str) -> bool:
    """Whether `text` is a greeting, thanks or praise and nothing else; read phrase by phrase, never back."""
    found, end = _GREETING.match(text), 0
    while found:
        end = found.end()
        found = _NEXT.match(text, end)
    return end > 0 and not text[end:].strip(" .!…,，。！-")


def _states(sentence: str) -> bool:
    """Whether a sentence of a conversation tells about a person, a preference, a decision or a fact."""
    if _REACTION.search(sentence) or says_nothing(sentence):
        return False
    patterns = (FIRST_PERSON, _OF_US, _OF_OTHERS)
    return _UNSAID.match(sentence) is not None or any(pattern.search(sentence) for pattern in patterns)


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
