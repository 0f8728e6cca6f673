"""Whether an answer repeats what a tool gave back: told again in a later turn it would pass for the agent's own words.

Goes by names, numbers and other words that carry meaning, whatever stands around them (`I will remember: …`); what the
user said is no repetition. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nanomem_tui.language.tokens import fold, query_words

READ = 4_000
"""Characters of an answer that are looked at; later turns are told fewer."""
MOST = 1_000_000
"""Characters of all results together."""
ENOUGH = 2
"""Words in common that make an answer a repetition; one name or number does so alone."""
_NAMED = re.compile(r"(?<![.!?:]\s)(?<!^)\b[^\W\d_a-zà-ÿ]\w+|\w*\d\w*")


def repeats(answer: str, results: Iterable[str], asked: str) -> bool:
    """Whether an answer to `asked` repeats what is in the results of tools."""
    told = fold("\n".join(results)[:MOST])
    if not told.strip() or not answer.strip():
        return False
    known = fold(asked)
    words = query_words(answer[:READ], limit=400)
    shared = [token for token, word in words.items() if _is_in(token, word, told) and not _is_in(token, word, known)]
    named = {fold(name) for name in _NAMED.findall(answer[:READ])}
    return len(shared) >= ENOUGH or any(fold(words[token]) in named for token in shared)


def _is_in(token: str, word: str, text: str) -> bool:
    return fold(word) in text or (len(token) > 3 and token in text)
