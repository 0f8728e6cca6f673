"""The words that the reader of what a text says knows: what has one value at a time, what may be had beside
another, and words of which only one can be so. Tables only.
"""

from __future__ import annotations

from collections.abc import Mapping

SINGLE = frozenset(
    "name surname age birthday birthplace hometown city country address email phone timezone nationality height weight "
    "salary budget deadline version port host hostname ip url domain database branch currency editor theme owner lead "
    "leader captain manager boss supervisor capital price cost limit timeout capacity length width duration color code "
    "license plate framework os seat room location venue employer occupation profession wife husband fiancé fiancée "
    "landlord password username handle status interval frequency retention quota threshold region cluster provider "
    "registry formatter linter shell font layout unit dose dosage size language mother father dentist "
    "doctor school university team department floor rent goal motto maintainer default logo mascot".split()
)
"""Last words of a name of what somebody or something has one of at a time."""
MARKED_ONE = frozenset("favorite preferred default main primary current legal official".split())
"""First words that make one of whatever follows."""
MANY = frozenset(
    "sister brother son daughter child kid friend colleague coworker cat dog pet cousin uncle aunt niece nephew "
    "grandson granddaughter neighbor neighbour car bike laptop server host machine customer client project ticket book "
    "account meeting hobby skill allergy language-skill device phone-number alias student teammate employee roommate "
    "flatmate bird fish horse parrot tablet router printer camera".split()
)
"""Of which somebody may have several: `my sister's city` names none of them."""
PERSONAL = frozenset(
    ("age", "birthday", "birthplace", "hometown", "timezone", "nationality", "height", "weight", "occupation",
     "profession", "employer", "surname", "name", "full name", "first name", "last name", "blood type",
     "native language", "mother tongue", "city", "home city", "shoe size", "home address", "job title",
     "email", "phone")
)  # fmt: skip
"""What is the user's where nobody else is named."""
SAME_NAME: Mapping[str, str] = {
    "time zone": "timezone", "e-mail": "email", "e-mail address": "email", "email address": "email",
    "mail address": "email", "date of birth": "birthday", "birth date": "birthday", "birthdate": "birthday",
    "birth day": "birthday", "phone number": "phone", "telephone number": "phone", "mobile number": "phone",
    "telephone": "phone", "mobile": "phone", "home town": "hometown", "place of birth": "birthplace",
    "colour": "color", "home city": "home", "city": "home", "current city": "home", "lives in": "home",
    "place of residence": "home", "residence": "home", "family name": "surname", "last name": "surname",
    "given name": "first name", "job": "occupation", "profession": "occupation", "company": "employer",
    "native language": "mother tongue", "due date": "deadline", "ip address": "ip", "home location": "home",
    "operating system": "os", "spouse": "husband",
}  # fmt: skip
"""What is called by two names."""

GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        "light dark", "tabs spaces", "short long", "aisle window", "metric imperial", "morning afternoon evening",
        "enabled disabled", "on off", "open closed", "public private", "mandatory optional", "allowed forbidden",
        "true false", "active inactive", "formal informal", "12-hour 24-hour", "lowercase uppercase", "single double",
        "vertical horizontal", "yes no", "hot iced", "fixed flexible", "remote onsite", "sweet dry", "broken working",
        "supported unsupported", "encrypted unencrypted", "locked unlocked", "full empty", "online offline",
        "snake_case camelcase", "ascending descending", "synchronous asynchronous", "paid unpaid",
        "monthly weekly daily yearly quarterly hourly",
    )
)  # fmt: skip
"""Ways of which a thing is kept or wanted in one."""
FEW: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        "red blue green yellow orange purple violet pink brown black white gray teal silver",
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april may june july august september october november december",
    )
)
"""Of which a thing has one only where the word says what it is: `the car is red`."""
GROUP_OF: Mapping[str, int] = {word: n for n, group in enumerate((*GROUPS, *FEW)) for word in group}
FIRST_FEW = len(GROUPS)

NUMBERS: Mapping[str, str] = {
    word: str(n)
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
MONTHS: Mapping[str, int] = {
    month[:3]: n
    for n, month in enumerate(
        "january february march april may june july august september october november december".split(), 1
    )
}
LANGUAGES = frozenset(
    "english german french spanish italian portuguese chinese mandarin japanese korean thai russian arabic dutch "
    "polish turkish swedish danish norwegian finnish greek hindi vietnamese ukrainian czech hebrew".split()
)
WIDER = frozenset(
    "germany france spain italy portugal china japan korea thailand russia netherlands poland turkey sweden denmark "
    "norway finland greece india vietnam ukraine austria switzerland belgium ireland scotland wales england britain uk "
    "usa us america canada mexico brazil argentina chile peru colombia australia europe asia africa egypt israel iran "
    "kenya nigeria indonesia malaysia philippines taiwan iceland hungary romania bulgaria croatia serbia bavaria "
    "california texas florida ontario quebec catalonia tuscany provence brittany saxony hesse victoria queensland "
    "bohemia normandy tyrol flanders wallonia lombardy sicily sardinia hokkaido kansai scandinavia "
    "中国 日本 德国 法国 英国 美国 韩国 泰国 意大利 西班牙 加拿大 澳大利亚 欧洲 亚洲 广东 江苏 浙江 四川 山东 台湾 "
    "ドイツ フランス イギリス アメリカ カナダ オーストラリア 中国 北海道 ไทย ประเทศไทย ญี่ปุ่น".split()
) | frozenset(
    ("united states", "united kingdom", "new zealand", "south africa", "south korea", "the netherlands",
     "czech republic", "north rhine-westphalia", "british columbia", "new south wales", "lower saxony", "the us",
     "the uk", "the usa", "the countryside", "the suburbs", "the city", "the mountains")
)  # fmt: skip
"""Countries and regions: who lives in one lives in a town of it too."""
SHORT_NAMES: Mapping[str, str] = {
    "nyc": "new york", "new york city": "new york", "sf": "san francisco", "la": "los angeles", "us": "usa",
    "united states": "usa", "uk": "united kingdom", "bkk": "bangkok", "münchen": "munich", "wien": "vienna",
    "köln": "cologne", "帝都": "北京", "魔都": "上海", "กทม": "กรุงเทพฯ", "กรุงเทพ": "กรุงเทพฯ",
    "postgresql": "postgres", "vs code": "vscode", "visual studio code": "vscode", "neovim": "nvim",
    "golang": "go", "javascript": "js", "typescript": "ts", "macos": "mac os", "k8s": "kubernetes",
    "programmer": "software developer", "developer": "software developer", "software engineer": "software developer",
    "coder": "software developer", "physician": "doctor", "attorney": "lawyer",
}  # fmt: skip
"""Other names of the same."""
LIKES = frozenset("like love enjoy adore".split())
DISLIKES = frozenset("dislike hate detest despise loathe".split())
