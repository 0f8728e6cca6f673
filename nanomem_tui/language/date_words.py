"""Words for relative dates in German, Spanish, French, Portuguese, Italian, Russian, Japanese and Korean, as data.

English and Chinese need rules and have them in `dates`. A phrase that is also an everyday word of another language
(`hier`) counts only beside words of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

PHRASES: Mapping[str, tuple[str, int]] = {
    # German
    "vorgestern": ("day", -2), "gestern": ("day", -1), "heute": ("day", 0), "übermorgen": ("day", 2),
    "morgen": ("day", 1), "letzte woche": ("week", -1), "diese woche": ("week", 0), "nächste woche": ("week", 1),
    "letzter woche": ("week", -1), "dieser woche": ("week", 0), "nächster woche": ("week", 1),
    "letzten monat": ("month", -1), "diesen monat": ("month", 0), "nächsten monat": ("month", 1),
    "letztes jahr": ("year", -1), "dieses jahr": ("year", 0), "nächstes jahr": ("year", 1),
    # Spanish
    "anteayer": ("day", -2), "ayer": ("day", -1), "anoche": ("day", -1), "hoy": ("day", 0), "esta noche": ("day", 0),
    "pasado mañana": ("day", 2), "mañana": ("day", 1), "la semana pasada": ("week", -1), "esta semana": ("week", 0),
    "la semana que viene": ("week", 1), "la próxima semana": ("week", 1), "el mes pasado": ("month", -1),
    "este mes": ("month", 0), "el mes que viene": ("month", 1), "el próximo mes": ("month", 1),
    "el año pasado": ("year", -1), "este año": ("year", 0), "el año que viene": ("year", 1),
    "el próximo año": ("year", 1),
    # French
    "avant-hier": ("day", -2), "hier": ("day", -1), "aujourd'hui": ("day", 0), "aujourd’hui": ("day", 0),
    "ce soir": ("day", 0), "demain": ("day", 1), "après-demain": ("day", 2), "la semaine dernière": ("week", -1),
    "cette semaine": ("week", 0), "la semaine prochaine": ("week", 1), "le mois dernier": ("month", -1),
    "ce mois-ci": ("month", 0), "le mois prochain": ("month", 1), "l'année dernière": ("year", -1),
    "l'an dernier": ("year", -1), "cette année": ("year", 0), "l'année prochaine": ("year", 1),
    # Portuguese
    "anteontem": ("day", -2), "ontem": ("day", -1), "hoje": ("day", 0), "depois de amanhã": ("day", 2),
    "amanhã": ("day", 1), "semana passada": ("week", -1), "semana que vem": ("week", 1),
    "próxima semana": ("week", 1), "mês passado": ("month", -1), "este mês": ("month", 0), "mês que vem": ("month", 1),
    "próximo mês": ("month", 1), "ano passado": ("year", -1), "este ano": ("year", 0), "ano que vem": ("year", 1),
    "próximo ano": ("year", 1),
    # Italian
    "l'altro ieri": ("day", -2), "ieri": ("day", -1), "oggi": ("day", 0), "stasera": ("day", 0), "domani": ("day", 1),
    "dopodomani": ("day", 2), "la settimana scorsa": ("week", -1), "questa settimana": ("week", 0),
    "la settimana prossima": ("week", 1), "la prossima settimana": ("week", 1), "il mese scorso": ("month", -1),
    "questo mese": ("month", 0), "il mese prossimo": ("month", 1), "il prossimo mese": ("month", 1),
    "l'anno scorso": ("year", -1), "quest'anno": ("year", 0), "l'anno prossimo": ("year", 1),
    # Russian
    "позавчера": ("day", -2), "вчера": ("day", -1), "сегодня": ("day", 0), "завтра": ("day", 1),
    "послезавтра": ("day", 2), "на прошлой неделе": ("week", -1), "на этой неделе": ("week", 0),
    "на следующей неделе": ("week", 1), "в прошлом месяце": ("month", -1), "в этом месяце": ("month", 0),
    "в следующем месяце": ("month", 1), "в прошлом году": ("year", -1), "в этом году": ("year", 0),
    "в следующем году": ("year", 1),
    # Japanese
    "一昨日": ("day", -2), "昨夜": ("day", -1), "今朝": ("day", 0), "今夜": ("day", 0), "明日": ("day", 1),
    "明後日": ("day", 2), "先週": ("week", -1), "今週": ("week", 0), "来週": ("week", 1), "再来週": ("week", 2),
    "先月": ("month", -1), "今月": ("month", 0), "来月": ("month", 1), "昨年": ("year", -1), "来年": ("year", 1),
    # Korean
    "그저께": ("day", -2), "어제": ("day", -1), "오늘": ("day", 0), "내일": ("day", 1), "모레": ("day", 2),
    "지난주": ("week", -1), "지난 주": ("week", -1), "이번 주": ("week", 0), "다음 주": ("week", 1),
    "지난달": ("month", -1), "지난 달": ("month", -1), "이번 달": ("month", 0), "다음 달": ("month", 1),
    "작년": ("year", -1), "올해": ("year", 0), "내년": ("year", 1),
}  # fmt: skip
"""Phrase in lower case: the unit, and how many of it before (below 0) or after the day on which it was said."""

NOT_BEFORE: Mapping[str, str] = {
    "morgen": r"guten|gute|am|jeden|heute|gestern|diesen|eines|den|der|des",
    "mañana": r"la|las|esta|una|cada|buena|pasado",
    "heute": r"von",
}
"""Words before a phrase that make it another one: `am Morgen`, `la mañana`."""

ONLY_BESIDE: Mapping[str, str] = {
    "hier": r"j'ai|j'étais|je|nous|il|elle|le|la|les|un|une|des|du|est|au|mon|ma|vous|on|a",
}
"""Phrases that count only where one of these words stands in the text, too."""
NOT_BESIDE: Mapping[str, str] = {"hier": r"ich|ist|und|der|das|nicht|wir|sind|wohne|arbeite|bin"}

UNITS: Mapping[str, str] = {
    "day": "tagen|tage|tag|días|día|jours|jour|dias|dia|giorni|giorno|дней|дня|день|일|日",
    "week": "wochen|woche|semanas|semana|semaines|semaine|settimane|settimana|недель|недели|неделю|주|週間",
    "month": "monaten|monate|monat|meses|mes|mês|mois|mesi|mese|месяцев|месяца|месяц|개월|달|か月|ヶ月",
    "year": "jahren|jahre|jahr|años|año|ans|an|anos|ano|anni|anno|лет|года|год|년",
}
"""Words of each unit, the longer ones first."""

NUMBERS: Mapping[str, int] = {
    "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "un": 1, "una": 1, "uno": 1, "dos": 2,
    "tres": 3, "cuatro": 4, "cinco": 5, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "um": 1, "uma": 1,
    "dois": 2, "duas": 2, "três": 3, "quatro": 4, "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "два": 2, "две": 2,
    "три": 3, "четыре": 4, "пять": 5,
}  # fmt: skip

LEADS: Mapping[str, int] = {
    "vor": -1, "in": 1, "hace": -1, "dentro de": 1, "il y a": -1, "dans": 1, "há": -1, "daqui a": 1, "tra": 1, "fra": 1,
    "через": 1,
}  # fmt: skip
"""What stands before a number of units, and whether it is before (below 0) or after."""
TAILS: Mapping[str, int] = {"fa": -1, "назад": -1, "전": -1, "후": 1, "뒤": 1, "前": -1, "後": 1}
"""The same behind it."""
