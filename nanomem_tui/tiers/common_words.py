"""Words that are too common to connect a text with a task: `new`, `time`, `number`, `please`, `Friday`.

Owns the list: general words of English, the words of a calendar, the verbs that say what is asked for and not of what,
and numbers of one or two digits. Other languages have no list here.
"""

from __future__ import annotations

from functools import lru_cache

from nanomem_tui.tokens import tokens

_GENERAL = """
able access act action actual actually add additional age ago allow almost alone along already always among amount
another answer anyone anything appear approximately area around attempt attention available average away
bad base basic become begin behind believe best better big bit bring bunch
call care case cause certain certainly chance change clear clearly close come common complete completely condition
consider contain continue correct couple course current currently
deal decide deep degree detail develop die different difficult direct direction double due
early easy edge effect effort either else end enough entire especially even ever every everyone everything exactly
example except expect experience extra
fact fall far fast feel felt few field final finally fine finish first five follow force form former forward found four
free full further future
general generally get give given go goal gone good great group grow guess guy
half hand happen happy hard head hear heart help high hold hope hour however huge human
idea important include increase individual information inside instead interest involve issue item
join kind know known
large last late later lead learn least leave left less let level life like likely limited line little live local long
look lose lot love low
main major make many mark matter maybe mean meet mention middle mind minute miss moment month move much must
name natural near nearly necessary need never new next nice nine none normal nothing notice number
obviously occur offer often okay old one open option order original otherwise outside overall own
part particular particularly pass past people perfect perhaps period person personal piece place plan play point
position possible present pretty previous previously probably problem process produce provide pull purpose push
question quick quickly quite
range rather reach ready real really reason receive recent recently regular relate remain require rest result return
right role round rule run
said same saw say second see seem seen sense separate series serious set seven several share short side significant
similar simple simply since single situation six size slow slowly small somebody someone something sometimes soon sorry
sort sound special specific spend stand standard stage state stay step still stuff success successful sudden suddenly
support sure
take task ten term thank thing think third though thought three thus time together told took top total toward track true
try turn twice two type
understand unit unless upon use useful usual usually
various version via view
wait want way week well went whether whole wide within without word work world worse worst worth wrong
yeah year yes yet
"""
_CALENDAR = """
today tonight tomorrow yesterday day date morning noon afternoon evening night weekend monday tuesday wednesday thursday
friday saturday sunday january february march april june july august september october november december
"""
_ASKED = """
ask check create delete describe explain find fix handle improve keep list please prepare put read remember remind
remove review say schedule send show start stop suggest summarize tell update write
"""


def is_common(token: str) -> bool:
    """Whether a token of `tokens` tells too little to connect a text with a task."""
    return (token.isdecimal() and len(token) < 3) or token in _common()


@lru_cache(1)
def _common() -> frozenset[str]:
    return frozenset(tokens(f"{_GENERAL} {_CALENDAR} {_ASKED}"))
