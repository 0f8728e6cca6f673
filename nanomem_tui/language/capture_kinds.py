"""What of a sentence are no words of the one who writes it: what another is told to have said, what is only supposed,
what is given to be translated or rewritten. By patterns in English and Chinese; who captures reads it by `language`.
"""

from __future__ import annotations

import re

from nanomem_tui.language.simplified import simplified, straight

LEAD = (
    r"^(?:(?:hey|hi|hello|ok(?:ay)?|also|and|but|so|well|btw|by the way|oh|yes|no|please|nanobot|actually|another "
    r"thing)[\s,:!.]+){0,3}"
)
"""What a sentence may begin with before it says what it wants, as a pattern."""


_PRETENDED = re.compile(
    r"^(?:please |can you |could you |and |so |ok(?:ay)?,? |hey,? )*(?:(?:imagine|suppose|pretend|assume|what if|let's "
    r"(?:say|pretend|assume)|(?:say|if|even if|unless|whether|when|as if)(?= (?:i|we|my)\b))|(?:how (?:do|would|can|"
    r"to)|what does|what's|what is)\b.{0,40}\bsay\b|(?:translate|rewrite|rephrase|proof-?read|correct|fix|summari[sz]e|"
    r"paraphrase|write|draft|compose|spell-?check|repeat|say|type|print|quote|title|subject|example|"
    r"e\.g\.)\b[^:\"“]{0,60}[:\"“])|^(?:请|帮我|麻烦|你|把|能|可以)*(?:翻译|改写|润色|写|总结|校对|造句|扩写|重复|朗读|"
    r"解释)[^：:“\"]{0,30}[：:“\"]|^(?:假如|假设|如果|要是|假装|比如|例如|想象|万一|要不是|即使|就算)(?=.{0,6}(?:我|"
    r"咱))",
    re.IGNORECASE,
)
"""What begins so tells nothing of the one who says it: it is supposed, or given to be worked on."""
_SAID = (
    r"(?:said|says|say|told (?:me|us|him|her|them)|tells (?:me|us)|asked|wrote|writes|replied|goes|claims|claimed|"
    r"texted)"
)
_QUOTED = re.compile(
    rf"^(?!i\b|we\b)(?:\w+[ ,]+){{0,3}}?(?!i\b|we\b)\w+ {_SAID}(?: to (?:me|us|him|her))?"
    r"(?:\s*[:,\"“'].*|,? (?:that )?(?:remember )?(?:that )?(?:i|my|i'm|i've)\b.*)|(?:^|"
    r"[，,。])(?!我[们]?说)[^，,。：:]{0,8}(?:他|她|它|(?<!我)(?<!咱)们|妈|爸|哥|姐|弟|妹|板|事|友|生|师|人|婆|公|子|"
    r"儿)(?:说|问|告诉我|写道|回复|表示|喊)[过了道]?[：:，,“\"]?.*|[\"“][^\"”]*(?:\b(?:i|my|we|our)\b|我|"
    r"咱)[^\"”]*[\"”]",
    re.IGNORECASE,
)
"""What somebody else is told to have said, and words of a person in quotation marks."""


def own_words(text: str) -> str:
    """A sentence without what only quotes another, or nothing where all of it is supposed or given to be worked on."""
    plain = straight(text)
    read = simplified(plain)
    if _PRETENDED.match(read):
        return ""
    quoted = [found.span() for found in _QUOTED.finditer(read)]
    for start, end in reversed(quoted):
        plain = f"{plain[:start]} {plain[end:]}"
    return plain.strip()
