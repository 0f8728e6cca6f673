"""Where a message stops being said and is a copy out of a chat or of mails: lines that begin as those of a log do.

Owns how Telegram, WhatsApp, Signal, Slack, Discord, Teams, LINE, WeChat, Zoom, IRC, subtitles and mail programs write
who said something, and when. Must not know what the lines say. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST = 2_000
"""Lines that are looked at."""
_ONESELF = frozenset({"me", "ich", "moi", "yo", "eu", "io", "ja", "я", "我", "私", "나"})
"""How the one who copies a chat stands in it."""
_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[.,]\d{3})?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun|today|yesterday|heute|gestern|hier|ayer|hoje|вчера|сегодня|昨天|今天)\w*\.?"
_DATE = (
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}[./-]\d{1,2}|\d{1,2}\.? [^\W\d_]{3,9}\.?,?(?: \d{4})?|"
    r"[^\W\d_]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?(?:, \d{4}|,? \d{4})?|\d{2,4}年\d{1,2}月\d{1,2}日)"
)
_STAMP = (
    rf"(?:{_DAY},? (?:at |um |à |в )?)?(?:{_DATE}(?:,? at|,|T| um)?\s{{0,2}})?{_TIME}(?:(?:,|\s) ?{_DATE})?"
    r"(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
)
"""A time, with or without its day, on either side."""
_NAME = r"(?:[@~+]?[^\W_][^\n:：<>\[\]()|\"“”]{0,40}?)"
_STAMPED = re.compile(
    # [10:01] Eve: …, [20/11/2026, 10:01:22] Eve: …, [10:01] <eve> …, [10:01 AM] Eve, [10:01] …
    rf"[\[【]{_STAMP}[\]】]\s*\S|"
    # 20/11/2026, 10:01 - Eve: …, 10:01 <eve> …, 10:01:22 From Eve to Everyone : …, 10:01 - Eve: …
    rf"(?:{_DATE},? ){_TIME}\s+[-–—|]?\s*{_NAME}[:：]\s|{_TIME}\s+[-–—|]\s+{_NAME}[:：]\s|"
    rf"\(?{_STAMP}\)?\s+<[^<>\s]{{1,32}}>\s|"
    rf"{_TIME}\s+From\s.{{1,80}}?\s?:\s|{_TIME}\t{_NAME}\t|"
    # Eve, [20.11.2026 10:01], Eve [10:01 AM]: …
    rf"{_NAME},?\s+[\[【]{_STAMP}[\]】][:：]?(?:\s|$)|{_NAME}\s+\({_STAMP}\)\s*[:：]|"
    # subtitles
    r"\d{1,2}:\d\d(?::\d\d)?[.,]\d{3}\s*(?:-->|,)\s*\d",
    re.IGNORECASE,
)
"""How a line begins with who said something and when: one is enough."""
_SIGNED = re.compile(
    r"(?P<name>[@~+]?[^\W\d_][\w.'’-]*(?: \(?[A-ZÀ-ÞА-Я@][\w.'’)-]*){0,3}"
    r"(?: \([^()\n]{1,20}\)|[^\w\s,:：.!?-]{1,4}| [^\w\s,:：.!?()—–|•·-]{1,4})?)"
    # Eve  10:01 AM, Eve — Today at 10:01, Eve 2026/11/20 10:01:22, Eve, Fri 10:01 AM, Eve 10:01 AM
    rf"(?:(?:\s{{2,}}|\t|\s+[—–|•·-]\s+|,?\s+(?=(?i:{_DAY})))(?i:{_STAMP})|,?\s+{_DATE},?\s+{_TIME}|,\s+{_TIME}|"
    r"\s\d{1,2}[:.]\d\d\s?[AaPp]\.?[Mm]\.?)\s*$"
)
"""A line of nothing but who said what follows, and when."""
_NICK = re.compile(r"(?:[\[(]?\d{1,2}:\d\d(?::\d\d)?[\])]?\s*)?<[@+%&~ ]?(?!br>|hr>)[\w\[\]\\`^{}|-]{1,30}>\s+\S")
_ALONE = re.compile(rf"\s*{_STAMP}\s*$", re.IGNORECASE)
"""A time that stands alone under a name, as Slack copies it."""
_BARE_NAME = re.compile(r"\s*(?:[A-ZÀ-ÞА-Я@][\w.'’-]*(?: [A-ZÀ-ÞА-Я(][\w.'’)-]*){0,3}|[㐀-䶿一-鿿가-힯぀-ヿ]{1,8})\s*$")
_SPEAKER = re.compile(
    r"\s*(?:[-*•]\s+)?\*{0,2}(?P<name>@?[^\W\d_][\w.'’-]*(?: [A-ZÀ-ÞА-Я(][\w.'’)-]*){0,2}|[㐀-䶿一-鿿가-힯぀-ヿ]{1,8})"
    r"\*{0,2}(?: ?[^\w\s,:：.!?()*\"'-]{1,4})?\s?[:：]\*{0,2}(?:\s|(?<=：)\S|$)"
)
"""How a line begins with who said something: two of them, or one of many."""
_NO_NAMES = frozenset(
    "note notes name names nickname address home office work job role title company team city town country "
    "place location e-mail email mail phone mobile tel telephone number birthday born age height weight size "
    "language languages timezone website site url link links date day days time times when where what who why "
    "how which start end deadline due budget price cost total amount currency account iban bank remember "
    "reminder reminders memo todo todos task tasks tip tips fyi ps p.s btw re edit update updates warning "
    "important goal goals plan plans project projects idea ideas topic subject question questions answer "
    "answers example examples summary context background preference preferences pref prefs like likes dislike "
    "dislikes hobby hobbies interest interests favourite favorite favourites favorites diet food drink drinks "
    "breakfast lunch dinner coffee tea water wine beer milk sugar meat fish music film films movie movies "
    "book books colour color allergy allergies medication health doctor dentist insurance pet pets cat dog "
    "car bike flight flights train hotel seat seats ticket tickets meeting meetings appointment shop shopping "
    "list lists rule rules fact facts decision decisions option options pro pros con cons first second third "
    "finally also one two three step steps morning noon afternoon evening night monday tuesday wednesday "
    "thursday friday saturday sunday weekend weekends january february march april may june july august "
    "september october november december always never from to cc bcc sent input output result results version "
    "server database db port host username login password os editor tool tools stack framework branch repo "
    "style format tone length code status priority tests test build deploy http https error info debug setup "
    "gym class school call run walk standup sync review actually anyway well so ok okay yes no hi hello hey "
    "sorry thanks please but and or if then because router fridge wifi network printer laptop computer son "
    "daughter wife husband brother sister mother father partner kids id channel chat session "
    "姓名 名字 地址 城市 电话 手机 邮箱 生日 年龄 备注 注意 记住 请记住 "
    "另外 偏好 喜好 爱好 饮食 过敏 工作 职业 公司 时间 地点 日期 例如 比如 总结 问题 答案 提示 决定 计划 目标".split()
)
"""Words before a colon that name what is told, and not who says it."""
_SPEAKERS = frozenset(
    "user assistant human ai bot system agent customer client support sender caller guest boss chief doctor nurse mark "
    "bill grant grace may rose robin frank jack hope faith joy dean ray pat art max victor chase cliff dale earl amber "
    "daisy holly iris lily violet olive pearl ruby".split()
)
"""Common words that are names of somebody, too."""


def begins(lines: Sequence[str]) -> int | None:
    """In which line a copy out of a chat begins, with all that follows; None where there is none."""
    speakers: list[tuple[int, str]] = []
    for at, line in enumerate(lines[:MOST]):
        bare = line.strip().lstrip("\u200e\u200f\u202a-\u202c> ")
        signed = _SIGNED.match(bare)
        spoken = _SPEAKER.match(bare)
        if _STAMPED.match(bare) or _NICK.match(bare) or (signed is not None and not _is_told_of(signed["name"])):
            return _first(speakers, at)
        if at and _ALONE.match(bare) and _BARE_NAME.match(lines[at - 1]) and not _is_told_of(lines[at - 1]):
            return _first(speakers, at - 1)
        if spoken is not None:
            speakers.append((at, spoken["name"].casefold()))
    somebody = [(at, name) for at, name in speakers if not _is_told_of(name)]
    whose = speakers if any(name in _ONESELF for _, name in somebody) else somebody
    return whose[0][0] if len(whose) > 1 else None


_PARTS_THAT_ASK = (
    "user|human|me|you|benutzer|nutzer|usuario|usuária|usuário|utilisateur|utente|gebruiker|пользователь|用户|用戶|ユーザー|"
    "사용자|我|私|나"
)
_PARTS_THAT_ANSWER = (
    "assistant|ai|bot|agent|model|chatgpt|claude|gemini|copilot|grok|llama|nanobot|assistent|asistente|assistente|"
    "ассистент|помощник|助手|助理|アシスタント|어시스턴트"
)
_ROLE = re.compile(
    rf"\s*(?:[-*>]\s+)?(?:#{{1,6}}\s+)?(?:[\[(【]?{_STAMP}[\])】]?\s*[-–—|]?\s*)?[*_]{{0,2}}"
    r"(?:[^\w\s*_#<>\[\](){}|\"'`:-]{1,4}\s*)?"  # a picture
    rf"(?:(?P<role>{_PARTS_THAT_ASK}|{_PARTS_THAT_ANSWER}|system|tool)[*_]{{0,2}}(?:\s(?:said|wrote))?"
    r"(?:\s?(?:\([^()\n]{1,40}\)|\[[^\[\]\n]{1,60}\]))?\s?(?:[:：][*_]{0,2}(?:\s|$)|：|:(?=[\u3040-\u9fff]))|"
    rf"<(?P<tag>{_PARTS_THAT_ASK}|{_PARTS_THAT_ANSWER})>|"
    rf"\{{\s?\"role\":\s?\"(?P<field>{_PARTS_THAT_ASK}|{_PARTS_THAT_ANSWER})\")|"
    rf"\s*#{{1,6}}\s+(?P<head>{_PARTS_THAT_ASK}|{_PARTS_THAT_ANSWER})\s*$",
    re.IGNORECASE,
)
"""How a line of a transcript names who speaks by the part that he has."""
_BULLETED = re.compile(r"\s*[-*]\s+\w")
_ASKS, _ANSWERS = frozenset(_PARTS_THAT_ASK.split("|")), frozenset(_PARTS_THAT_ANSWER.split("|"))
_SAYS = re.compile(
    rf"\s*(?:[-*>]\s+)?(?:(?:[\[(【]{_STAMP}[\])】]|{_STAMP}\s*[-–—|]?)\s*[*_]{{0,2}}"
    rf"(?:<(?P<nick>[^<>\s]{{1,32}})>|(?P<name>{_NAME})[*_]{{0,2}}\s?[:：])[*_]{{0,2}}\s|"
    rf"[*_]{{0,2}}(?P<before>{_NAME})[*_]{{0,2}}\s?[\[(]{_STAMP}[\])]\s?[:：][*_]{{0,2}}\s)",
    re.IGNORECASE,
)
"""How a line of a transcript begins with when, and who."""


def spoken(lines: Sequence[tuple[int, str]]) -> list[int]:
    """The numbers of the lines at which somebody begins to speak, where these lines hold a conversation: both parts of
    one with an agent, an agent and somebody who speaks twice, or two lines with a time and a name. None where they hold
    none."""
    roles: dict[int, str] = {}
    said: list[int] = []
    named: dict[str, list[int]] = {}
    for at, line in lines:
        if role := _ROLE.match(line):
            roles[at] = (role["role"] or role["tag"] or role["field"] or role["head"]).casefold()
        elif says := _SAYS.match(line):
            if not _is_told_of(says["nick"] or says["name"] or says["before"]):
                said.append(at)
        elif (speaker := _SPEAKER.match(line.lstrip("> "))) and not _is_told_of(speaker["name"]):
            named.setdefault(speaker["name"].casefold(), []).append(at)
    if len(roles) < 3 and all(_BULLETED.match(line) for at, line in lines if at in roles):
        roles = {}  # a list that names a user and an agent
    answers = bool({*roles.values()} & _ANSWERS)
    twice = [at for places in named.values() if len(places) > 1 for at in places]
    if answers and (said or twice or {*roles.values()} & _ASKS):
        return sorted([*roles, *said, *twice])
    return sorted(said if len(said) > 1 else ())


def _first(speakers: Sequence[tuple[int, str]], at: int) -> int:
    return min([at, *(place for place, name in speakers if not _is_told_of(name))])


def _is_told_of(name: str) -> bool:
    """Whether words before a colon name a thing that is told, or an order, and nobody."""
    from nanomem_tui.language.common_words import is_common

    words = name.casefold().lstrip("@~+(").rstrip(")").split()
    if words[0] in {"my", "our"} or name.startswith(("我的", "我们的")):
        return True
    if words[0] in _NO_NAMES or words[-1] in _NO_NAMES:
        return True
    return words[-1] not in _SPEAKERS and all(map(is_common, words))
