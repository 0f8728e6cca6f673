"""Whether a person asks that something not be remembered, in English and Chinese.

Owns the words of that wish: who says no to keeping (an order, a wish, a wish in the passive), what keeping is, and of
what. One such sentence is enough for its whole message. Where it is not sure it takes the wish for one: what is lost is
told, and what is kept against a person's will is not taken back. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nanomem_tui.language.simplified import simplified

_OBJECT = r"(?:this|that|it|these|those|them|any(?:thing)?(?: of (?:this|that|it|these))?|the (?:following|above))"
_OF_A_PROGRAM = (
    r"(?:files?|code|work|changes?|drafts?|outputs?|logs?|edits?|tabs?|commits?|branch(?:es)?|errors?|exceptions?|"
    r"tokens?|values?|variables?|requests?|queries|results?|pages?|images?|plots?|tables?|models?|scripts?|settings|"
    r"money|seats?|time)\b"
)
_SOMEWHERE_ELSE = (
    r"(?:to|in|into|on|as|under|inside|with) (?:(?:a|an|the|my|our|plain|local|session) ){0,2}(?:\w+ )?(?:files?|disk|"
    r"desktop|folder|database|db|git|repo|branch|caches?|cookies?|variables?|localstorage|drive|table|class|state|"
    r"function|usb|png|pdf|csv|json|jpe?g|text|fridge)\b"
)
_THIS = rf"{_OBJECT}\b(?!\s+{_OF_A_PROGRAM}|\s+{_SOMEWHERE_ELSE})"
_MINE = (
    rf"(?:my|our) (?!(?:\w+ )?{_OF_A_PROGRAM})[\w' ]{{2,30}}?(?=\s*(?:[:,.;!—–-]|$)|\s+(?:that|because|as|in (?:your )?"
    r"(?:memory|notes|records)|on (?:file|record)|anywhere|anymore|please|it's|is|and|i|either)\b)"
)
_WHAT = rf"(?:{_THIS}|{_MINE}|what (?:i|we)\b)"
_MEMORY = (
    r"(?:your |the |long[- ]term |permanent )*(?:memor(?:y|ies)|notes?|notebook|records?|profile|files|logs?|database)"
)
_AND = r"(?:(?:,| or| and| nor) (?!i\b)[a-z]+)?"
_RECALL = (
    rf"(?:remember(?:ing)?|memori[sz](?:e|ing)|keep(?:ing)? in mind|bear(?:ing)? in mind){_AND}"
    r"(?=\s*(?:[:,.!;—–-]|$|this|that|it\b|these|those|them|the following|anything|any of|what|my|our|i\b|me\b|about|"
    r"where|how|any))"
)
_RECORD = "|".join(
    (
        (
            r"(?:(?:sav|stor|captur|archiv|retain|not)(?:e|ing)?|record(?:ing)?|log(?:ging)?|hold(?:ing)? on to)"
            rf"{_AND}(?: {_WHAT}|(?=\s*:))"
        ),
        rf"(?:writ|jott?|tak|not)(?:e|ing)? (?:down {_WHAT}|(?:{_OBJECT}|(?:my|our) [\w' ]{{2,30}}?) down\b)",
        (
            rf"(?:keep|writ)(?:e|ing)? (?:{_MINE}|{_OBJECT}(?=\s*(?:[:,.;!—–-]|$)|\s+(?:in {_MEMORY}|in mind|"
            r"on (?:file|record)|anywhere|for later|please|and|but|because|i|message|chat|conversation|information|"
            r"detail|fact|number|address|data)\b))"
        ),
        r"(?:mak|tak|keep)(?:e|ing)? (?:a |any |no )?(?:mental )?(?:note|record|memo|log)s?\b",
        rf"(?:put|add|commit|enter|writ|sav|stor|keep)\w* (?:[\w']+ ){{1,4}}(?:to|in|into) {_MEMORY}\b",
    )
)
_KEEP = rf"(?:{_RECALL}|{_RECORD})"
_KEPT = (
    r"(?:remembered|memori[sz]ed|saved|stored|recorded|logged|kept|captured|retained|archived|noted|(?:written|jotted|"
    rf"noted|taken) down|on (?:file|record)|(?:in|part of) {_MEMORY})(?!\s+{_SOMEWHERE_ELSE}|\s+(?:for|by) (?!you|me|"
    r"now|later))"
)
_NOT_YOU = (
    r"(?:didn't|did not|don't|do not|(?:to )?not(?: to)?|(?:to )?never|wouldn't|would not|won't|will not|can't|cannot|"
    r"couldn't)"
)
_ORDER = (
    r"(?:do not|don't|dont|do n't|never|please not|not to|need not|needn't|(?:must|should|may|can|shall) ?(?:not|n't)|"
    r"(?:can|could|would|will) you (?:please |kindly |just )?not|you can(?:'t|not)|let's not|mind not|better not|stop|"
    r"quit|avoid|refrain from|no (?:need|reason|point)(?: for you)? to|no need for|not (?:allowed|supposed|permitted|"
    r"meant) to|without|rather not)\s+(?:(?:ever|please|try to|have to|need to|want you to|bother to|dare(?: to)?|"
    r"go and|just|even|you dare(?: to)?)\s+){0,2}(?:[a-z]+ n?or )?"
)
_I_WISH = (
    r"(?:\bi(?:'d| would|'ll| do)?(?: really| much| strongly| also)* (?:rather|prefer|like|appreciate|love|wish|hope|"
    r"want|ask|request|need|be (?:glad|happy|happier|grateful|obliged))|(?:better|best|nice|kind|great|good|please|"
    r"mind) if|make sure|ensure|promise(?: me)?|beg you|ask you)(?: (?:it|that|if|for|to)){0,3}"
)
_I_DO_NOT_WISH = (
    r"\b(?:i|we)(?:'d| would)?(?: really| also| definitely| absolutely| strongly| just| still)* (?:don't|dont|do not|"
    r"wouldn't|would not|never|no longer|not)(?: really| ever)? (?:want|wish|like|need|consent|agree|allow|permit|"
    r"authori[sz]e|expect)(?: for| to)?"
)
_SUBJECT = (
    r"(?:this|that|it|these|those|the (?:following|above)|any(?:thing)?(?: of| about) [\w' ]{2,30}?|(?:my|"
    r"our) [\w' ]{2,30}?|what i "
    r"[\w' ]{2,40}?)"
)
_WILL = "|".join(
    (
        rf"\b(?P<order>{_ORDER})",
        rf"{_I_WISH} (?:you|u|nanobot) {_NOT_YOU} (?:(?:ever|even) )?",
        rf"{_I_DO_NOT_WISH} (?:you|u|nanobot|anyone|anybody) (?:to )?(?:ever )?",
        (
            r"\b(?:forbid you|object to your?|(?:no|not|n't)(?: [\w']+){0,3} (?:permission|consent|"
            r"right)(?: for you)?)(?: to)? "
        ),
    )
)
_PASSIVE = "|".join(
    (
        rf"{_I_WISH} {_SUBJECT} (?:wasn't|weren't|isn't|not|was not|were not|never)(?: to)?(?: be)?",
        rf"\b(?:rather|prefer to|prefer) not (?:to )?have {_SUBJECT}",
        rf"{_I_DO_NOT_WISH} {_SUBJECT}(?: to)?(?: be| being| get)?",
        (
            rf"\b{_SUBJECT} (?:(?:should|must|may|can|shall|ought|needs?|does|do)(?: ?not|n't| never)(?: to| need to| "
            r"have to)?|(?:is|are) not (?:meant |supposed |allowed )?to) be"
        ),
        r"(?:^|[.!?;:,]) ?not to be",
        r"\b(?:none|nothing) of (?:this|that|it|what i \w+)\b.{0,20}?",
    )
)
_ENGLISH = "|".join(
    (
        f"(?:{_WILL}){_KEEP}",
        f"(?:{_PASSIVE}) {_KEPT}",
        rf"\boff the record\b|(?:\bnot|n't) (?:for|on) (?:the record\b|your {_MEMORY})|\bskip (?:the |your )?memory\b",
        r"\bno (?:notes|records?|recording|saving|storing|logging) (?:please|(?:of|about|on) (?:this|that|it|me))\b",
        rf"{_I_WISH} you forg(?:et|ot) {_WHAT}",
        (
            rf"\b(?:keep|leave|exclude|omit) (?:{_OBJECT}|(?:my|our) [\w' ]{{2,30}}?) (?:out of|off|from) "
            rf"{_MEMORY}\b"
        ),
        r"\bkeep (?:this|that|it) to yourself\b",
    )
)
_TOLD = re.compile(
    r"\b(?:i|we|he|she|they|who|people|everyone|everybody|most|why|parents|kids|children|friends|colleagues|(?:my|our|"
    r"his|her|their|the|some|many) \w+s)(?: (?:really|just|usually|often|always|still|simply|also|mostly|generally|"
    r"sometimes|probably|honestly|normally|typically))?\s+$",
    re.IGNORECASE,
)
"""Before an order: somebody of whom it is told, so that it is none."""
_REPROACH = re.compile(r"(?:do not|don't|dont|never)\s+(?:(?:ever|even)\s+)?remember", re.IGNORECASE)
"""After “you”: that it was forgotten, and no order."""

_NO_ZH = (
    r"(?:不要|(?<![特区级分性识辨个告差类派职])别|不用|不必|不需要?|无需|无须|请?勿|不许|不准|甭|没有?必要|用不着|禁止|"
    r"拒绝|(?:你|您|这个?|那个?|此事|它|事|话|内容|信息|也|都|绝对|千万)(?:不能|不可以?|不得|不该|不应该?))"
)
_WISH_ZH = r"(?:不想要?|不愿意?|不希望|不同意|不允许|不乐意|不喜欢|不打算|不准备|不接受|不赞成)"
_BY_YOU_ZH = r"(?:让|叫|请|由)?(?:你|您|AI|机器人|系统|助手|任何人|谁)"
_OFTEN_ZH = (
    r"(?:(?:让|叫)?(?:你|您|系统|机器人|助手)(?![们的])|再|去|来|帮我|给我|替我|为我|把它|将它|擅自|自动|偷偷|随便|一直|"
    r"长期|都|给|往|也)*"
)
_RECORD_ZH = "[记纪]录"
_LEFT_ZH = rf"(?:留下?|做|作)(?:任何)?(?:{_RECORD_ZH}|存档|备份|笔记|痕迹)"
_KEEP_ZH = (
    rf"记(?!错|混|恨|仇|者|忆力|性|录片|笔记|单词|账|帐|事本)|纪录(?!片)|{_LEFT_ZH}|"
    r"保存|保留(?!意见)|存储|储存|存档|存下|留存|留底|收录|录入|归档|写下|写[进入到]|抄下|"
    r"存(?=\s*(?:[：:，,。.！!；;]|$)|[这那我它你了起进入到在着])|"
    r"(?:放|加|添加|收)[进入到].{0,6}?(?:记忆|备忘|笔记|档案|资料)"
)
_KEPT_ENDS_ZH = (
    r"(?:记|[记纪]录|保存|保留|存储|储存|存|写|留|抄|录)(?:下来?|住|着|起来|"
    r"[进入到在][^，。：；！？]{0,8})?(?=\s*(?:[：:，,。.！!；;]|$)|[了吧啊哦呀])"
)
_CHINESE = "|".join(
    (
        rf"(?:{_NO_ZH}|{_WISH_ZH}{_BY_YOU_ZH}){_OFTEN_ZH}(?:{_KEEP_ZH})",
        rf"(?:宁愿|宁可|希望|最好|可以|可否|能否|能)(?:你|您)?不(?:要|去|再)?(?!记得)(?:{_KEEP_ZH})",
        rf"(?:^|[，,。；;：:\s])不(?:存|记|保存|{_RECORD_ZH})(?=\s*[：:，,。])",
        (
            rf"(?:{_NO_ZH}|{_WISH_ZH}(?:{_BY_YOU_ZH})?)(?:再|去|帮我|给我)?[把将][^，。：:；！？忘丢弄搞]{{1,20}}?"
            rf"{_KEPT_ENDS_ZH}"
        ),
        rf"{_WISH_ZH}[^，。：:；！？忘]{{0,12}}?(?:被(?:你|您|系统|长期|永久)?(?:{_KEEP_ZH})|{_LEFT_ZH})",
        rf"不(?:做|作|留|存)(?:任何)?(?:{_RECORD_ZH}|存档|备案)",
    )
)


_KEEPING = (
    "remember", "memor", "mind", "sav", "stor", "keep", "kept", "record", "log", "captur", "retain", "archiv", "note",
    "noting", "down", "hold", "put", "add", "commit", "enter", "forg",
    "记", "纪", "存", "保", "录", "留", "写", "抄", "档", "放", "加", "收",
)  # fmt: skip
_REFUSING = (
    "not", "n't", "dont", "never", "stop", "quit", "avoid", "refrain", "no ", "without", "rather", "none", "nothing",
    "off ", "from", "out of", "yourself", "forbid", "object", "skip", "forg",
    "不", "别", "勿", "甭", "没", "禁止", "拒绝", "无",
)  # fmt: skip
"""Of both of these such a wish holds one; most messages do not, and cost no pattern."""


@lru_cache(1)
def _pattern() -> re.Pattern[str]:
    return re.compile(f"{_ENGLISH}|{_CHINESE}", re.IGNORECASE)


@lru_cache(16)  # a message is asked several times in one turn
def is_unwanted(message: str) -> bool:
    """Whether a message says that it, or something in it, is not to be remembered."""
    plain = simplified(" ".join(message.replace("’", "'").split()))
    lower = plain.lower()
    if not all(any(sign in lower for sign in signs) for signs in (_KEEPING, _REFUSING)):
        return False
    return any(_is_wish(plain, found) for found in _pattern().finditer(plain))


def _is_wish(plain: str, found: re.Match[str]) -> bool:
    if found["order"] is None:
        return True
    before = plain[: found.start()]
    if _TOLD.search(before) and not found["order"].startswith(("not to", "without")):
        return False
    return not (before.lower().endswith("you ") and _REPROACH.match(found[0]))
