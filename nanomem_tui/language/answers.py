"""What a plain yes says: “So you live in Porto, right?” makes of it “I live in Porto”. The words are data
(`packs/attributes-en.toml`)."""

from __future__ import annotations

import re

from nanomem_tui.language import attributes
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.tokens import simplified, straight

MAX_ANSWER = 40
"""Characters of an answer that says nothing but what was asked."""
_ENDS = ("?", "？", "吗", "吧")


def is_yes(text: str) -> bool:
    """Whether a message is a yes and nothing else.

    >>> is_yes("Yes, that's right!"), is_yes("yes but why")
    (True, False)
    """
    return attributes.pack("common").pattern("yes").fullmatch(simplified(straight(text))) is not None


def confirmed(question: str) -> str:
    """Return what a yes to a question says, as a statement of the one who says it; "" where it is no question that a
    yes answers.

    >>> confirmed("So your name is Anna, right?")
    'my name is Anna'
    """
    plain = straight(question)
    if not simplified(plain).endswith(_ENDS):
        return ""
    words = attributes.pack(language_of(question))
    for name in ("tag", "lead"):
        if (found := words.pattern(name).search(simplified(plain))) is not None:
            plain = (plain[: found.start()] + plain[found.end() :]).strip()
    plain = plain.rstrip("?？吗嗎吧 ").strip()
    return re.sub(r"\s+", " ", words.replaced("turned", plain))


def answered(question: str, answer: str) -> str:
    """Return what an answer to a question says, as a statement of the one who answers; "" where none is known.

    >>> answered("And where do you live?", "in Ghent, near the port")
    'I live in Ghent'
    """
    plain = straight(question).strip()
    if not plain.endswith(("?", "？")):
        return ""
    words = attributes.pack(language_of(question))
    said = re.split(r"[,;!?，。；：！？]\s*|[.:](?:\s+|$)", straight(answer).strip(), maxsplit=1)[0]
    said = words.pattern("answer").sub("", said).strip()
    for pattern, statement in words.replacements("replies"):
        if 0 < len(said) <= MAX_ANSWER and (found := pattern.search(simplified(plain))) is not None:
            return f"{found.expand(statement)}".replace("{answer}", said)
    return ""
