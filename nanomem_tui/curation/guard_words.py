"""The words that the guard of values knows: those that mean nothing by themselves, and those of which another one is
another fact. Tables only.
"""

from __future__ import annotations

from collections.abc import Mapping

SILENT = frozenset("a an the is are am 's currently actually presently basically also".split())
"""Words that a statement says the same without."""

DISTANT = frozenset("did was were had will would shall should must may might can could".split())
"""Verbs that say when, or how surely, beside another one."""

VERBS = frozenset(
    "accept adore answer arrive ask attend avoid bank believe belong bike book bring build buy call care carry change "
    "check choose clean climb close code collect come commute cook cost count cycle deploy dislike do drink drive earn "
    "eat enjoy exercise expect feel finish fix fly follow forget get give go grow handle hate have help hike hold hope "
    "host intend keep know lead learn leave lend like listen live look lose love maintain make manage mean meet mentor "
    "migrate miss move need offer open order own paint pay phone plan play prefer prepare print publish read recommend "
    "relax release remember rent reply report request require reside respond restart review ride run sail save say see "
    "sell send serve share ship sing sit sleep smoke speak spend stand start stay stop store store struggle study "
    "subscribe suffer support swim take talk teach test thank think track train travel trust try turn type understand "
    "use visit vote wait wake walk want watch wear wish work worry write".split()
)
"""Verbs that say what somebody does: before one of them `the user` is who does it."""

KEPT_S = frozenset(
    "always nichts perhaps sometimes besides less this his its yes news means glasses goods customs jeans series "
    "species lens physics mathematics tennis thanks across various previous serious famous anonymous whereas "
    "afterwards towards christmas texas politics economics athletics arms pants shorts tights scissors".split()
)
"""Words whose s at the end is no ending."""

ALIKE: Mapping[str, str] = {
    "has": "have", "does": "do", "goes": "go", "cannot": "can not", "i": "user", "me": "user", "myself": "user",
    "grey": "gray", "okay": "ok", "e-mail": "email", "e-mails": "email", "centre": "center", "theatre": "theater",
    "metre": "meter", "metres": "meter", "litre": "liter", "litres": "liter", "fibre": "fiber", "licence": "license",
    "licences": "license", "defence": "defense", "programme": "program", "programmes": "program", "whilst": "while",
    "judgement": "judgment", "cancelled": "canceled", "labelled": "labeled", "catalogue": "catalog", "mum": "mom",
    "analyse": "analyze", "analysed": "analyzed", "&": "and", "maths": "math", "aluminium": "aluminum",
    "towards": "toward", "learnt": "learned", "spelt": "spelled", "won't": "will not", "can't": "can not",
    "shan't": "shall not", "let's": "let us", "o'clock": "o'clock",
}  # fmt: skip
"""Other spellings and forms of one word."""

OUR = frozenset(
    "colour favourite neighbour harbour humour behaviour honour labour flavour rumour armour vapour odour savour "
    "tumour glamour endeavour parlour favour".split()
)
"""Beginnings of words that America writes with -or-."""

DENIALS = frozenset(
    "not no never none nobody nothing neither nor without cannot hardly nowhere stop quit avoid except unless "
    "non".split()
)

GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        # what is one of several: another one is another fact
        "red blue green yellow orange purple violet pink brown black white gray teal cyan magenta navy gold silver",
        "monday tuesday wednesday thursday friday saturday sunday weekday weekend",
        "january february march april may june july august september october november december",
        "spring summer autumn fall winter",
        "today tomorrow yesterday tonight",
        "morning noon afternoon evening night midnight am pm",
        "breakfast lunch dinner supper brunch",
        "km m cm mm mile meter inch foot feet yard kilometer",
        "kg g mg pound ounce gram kilogram ton tonne ml l liter gallon",
        "kb mb gb tb kib mib gib tib byte bit",
        "second minute hour day week month year quarter decade ms s min",
        "euro dollar pound franc yen yuan rupee crown krone eur usd gbp chf jpy cny",
        "celsius fahrenheit kelvin",
        "first second third fourth fifth sixth seventh eighth ninth tenth last final next previous",
        "half double triple once twice quarter third",
        "north south east west northern southern eastern western",
        "mother father brother sister wife husband son daughter uncle aunt grandmother grandfather cousin nephew niece",
        "wife husband ex-wife ex-husband partner boyfriend girlfriend fiancé fiancée", "light dark blond pale bright",
        "he she they we you it user", "his her their our your its", "him them us", "mr mrs ms dr prof",
        # what is the opposite of another
        "before after during since until till by", "left right", "always never sometimes often rarely usually seldom",
        "more less fewer", "most least", "maximum minimum max min", "all some every any each none few many most",
        "enable disable", "enabled disabled", "start stop", "starts stops", "on off", "open close", "opened closed",
        "allow deny block forbid", "with without", "increase decrease", "up down", "in out", "inside outside",
        "above below under over", "to from", "high low higher lower", "long short longer shorter", "big small large",
        "must may might can should could would will shall", "like dislike hate", "love hate", "buy sell",
        "true false", "yes no", "public private", "internal external", "new old", "early late earlier later",
        "hot cold warm", "fast slow", "mild severe", "basic fluent", "easy hard", "best worst", "good bad",
        "single married divorced widowed engaged", "vegan vegetarian", "admin guest owner member", "import export",
        "upload download", "read write", "primary secondary", "production staging development", "main develop",
        "and or", "accept reject", "include exclude", "add remove", "push pull", "lend borrow", "indoor outdoor",
    )
)  # fmt: skip
"""Words of one kind, of which another one is another fact."""

GROUP_OF: Mapping[str, frozenset[int]] = {
    word: frozenset(n for n, group in enumerate(GROUPS) if word in group) for word in {w for g in GROUPS for w in g}
}

NAMES_OF_GROUPS: Mapping[int, str] = {
    0: "colour", 1: "day", 2: "month", 3: "season", 4: "day", 5: "time of day", 6: "meal",
    **dict.fromkeys(range(7, 13), "unit"), 13: "place in order", 14: "amount", 15: "direction",
    **dict.fromkeys((16, 17, 19, 20, 21, 22), "person"), 18: "colour",
}  # fmt: skip
"""What a group is called; the others are opposites."""

CONDITIONS = frozenset(
    "if unless only except until till when whenever provided excluding while because although but".split()
)
"""Words that make a statement hold only in part."""

PAST = frozenset("was were had did used former formerly previously ex once ago".split())
FUTURE = frozenset("will shall plan plans planning going intends wants hopes soon".split())

ACRONYMS = frozenset("us it who or in as am me".split())
"""Words that in capitals are others."""

CJK_ALIKE: tuple[tuple[str, str], ...] = (
    ("用戶", "用户"), ("该用户", "我"), ("用户", "我"), ("使用者", "我"), ("ユーザー", "我"), ("私は", "我は"),
    ("ผู้ใช้", "我"), ("喜爱", "喜欢"), ("目前", ""), ("现在", ""),
)  # fmt: skip
"""Words of Chinese, Japanese and Thai that say the same, and that say nothing."""

CJK_TELLING: Mapping[str, str] = {
    **dict.fromkeys("不没无未非别勿莫否", "denial"),
    **dict.fromkeys("红蓝绿黄黑白紫粉灰橙棕银金青赤", "colour"),
    **dict.fromkeys("〇零一二三四五六七八九十百千万亿两双半几", "number"),
    **dict.fromkeys("他她它我你您咱哥弟姐妹爷奶爸妈父母叔姨舅姑伯夫妻儿女孙彼僕俺", "person"),
    **dict.fromkeys("前后先左右上下早晚朝夜昼东西南北内外始终升降增减多少大小高低长短快慢冷热新旧", "opposite"),
    **dict.fromkeys("曾想要会能可应该必须将打算", "tense"),
    **dict.fromkeys("若才仅只除如但", "condition"),
}
"""Characters that, where only one of two texts has them, make it another fact."""
