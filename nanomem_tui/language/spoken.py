"""How a statement is put, in ten languages: who is said to have said it, whom it is of, what it says is not so."""

from __future__ import annotations

import re

from nanomem_tui.language.detect import language_of
from nanomem_tui.language.statement import familiarity, statement
from nanomem_tui.language.topics import cues_of

_SAYS = re.compile(
    r"(?:(?:the )?user|she|he|they)(?: also)? (?:said|says|mentioned|told (?:me|us)|noted|stated|explained|added|"
    r"confirmed|shared|reported|revealed|clarified)(?: that)?[,:]? (?=\S)|"
    r"(?:ah|oh|ok(?:ay)?|yes|right|well|hey|so|btw|by the way)\b[\w ]{0,12}[.,!] (?=(?:remember|note)\b)|"
    r"(?:please )?(?:remember(?: that)?[:,]?|note that) (?=\S)|"
    r"(?:用户|她|他)(?:说|提到|表示|告诉助手|补充说?)[,,::]?\s*|"
    r"(?:请)?(?:记住|记一下)[,,::]?\s*|"
    r"(?:嗯|对了|哦|好的)[。,,!！]\s*(?:对了[,,]\s*)?|"
    r"(?:пользователь|она|он) (?:сказала?|упомянула?|сообщила?|добавила?|уточнила?)[:,]?(?: что)? |"
    r"(?:der |die )?(?:user|nutzer(?:in)?|benutzer(?:in)?|er|sie) (?:sagte?|erwähnte?|erzählte?)[:,]?(?: dass)? |"
    r"(?:el usuario|la usuaria) (?:dijo|mencionó|comentó)(?: que)? |"
    r"(?:l['’]utilisa(?:teur|trice)) a (?:dit|mentionné|précisé|glissé)(?: qu(?:e |['’]))?|"
    r"(?:l['’]utente) ha (?:detto|menzionato)(?: che)? |(?:o usuário|a usuária) (?:disse|mencionou)(?: que)? ",
    re.IGNORECASE,
)


def without_speaker(text: str, *, capital: bool = True) -> str:
    """Return a statement without the words that say who said it; its first letter large, unless `capital` is false.

    >>> without_speaker("User mentioned that she moved to Porto")
    'She moved to Porto'
    """
    found = _SAYS.match(text)
    while found is not None:
        text = text[found.end() :]
        text = text[:1].upper() + text[1:] if capital else text
        found = _SAYS.match(text)
    return text


_PRONOUN = re.compile(
    r"(?P<one>he|she|er|él|ella|elle|lui|lei|ele|ela|он|она|他|她)(?P<is>['’]s)?(?![\w'’的])"
    r"|(?P<whose>his|her)(?= \w)|(?P<cjk>[他她])(?=[\u3400-\u9fff])",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:the )?user\b|users?['’]s\b|(?:he|she|his|her|i|i['’]m|my|er|sie|ihr|sein|ich|él|ella|su|yo|il|elle|son|sa|je|"
    r"lui|lei|suo|sua|ele|ela|eu|он|она|его|её|ее|у него|у неё|ему|ей|я|мой|моя|пользователь)\b|"
    r"用户|[他她我]|本人|ユーザー|사용자",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-ZÀ-ÞА-ЯЁ][\w-]+")
_OPENS = frozenset(
    "the a an this that these those it its they we you there from since for in on at by with when if while after "
    "before no not never always also only new now both all each every one two three most some".split()
)


_WRONG = r"(?P<wrong>[^,.;,。；()（）]+?)"
_DENIED = (
    re.compile(
        rf"(?:\b(?:not|nicht|no|non|não|pas|не)\b\s*|不是){_WRONG}\s*[,,]?\s*"
        r"(?:\b(?:but|sondern|sino|ma|mas|mais)\b|,\s*а\b|[,,]\s*(?:而是|是))",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:[,;，；—–]\s*(?:(?:and |und |y |et |e )?\b(?:not|no longer|nicht(?: mehr)?|no|ya no|pas|plus|não|non|"
        r"а не|не)\b|而?不再?是|而非)|(?:[,;，；—–]|\s)\s*\b(?:instead of|rather than|statt|en vez de|au lieu de|"
        r"em vez de|invece di|а не|вместо)\b)"
        rf"\s*{_WRONG}\s*[.。!]?$",
        re.IGNORECASE,
    ),
)
"""`not X but Y`, and `Y, not X`."""


def denied_value(text: str) -> str:
    """Return what a statement says is not so; "" where it does not say.

    >>> denied_value("The office is in Osaka, not in Kyoto"), denied_value("Der Preis ist nicht 10, sondern 12")
    ('in Kyoto', '10')
    """
    found = next(filter(None, (pattern.search(text) for pattern in _DENIED)), None)
    return found["wrong"].strip() if found else ""


def without_denied(text: str) -> str:
    """Return a statement without `, not X` at its end.

    >>> without_denied("The office is in Osaka, not in Kyoto")
    'The office is in Osaka'
    """
    found = _DENIED[1].search(text)
    return text[: found.start()].rstrip().rstrip(",.。") if found else text


_SINCE = re.compile(
    r"[,，;；。]|\.\s|\.$|:\s|\s(?:since|as of|from|because|seit|ab|weil|desde|a partir|porque|depuis|dès|à partir|"
    r"parce|dal|da|perché|с|потому|так|to (?=live|be))\s(?=\S)|から(?!$)|부터"
)
"""Where what a statement says ends, and what it says of it begins: since when, why."""
_NOW = re.compile(
    r"^(?:now|jetzt|ahora|maintenant|agora|ora|теперь) | (?:now|jetzt|ahora|maintenant|agora|ora|теперь)$"
)
_MOVED = re.compile(
    r"\b(?:from|von|vom|de|du|da|dal|из|с|со)\s+(?P<a>[^,.;:，。；]{1,40}?)\s+"
    r"(?:to|zu|zum|zur|auf|nach|a|al|à|au|vers|para|na|на|в)\s+(?P<b>[^,;，；。]+?)\.?$|"
    r"从(?P<c>[^,，。；]{1,20}?)(?:换成|改成|改为|改到|搬到|调到|调整到|迁移到|迁到|转到|换到|到)(?P<d>[^,，。；了]+)"
)
"""`from A to B`."""
_BUT = re.compile(
    rf"(?:\b(?:not|nicht|no|non|não|pas|не)\b\s*|不是){_WRONG}\s*[,，]?\s*"
    r"(?:\b(?:but|sondern|sino|ma|mas|mais)\b|,\s*а\b|[,，]\s*(?:而是|是))\s*(?P<right>.+)",
    re.IGNORECASE,
)


def exchanged(text: str) -> tuple[str, str]:
    """Return (what a statement says is so no more, what is so instead), each "" where it does not say.

    >>> exchanged("The office is in Osaka since May, not in Kyoto"), exchanged("CI: moved from Jenkins to Buildkite")
    (('in Kyoto', 'in Osaka since May'), ('Jenkins', 'Buildkite'))
    """
    if found := _BUT.search(text):
        return _cut(found["wrong"]), _cut(found["right"])
    if found := _DENIED[1].search(text):
        wrong, said = _cut(found["wrong"]), text[: found.start()].rstrip(" ,;，；")
        words = wrong.split()
        at = said.find(f" {words[0]} ") if len(words) > 1 else -1
        if at >= 0:  # they begin alike: `with Otis, not with Kone`
            return wrong, said[at + 1 :]
        last = _cut(said).split()[-1]
        return (wrong, last) if len(words) == 1 and (wrong[:1].isupper() and last[:1].isupper()) else ("", "")
    if (found := _MOVED.search(text)) and "change" in statement(text).marks | cues_of(text):
        wrong, right = found["a"] or found["c"], _cut(found["b"] or found["d"])
        return wrong, right.split()[0] if wrong.isdigit() else right
    return "", ""


def _cut(text: str) -> str:
    """A value without since when it is so, and why."""
    found = _SINCE.search(text)
    return _NOW.sub("", (text[: found.start()] if found and found.start() else text).strip(" .。!"))


_ENDED = re.compile(
    r"\b(?:no longer|not any ?more|any ?more|nicht mehr|ya no|ne .{1,30} plus|non .{1,30} più|já não|больше не|"
    r"уже не)\b|"
    r"^(?:actually|correction)\b|不再|改成|改为|更正|其实|もう.+ない|더 이상",
    re.IGNORECASE,
)


def ended(text: str) -> bool:
    """Whether a statement takes back what was so before."""
    return _ENDED.search(text) is not None


_OWNER = re.compile(
    r"(?m)^\s*(?:[-*+]\s+)?\**(?:(?:full |first |preferred |user )?name|called|vorname|姓名|名字|имя|nombre|nome|nom|"
    r"prénom|名前|이름)\**\s*[:：]\**\s*([^\s,;(（,]+)",
    re.IGNORECASE,
)


def owner_of(user: str) -> str:
    """Return the name that a file about the user gives them; "" where it gives none.

    >>> owner_of("# User\\n- **Name**: Ana")
    'Ana'
    """
    found = _OWNER.search(user)
    return found[1].strip("*") if found else ""


def subject_of(text: str) -> str:
    """Return the name that a statement begins with; "" where it begins with another word."""
    found = _NAME.match(text.strip("*_ "))
    if found is None or found[0].isupper() or _PRONOUN.fullmatch(found[0]):
        return ""
    if found[0].casefold() in _OPENS or familiarity(found[0].lower(), language_of(text)) > 0.4:
        return ""
    return found[0] if text.strip("*_ ")[found.end() : found.end() + 1] in (" ", "'", "’") else ""


def with_subject(text: str, name: str) -> str:
    """Return a statement with a name in the place of the pronoun that it begins with.

    >>> with_subject("He is allergic to penicillin", "Eirik")
    'Eirik is allergic to penicillin'
    """
    found = _PRONOUN.match(text)
    if found is None or found["cjk"] or not name:
        return text
    ends = "'s" if found["whose"] or found["is"] else ""
    return f"{name}{ends}{text[found.end() :]}"


_POINTS = re.compile(r"(?:it|it['’]s|they|they['’]re|that['’]s|c['’]est|ça|cela|это)(?![\w'’])", re.IGNORECASE)


def points_back(text: str) -> bool:
    """Whether a statement begins with a word for something that was named before it.

    >>> points_back("It's 7.4 knots, not 7.2")
    True
    """
    return _POINTS.match(text.strip("*_ ")) is not None


def is_of(text: str, owner: str) -> bool:
    """Whether a statement begins with the person whose memory it is: by name, as the user, by a pronoun, or by no
    subject at all."""
    plain = text.strip("*_ -")
    if owner and owner.casefold() in plain[: len(owner) + 24].casefold():
        return True
    return _OWN.match(plain) is not None


_FIRST_PERSON = re.compile(
    r"(?i)\b(?:my|i'm|i’m|i am|i have|i was|i live|i work|mein(?:e|en|em|er)?|ich bin|ich habe|ich wohne|mi esposa|"
    r"mi esposo|mi hij[oa]|soy|je suis|j'ai|j’ai)\b|我(?:的|是|有|住|家)|私(?:の|は)|ผม|ฉัน|내 |저는|나는"
)


def of_oneself(text: str) -> str:
    """Return the first words by which somebody tells of themselves; "" where there are none.

    >>> of_oneself("Since May I work in Oslo")
    'I work'
    """
    found = _FIRST_PERSON.search(text)
    return found[0].strip() if found else ""


_DENIALS = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|neither|nothing|нет|не|ни|без|nicht|kein\w*|nie|ohne|pas|jamais|sans|sin|"
    r"nunca)\b|n['’]t\b|[不没無无未非别勿]|ไม่",
    re.IGNORECASE,
)


_REFUSES = re.compile(
    r"\b(?:no longer|stopped|quit|hate|dislike|avoid|can['’]t|больше не|перестал[аи]?|бросил[аи]?|ненавижу|терпеть|"
    r"никогда|hasse|odio|déteste|detesto)\b|讨厌|討厭|戒|嫌い|싫",
    re.IGNORECASE,
)
"""What denies or refuses without a word of denial."""


def refuses(text: str) -> bool:
    """Whether a text denies something, or says that somebody will not or can not have it."""
    return denials(text) > 0 or _REFUSES.search(text) is not None


def denials(text: str) -> int:
    """Return how many words of a text deny something."""
    return len(_DENIALS.findall(text))


_FIELD_OF_NAME = re.compile(
    r"^\s*(?:[-*+]\s+)?(?:\*\*)?(?:(?:full |first |preferred )?name|called|姓名|名字|称呼|昵称|名前|ชื่อ)"
    r"(?:\*\*)?\s*[:：]\s*(?:\*\*)?\s*([^\n(（]{1,60})",
    re.IGNORECASE | re.MULTILINE,
)


def names_given(user: str) -> list[str]:
    """Return what a file about the user says they are called, field by field."""
    return [found[1] for found in _FIELD_OF_NAME.finditer(user)]


_ROLES = re.compile(
    "用户的?|使用者|[他她我]的?|会|主人的?|记住|请记住|叫做?|的|是|在|了|ユーザー(?:は|の)?|ผู้ใช้(?:ชื่อ)?"
)


def without_roles(text: str) -> str:
    """Return a text in a script without spaces, without particles and the words for the user."""
    return _ROLES.sub("", text)
