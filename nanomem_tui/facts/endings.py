"""What a clause says to be so no longer, as the clause that said it before: `I'm no longer allergic to nuts` ends what
`I'm allergic to nuts` says. English, Russian and Chinese.

Owns the words of an end, and of a wish to forget. Whether anything known is meant is judged elsewhere. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nanomem_tui.language.simplified import simplified

_VERBS = {"living": "live", "working": "work", "using": "use", "driving": "drive", "studying": "study"}
_STOPPED = "|".join(_VERBS)
_RU = (
    r"живу|живём|живем|работаю|учусь|люблю|обожаю|предпочитаю|ненавижу|говорю|пользуюсь|использую|используем|"
    r"ношу|вожу|изучаю"
)
_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(i'm|i am|we're|we are|my .{2,40}? (?:is|are)) no longer (.+)", (r"\1 \2",)),
    (r"(i'm|i am|we're|we are) not (.+?),? (?:any ?more|any longer)\b.*", (r"\1 \2",)),
    (r"(i|we) no longer (?:like|love|enjoy|prefer) (.+)", (r"\1 like \2", r"\1 love \2", r"\1 prefer \2")),
    (r"(i|we) no longer (.+)", (r"\1 \2",)),
    (
        r"(i|we) (?:do not|don't) (?:really )?(?:like|love|enjoy|prefer) (.+?),? (?:any ?more|any longer)\b.*",
        (r"\1 like \2", r"\1 love \2", r"\1 prefer \2"),
    ),
    (r"(i|we) (?:do not|don't) (.+?),? (?:any ?more|any longer)\b.*", (r"\1 \2",)),
    (
        (
            r"(i|we)(?:'ve| have)? (?:just |recently |finally )*(?:quit|left|lost|resigned from|gave up|given up) "
            r"(?:my |the )?(?:job|work|position|post)(?: as an? [^,]+?)? (?:at|with|for) (.+)"
        ),
        (r"\1 work at \2", r"\1 work for \2"),
    ),
    (
        r"(i|we)(?:'ve| have)? (?:just |recently |finally )*(?:quit|left|resigned from) ((?-i:[A-Z]).+)",
        (r"\1 work at \2", r"\1 work for \2"),
    ),
    (r"(i|we)(?:'ve| have)? (?:just |recently |finally )*moved (?:away from|out of) (.+)", (r"\1 live in \2",)),
    (rf"(i|we)(?:'ve| have)? (?:just |recently |finally )*(?:stopped|quit) ({_STOPPED}) (.+)", (r"\1 <\2> \3",)),
    (
        r"(i|we)(?: can| may)? (?:started to )?(eat|drink) (.+?) again\b.*",
        (r"\1 don't \2 \3", r"\1 never \2 \3", r"\1 can't \2 \3"),
    ),
    (r"(i|we) (?:like|love|enjoy) (.+?) again\b.*", (r"\1 dislike \2", r"\1 hate \2")),
    (
        r"(?:please |just |can you |could you )*forget (?:about )?(?:the fact )?(?:that )?((?:i|i'm|my|we|our)\b.+)",
        (r"\1",),
    ),
    (rf"(я|мы) (?:больше|уже) не ({_RU}) (.+)", (r"\1 \2 \3",)),
    (r"(?:я )?(?:больше|уже) не (женат|замужем|вегетариан\w+|веган\w*)(.*)", (r"я \1\2",)),
    (r"у (меня|нас) (?:больше|уже) нет (?:аллергии) на (.+)", (r"у \1 аллергия на \2",)),
    (r"(?:я )?(?:снова|опять) (ем|пью|курю) (.+)", (r"я не \1 \2",)),
    (r"(?:я )?(ем|пью|курю) (?:снова|опять) (.+)", (r"я не \1 \2",)),
    (r"(?:я )?(?:уволился|уволилась|ушёл|ушел|ушла) (?:из|с) (.+)", (r"я работаю в \1", r"я работаю на \1")),
    (r"(?:я |мы )?(?:уехал|уехала|уехали|съехал|съехала) (?:из|с) (.+)", (r"я живу в \1", r"я живу на \1")),
    (r"(?:пожалуйста,? )?забудь(?:те)?,?(?: о том,?)? что ((?:я|мы|у меня|мо[йяёи]|наш\w*|меня)\b.+)", (r"\1",)),
    (r"(我们?)(?:现在|已经|也|都|早就)*不再(.{2,30}?)了?[。！!]*", (r"\1\2",)),
    (r"(我们?)(?:现在|已经|也|都|早就)*不(住在?|在|喜欢|用|吃|喝|是|对)(.{1,30}?)了[。！!]*", (r"\1\2\3",)),
    (r"(我们?)(?:现在|已经)*(?:又|重新)(?:开始)?(吃|喝|抽)(.{1,12}?)了[。！!]*", (r"\1不\2\3",)),
    (r"(我们?)(?:已经|刚|刚刚)*从(.{1,20}?)(?:辞职|离职)了?[。！!]*", (r"\1在\2工作",)),
    (r"(?:请|麻烦|你)*忘[掉记]了?[：:，,]?(我.{2,40}?)[。！!]*", (r"\1",)),
)
_INSTEAD = re.compile(
    r"\bне [^,.;!?—-]{1,40}, а (?=[^\W_])|(?<=\bis )not [^,.;!?]{1,40}?(?:, (?:it's|it is|but)|,? but) (?=\w)",
    re.IGNORECASE,
)


@lru_cache(1)
def _rules() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), shapes) for pattern, shapes in _RULES)


def before(clause: str) -> list[str]:
    """What was so, if a clause says that it is so no longer: the clauses that may have said it; else nothing."""
    plain = clause.strip(" .!~。！,，;；")
    read = simplified(plain)
    for pattern, shapes in _rules():
        found = pattern.fullmatch(read)
        if found is not None:
            return [_said(found.expand(shape)) for shape in shapes]
    return []


def _said(words: str) -> str:
    return re.sub(r"<(\w+)>", lambda found: _VERBS[found[1].lower()], words)


def corrected(sentence: str) -> str:
    """A sentence that says what is so instead (`не Ольга, а Елена`; `is not Olga but Elena`), with that alone."""
    return _INSTEAD.sub("", sentence)


def same_value(one: str, other: str) -> bool:
    """Whether two values are the same words, in Russian whatever their case is (`Казани`, `Казань`)."""
    left, right = one.casefold().split(), other.casefold().split()
    return len(left) == len(right) and all(map(_same_word, left, right))


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    least = min(len(one), len(other)) - 2
    return re.match("[а-яё]", one) is not None and least >= 2 and one[:least] == other[:least]
