"""What an English sentence says of whom: an attribute and its value, a choice, or that something is or is not so.

Owns the patterns. Careful by intent: what is uncertain, past, planned, of a time or of a condition says nothing here;
so does what somebody may have several of. Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from nanomem_tui.curation import said_words as known
from nanomem_tui.curation.said import Said
from nanomem_tui.dream.claims import current_value, cut
from nanomem_tui.stemming import stem

_I = re.IGNORECASE
MOST_WORDS = 16
"""Words of a sentence of which it is compared that it is or is not so."""
_SHORT = (
    (re.compile(r"\b(do|does|is|are|has|have|should|must|would|could|did|was|were|had)n['’]t\b", _I), r"\1 not"),
    (re.compile(r"\bcan(?:['’]t|not)\b", _I), "can not"),
    (re.compile(r"\bwon['’]t\b", _I), "will not"),
    (re.compile(r"\bI['’]m\b", _I), "I am"),
    (re.compile(r"\b(I|we)['’]ve\b", _I), r"\1 have"),
    (re.compile(r"^dont\b|(?<= )dont\b", _I), "do not"),
)
_OPENING = re.compile(
    r"\s*(?:[-*+•]\s+)?(?:(?:please )?(?:remember|note)(?: that\b|:)\s*|(?:the )?user (?:said|says|mentioned|stated) "
    r"(?:that )?(?:they |he |she )?(?=is |lives |has |likes |prefers |does |works )|"
    r"(?:no|correction|update|fyi|actually),? +(?!longer|more|one|[a-z]+ (?:is|are) )|correction: ?|update: ?)?",
    _I,
)
_NOW = re.compile(
    r"\b(?:right now|as of now|these days|at the moment|at present|now|currently|presently|actually|really|still|"
    r"already|nowadays|by now|of course|definitely)\b[, ]*|(?<=\w),? since [^,;]+$|,? anymore$|,? any more$|,? at all$",
    _I,
)
_SET = re.compile(
    r"\b(?:(?:was|has been|have been|got|is|has) (?:now )?(?:changed|moved|set|updated|renamed|switched|postponed|"
    r"brought forward|raised|lowered|upgraded|migrated)|(?:changed|moved|switched)) to\b",
    _I,
)
_SURELY_OPEN = frozenset(
    "maybe perhaps might could would probably possibly presumably apparently unsure if unless when whenever while "
    "during sometimes often usually mostly occasionally rarely seldom formerly previously once plans planning planned "
    "hopes hoping considering thinking until till before after ago yesterday tomorrow tonight today except but "
    "although though only just both either neither nor another other second some depending depends".split()
)
"""Words that open a sentence by themselves: most sentences with one need no closer look."""
_MOVED = re.compile(r"(?:now |just |recently )?moved to ", _I)
_OPEN = re.compile(
    r"\b(?:maybe|perhaps|might|could|would|probably|possibly|presumably|apparently|unsure|not sure|if|unless|when|"
    r"whenever|while|during|sometimes|often|usually|mostly|occasionally|rarely|seldom|(?:on |at )?weekends?|"
    r"(?:on )?weekdays|used to|former|formerly|previous|previously|once|was|were|had|did|will|shall|plans?|planning|"
    r"planned|wants? to|hopes?|hoping|considering|thinking|until|till|before|after|ago|yesterday|tomorrow|"
    r"tonight|today|temporar\w+|except|but|although|though|only|just|both|either|neither|nor|another|other|second|"
    r"some|depending|depends|for now|for the (?:time|moment|summer|winter|week|month)|for a|(?<!years )(?<!year )old|originally|in the past|"  # noqa: E501
    r"(?:last|next|this|every|each|most|one of) \w+|as an? (?:child|kid|student|teenager)|(?:in|by|as of|from|around) "
    r"(?:(?:early|late|mid|the)[- ])?(?:(?:19|20)\d\d|jan\w*|feb\w*|mar(?:ch)?|apr\w*|june?|july?|aug\w*|sep\w*|"
    r"oct\w*|nov\w*|dec\w*|spring|summer|autumn|fall|winter)|not (?:only|just|always|all|every|necessarily|yet|"
    r"everyone|everything)|no more than|no one|nobody|nothing|none|supposed|seems?|likely|guess|think|believes?|"
    r"wonders?|asked|says?|said|temporary|trial|draft|e\.g|ex-\w+|whether|what|why|how)\b|\?",
    _I,
)
_PRONOUN = re.compile(r"(?:he|she|it|they|this|that|these|those|there|you|his|her|their|its|your|here|who|which)\b", _I)
_USER = re.compile(r"(?:(?:the |this )?user|i|we|me)\b\s*(?!['’])", _I)
_NAMED = re.compile(
    r"(?!(?:The|A|An|My|Our|All|No|New|Please|Do|If|On|In|At|For|Use|Always|Never)\b)(?P<who>[A-Z][\w-]*(?: [A-Z][\w-]*){0,2}) (?=[a-z])"  # noqa: E501
)
_BARE = re.compile(
    r"(?:lives?|living|based|works?|prefers?|has|is|weighs|moved|resides?|likes|loves|hates|dislikes|enjoys|does|can|"
    r"drinks|eats|smokes|uses|allergic|drives|owns|speaks|plays|never|always|no longer|stopped|quit|married|single)\b",
    _I,
)
_PLACE = re.compile(
    r"(?:lives?|living|is living|am living|resides?|is residing|is based|am based|based|is located|relocated|moved) "
    r"(?:in|to) (?P<value>(?:the )?(?-i:[^\Wa-z\d_]).*)",
    _I,
)
_WORK = re.compile(
    r"(?:works?|is working|am working|is employed|am employed) (?:at|for|by) (?P<value>(?-i:[^\Wa-z\d_]).*)", _I
)
_AGE = re.compile(
    r"(?:is|am|turned)?\s*(?:aged )?(?P<value>\d{1,3}|[a-z]+(?:-[a-z]+)?)(?: years? old| years? of age)", _I
)
_BORN = re.compile(r"(?P<who>.*?)\s*\b(?:was|is|am|were) born (?P<how>on|in) (?P<value>.+)", _I)
_CALLED = re.compile(r"(?:is|am) (?:called|named) (?P<value>(?-i:[^\Wa-z\d_]).*)", _I)
_STATUS = re.compile(r"(?:is|am)? ?(?P<value>single|married|divorced|widowed|engaged)(?: to .+)?", _I)
_HANDED = re.compile(r"(?:is|am) (?P<value>left|right)[- ]handed", _I)
_TALL = re.compile(r"(?:is|am) (?P<value>\d[\d.,]* ?(?:cm|m|ft|feet)) tall", _I)
_WEIGHS = re.compile(r"weighs? (?P<value>\d[\d.,]* ?(?:kg|kilos?|lbs?|pounds?))", _I)
_HAS = re.compile(
    r"(?:has|have|owns?) (?P<value>no|\d+|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) "
    r"(?P<what>(?:[a-z]+ ){0,2}[a-z]+)",
    _I,
)
_OVER = re.compile(
    r"(?:prefers?|uses?|choose|chooses|pick|picks|wants?) (?P<value>.+?) (?:over|rather than|instead of|and not|not|to) "  # noqa: E501
    r"(?P<less>.+)",
    _I,
)
_REPLY = re.compile(
    r"(?:(?:(?:the )?user |i )?(?:prefers?|wants?|expects?) (?:(?:all |the |your |my )?(?:replies|answers|responses|"
    r"messages|communication|conversations?|to (?:chat|talk|communicate|write|speak|converse|be answered))) in |"
    r"(?:please )?(?:always )?(?:answer|reply|respond|write|speak|talk)(?: to (?:me|the user|user|us))?(?: me)? in )"
    r"(?P<value>\w+)",
    _I,
)
_MEAT = re.compile(r"(?:is|am) (?:an? )?(?:strict )?(?:vegetarian|vegan)$", _I)
_ATTRIBUTE = re.compile(
    r"(?:(?P<own>my|our|the user['’]s|user['’]s|users['’]|the|(?-i:[A-Z])[\w-]*(?: (?-i:[A-Z])[\w-]*)?['’]s?) )?"
    r"(?P<what>[\w'’./-]+(?: [\w'’./-]+){0,5}?)(?: (?:is|=) |\s?[:=] ?)(?P<value>\S.*)",
    _I,
)
_OF = re.compile(r"(?P<what>.+?) (?:of|for) (?:the |my |our )?(?P<who>.+)", _I)
_NO_VALUE = re.compile(
    r"(?:not|no|never|unknown|unclear|undecided|tbd|tba|n/a|none|a secret|too|very|so|as|in|on|at|about|around|approx\w*|"  # noqa: E501
    r"over|nearly|almost|under|between|roughly|up to|more|less|close|near|due|being|similar|different|available|"
    r"important|needed|required|missing|wrong|correct|good|bad|fine|ok|okay|great|changing|still|there|here|"
    r"(?:a|an) (?:bit|lot|little|matter))\b",
    _I,
)
_ABOUT = re.compile(
    r"\b(?:about|around|approx\w*|roughly|nearly|almost|over|under|at least|at most|circa|ca)\b|[~≈<>±]"
)


def read(sentence: str) -> Iterator[Said]:
    """What one sentence says."""
    words = {*sentence.lower().split()}
    if _SURELY_OPEN & words:
        return
    plain = _plain(sentence)
    if "born" in words and (born := _BORN.fullmatch(plain)):
        yield from _born(born)
        return
    if "to" in words and not _MOVED.match(_who(plain)[1]):
        plain = _SET.sub("is", plain)
    plain = " ".join(_NOW.sub("", plain).split()).strip(" ,")
    if not plain or _OPEN.search(plain) or _PRONOUN.match(plain):
        return
    if found := _REPLY.fullmatch(plain):
        if found["value"].lower() in known.LANGUAGES:
            yield Said("user|reply language", found["value"], "name")
        return
    who, rest = _who(plain)
    if rest:
        yield from _of_person(who, rest)
    if not rest or who == "user" or _ATTRIBUTE.match(plain):
        yield from _attribute(plain)
    yield from _choice(who or "", rest or plain)
    yield from _so_or_not(plain)
    yield from _slots(plain)


def _plain(sentence: str) -> str:
    opening = _OPENING.match(sentence)
    plain = sentence[opening.end() :] if opening else sentence
    if "'" in plain or "’" in plain or "cannot" in plain or "dont" in plain:
        for short, long in _SHORT:
            plain = short.sub(long, plain)
    return plain.strip(' .!;,\t\n"“”')


def _who(plain: str) -> tuple[str, str]:
    """Of whom a sentence speaks, and what stands behind; ("", "") where nobody is named."""
    if (user := _USER.match(plain)) is not None:
        return "user", plain[user.end() :]
    if _BARE.match(plain):
        return "user", plain
    named = _NAMED.match(plain)
    return (named["who"].lower(), plain[named.end() :]) if named else ("", "")


def _born(found: re.Match[str]) -> Iterator[Said]:
    who = found["who"].strip()
    name = "user" if not who or _USER.fullmatch(who) else who.lower()
    if _PRONOUN.match(who):
        return
    value = found["value"]
    dated = bool(re.search(r"\d", value)) or value[:3].lower() in known.MONTHS
    if dated:
        yield Said(f"{name}|birthday", value, "date")
    elif found["how"] == "in":
        yield Said(f"{name}|birthplace", cut(value)[0], "place")


def _of_person(who: str, rest: str) -> Iterator[Said]:
    for pattern, name, form in (
        (_PLACE, "home", "place"), (_WORK, "employer", "name"), (_AGE, "age", "number"), (_CALLED, "name", "name"),
        (_STATUS, "marital status", "word"), (_HANDED, "hand", "word"), (_TALL, "height", "number"),
        (_WEIGHS, "weight", "number"),
    ):  # fmt: skip
        if (found := pattern.fullmatch(rest)) is not None:
            value = _value(found["value"])
            if value:
                yield Said(f"{who}|{name}", known.NUMBERS.get(value.lower(), value), form)
            return
    if _MEAT.fullmatch(rest):
        yield Said(f"{who}|± {' '.join((stem('eat'), 'meat'))}", "no", "so")
    if (has := _HAS.fullmatch(cut(rest)[0])) is not None:
        count = "0" if has["value"].lower() == "no" else known.NUMBERS.get(has["value"].lower(), has["value"])
        what = has["what"].lower().split()
        yield Said(f"{who}|has {' '.join((*what[:-1], stem(what[-1])))}", count, "number")


def _attribute(plain: str) -> Iterator[Said]:
    found = _ATTRIBUTE.fullmatch(plain)
    if found is None:
        return
    own, what = (found["own"] or "").lower().replace("’", "'"), _name(found["what"])
    of = _OF.fullmatch(what)
    if of is not None and what not in known.SAME_NAME:
        what = f"{of['who']} {of['what']}"
    what = known.SAME_NAME.get(what, what)
    words = what.split()
    if not words or not _is_one(what, words):
        return
    what = re.sub(r"'s\b|(?<=s)'", "", what)
    who = "user" if own in ("my", "our", "the user's", "user's", "users'") else own.removesuffix("'s").rstrip("'")
    who = "" if who == "the" else who
    if not who and (what in known.PERSONAL or what == "home" or words[0] == "favorite"):
        who = "user"
    if not who and len(words) < 2:
        return
    value = _value(found["value"])
    if value and not _NO_VALUE.match(value) and not _ABOUT.search(value):
        yield Said(f"{who}|{what}", value, _form(what))


def _name(what: str) -> str:
    plain = what.lower().replace("’", "'").replace("favourite", "favorite").replace("colour", "color").strip("* _`")
    for long in ("time zone", "phone number", "e-mail address", "email address", "ip address"):
        plain = plain.replace(long, known.SAME_NAME[long])
    return plain.replace("e-mail", "email")


def _is_one(what: str, words: list[str]) -> bool:
    """Whether an attribute has one value at a time, and says of what."""
    owners = {word.removesuffix("'s").rstrip("'") for word in words if "'" in word}
    if any(owner in known.MANY or owner.removesuffix("s") in known.MANY for owner in owners):
        return False
    last = words[-1]
    plural = last.endswith("s") and not last.endswith(("ss", "us", "os", "address", "status"))
    if plural or (owners and last == words[0]):
        return False
    return last in known.SINGLE or words[0] in known.MARKED_ONE or what in known.PERSONAL or what == "home"


def _form(what: str) -> str:
    last = what.rsplit(maxsplit=1)[-1]
    if last in ("birthday", "deadline", "date"):
        return "date"
    if last in ("home", "city", "country", "hometown", "birthplace", "location", "venue", "region"):
        return "place"
    return "zone" if last == "timezone" else "name"


def _value(text: str) -> str:
    """A value without what is told beside it."""
    plain = cut(current_value(text))[0].strip(" .,;!\"'“”`*")
    return plain if len(plain) <= 60 else ""


def _choice(who: str, rest: str) -> Iterator[Said]:
    found = _OVER.fullmatch(rest)
    if found is None or (found["value"].lower().startswith("to ") and " to " in rest[8:]):
        return
    one, other = _words(found["value"]), _words(found["less"])
    if one and other and one != other:
        first, second = sorted((" ".join(one), " ".join(other)))
        yield Said(f"{who or 'user'}|{first} or {second}", " ".join(one), "word")


_DENIAL = frozenset(("not", "never", "no"))
_STOPPED = frozenset("stopped quit".split())
_SILENT = frozenset("the a an any am is are be do does please always user i me my to longer and very".split())
_FINITE = frozenset(
    "is are am has have does do can must should likes loves hates dislikes enjoys eats drinks uses wants needs prefers "
    "speaks knows smokes drives owns plays works like love hate dislike enjoy eat drink use want need prefer speak "
    "know smoke drive own play work supports runs requires allows accepts trusts wears watches reads keeps support run "
    "require allow accept trust wear watch read keep quit stopped detests detest adores adore takes take sends send".split()  # noqa: E501
)


def _so_or_not(plain: str) -> Iterator[Said]:
    """That something is so, or is not: all words of the sentence in order, without the denial."""
    text = re.sub(r"\bgave up\b|\bgiven up\b", "stopped", plain, flags=_I)
    text = re.sub(r"\b(?:is|am) (?:an? )?(?:big )?(?:fan of|fond of|into|keen on)\b", "likes", text, flags=_I)
    text = re.sub(r"\bcan not stand\b", "hates", text, flags=_I)
    text = re.sub(r"\b(?:has|have) (?:an? )?(\w+) allergy\b", r"is allergic to \1", text, flags=_I)
    words = re.findall(r"[^\W_](?:[\w'’./+#-]*[\w+#])?", text.lower())
    if not 2 <= len(words) <= MOST_WORDS or not _FINITE.intersection(words):
        return
    yes, kept = True, list[str]()
    for at, word in enumerate(words):
        if word in _DENIAL or word in _STOPPED:
            yes = not yes
            continue
        base = _stem(word)
        if base in known.DISLIKES:
            yes, base = not yes, "like"
        if base in known.LIKES and at < 4:
            base = "like"
        if word not in _SILENT:
            kept.append(base)
    if sum(word in _DENIAL or word in _STOPPED for word in words) > 1 or not kept:
        return
    who = _who(plain)[0] or ("user" if re.match(r"(?:my|the user['’]s|user['’]s)\b", plain, _I) else "")
    if who and who != "user":
        kept = kept[len(who.split()) :] or kept
    if len(kept) > 1 or who:
        yield Said(f"{who}|± {' '.join(kept)}", "yes" if yes else "no", "so")


_IRREGULAR = {"has": "have", "does": "do", "peanuts": "peanut", "drinking": "drink", "using": "use", "used": "used"}


@lru_cache(8192)
def _stem(word: str) -> str:
    plain = _IRREGULAR.get(word, word)
    base = stem(plain) if plain.isascii() and plain.isalpha() else plain
    return {"hate": "hate", "hat": "hate", "dislik": "dislike", "lik": "like", "lov": "love"}.get(base, base)


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w'’./+#-]+", text.lower()) if word not in ("the", "a", "an", "using")]


_NUMBER = re.compile(r"[$€£]?\d[\d.,:]*(?:%|[a-z]{1,2})?")
_MEASURES = frozenset(
    "is are has have costs takes needs requires lasts weighs allows holds contains supports stores port seats every "
    "exactly after within".split()
)
_AT_TIME = re.compile(r"(?:is|starts|begins|ends|opens|closes|wakes up|gets up|goes to bed) at$")
_ON_DAY = re.compile(r"(?:(?:is|starts|begins|ends|takes place|falls)(?: on| every| in)?|is due(?: on)?)$")
_WAYS = re.compile(r"\b(?:is|are|prefers?|uses?|keep|write|be|stays?|remains?|make|set to|turned|in|with|has|wants?)\b")
_MADE_OF = re.compile(r"(?:uses|runs|requires|needs|targets|is on|runs on) (?-i:[a-z][\w.]*)$", _I)


def _slots(plain: str) -> Iterator[Said]:
    """The sentence with one of its words left open, of which only one can stand there."""
    words = plain.lower().replace("grey", "gray").split()
    if not 3 <= len(words) <= MOST_WORDS or _ABOUT.search(plain):
        return
    for at, written in enumerate(words):
        word = written.strip(".,;:!()\"'")
        before = " ".join(words[:at])
        kind = ""
        if at and _NUMBER.fullmatch(word):
            if (
                words[at - 1] in _MEASURES
                or _AT_TIME.search(before)
                or (at == len(words) - 1 and _MADE_OF.search(before))
            ):
                kind = "number"
        elif at and (group := known.GROUP_OF.get(word)) is not None:
            fits = _ON_DAY.search(before) if group >= known.FIRST_FEW else _WAYS.search(before)
            kind = f"way {group}" if fits else ""
        if kind and not (kind == "number" and words[0] in ("bought", "paid", "ate", "room", "ticket")):
            rest = [one for one in (*words[:at], f"<{kind}>", *words[at + 1 :]) if one not in ("the", "a", "an")]
            yield Said(f"|{' '.join(_as_user(rest))}", word, "number" if kind == "number" else "way")


def _as_user(words: list[str]) -> list[str]:
    return [
        "user" if word == "i" else "prefers" if word == "prefer" else "is" if word == "am" else word for word in words
    ]
