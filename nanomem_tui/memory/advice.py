"""What to do better after a tool failed, by the words of the failure (seed 000 §2.5), in English.

Owns the kinds of failures and the sentence of each; the first that fits is taken. No word of a failure is in it: what
a tool gives back is anybody's text. Must not decide what is learned.
"""

from __future__ import annotations

import re

LONGEST_PLACE = 120
"""Characters of a path or an address that a sentence names."""

_ADVICE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"(?:\b(?:https?|status|code|error)\b\W{0,3}|^\W*)40[13]\b|"
            r"\b40[13]\W{0,3}(?:forbidden|unauthori[sz]ed|client error)|"
            r"^(?=.*https?://).*(?:\b40[13]\b|forbidden|unauthori[sz]ed|access denied)",
            re.IGNORECASE | re.DOTALL,
        ),
        "The server refuses access to {what}: give its credentials, or take another source, when calling `{tool}`.",
    ),
    (
        re.compile(
            r"permission|denied|outside|not allowed|forbidden|unauthori[sz]ed|\b40[13]\b|权限|拒绝", re.IGNORECASE
        ),
        "Ensure {what} is inside allowed workspace and has permissions before `{tool}`.",
    ),
    (
        re.compile(r"not found|no such|does not exist|missing|\b404\b|找不到|不存在", re.IGNORECASE),
        "Check that {what} exists and is readable before calling `{tool}`.",
    ),
    (
        re.compile(r"time(?:d )?[- ]?out|too (?:large|long|many)|limit|out of memory|超时", re.IGNORECASE),
        "Use smaller scope or lighter parameters when calling `{tool}`.",
    ),
    (
        re.compile(
            r"invalid|required|missing argument|unexpected|type ?error|value ?error|schema|json|参数", re.IGNORECASE
        ),
        "Check the names and types of the parameters before calling `{tool}`.",
    ),
    (
        re.compile(r"connection|network|unreachable|dns|refused|ssl|\b5\d\d\b|网络|连接", re.IGNORECASE),
        "Check that the address is right and reachable, and retry later, when calling `{tool}`.",
    ),
)
_PLACE = re.compile(r"(?:[A-Za-z]:\\|~?/|\./)[^\s'\"`,;:)]+|https?://[^\s'\"`,;)]+")


def better_way(tool: str, failure: str, asked: str = "") -> str:
    """What to do better the next time, by the kind of failure. A place that failed is named where the call asked for it
    (`asked`, its arguments): another one would send the model wherever the failure says."""
    places = (place.rstrip(".") for place in _PLACE.findall(failure))
    place = next((place for place in places if place in asked), "")
    what = f"`{place[:LONGEST_PLACE]}`" if place else "the target"
    for pattern, text in _ADVICE:
        if pattern.search(failure):
            return text.format(tool=tool, what=what)
    return f"Read the error of `{tool}` and change the call before trying it again."
