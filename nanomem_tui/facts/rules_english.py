"""The facts that a sentence of English says, in fields.

Owns the words and the patterns. A rule fits a whole clause that begins with the one who speaks (I, my, we, our): what
is denied, past or said of somebody else fits none. Pure.
"""

from __future__ import annotations

import re

from nanomem_tui.facts.grammar import PERSONAL, PREFERENCES, TECHNOLOGY, WORK, Grammar, Rule, sorter
from nanomem_tui.language.capture_kinds import LEAD

_KIN = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|spouse|(?:older |younger |elder |little |big |twin |"
    r"half-|step-?)?(?:son|daughter|brother|sister)|mother|father|mom|mum|dad|grandmother|grandfather|grandma|grandpa|"
    r"aunt|uncle|cousin|niece|nephew|mother-in-law|father-in-law|kid|child|baby)"
)
_PET = (
    r"(?:(?:guinea pig|parrot|hamster|rabbit|turtle|tortoise|puppy|kitten|goldfish|horse|dog|cat|bird|fish|snake|pet))"
)
_SOMEONE = rf"(?:{_KIN}|{_PET}|boss|manager|doctor|dentist|therapist|teacher|roommate|flatmate|colleague|best friend)"
_ROLE = (
    r"(?:engineer|developer|programmer|designer|architect|teacher|professor|lecturer|tutor|doctor|physician|surgeon|"
    r"nurse|dentist|pharmacist|vet|veterinarian|lawyer|attorney|paralegal|accountant|auditor|banker|analyst|"
    r"consultant|manager|director|founder|ceo|cto|cfo|student|researcher|scientist|physicist|chemist|biologist|"
    r"mathematician|economist|historian|linguist|translator|interpreter|writer|author|journalist|editor|reporter|"
    r"photographer|musician|singer|dancer|actor|actress|artist|painter|illustrator|animator|chef|cook|baker|barista|"
    r"waiter|waitress|driver|pilot|mechanic|electrician|plumber|carpenter|builder|farmer|gardener|firefighter|"
    r"paramedic|soldier|policeman|policewoman|officer|librarian|secretary|assistant|receptionist|salesperson|"
    r"salesman|saleswoman|marketer|recruiter|psychologist|psychiatrist|therapist|coach|trainer|freelancer|"
    r"contractor|sysadmin|administrator|admin|tester|operator|technician|trader|investor|entrepreneur|realtor|"
    r"undergraduate|postdoc|intern)"
)
_ADVERB = r"(?:(?:currently|now|still|also|actually|mostly|mainly|usually|generally|really|just|always|both) )*"
_NAME = r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}"
_THING = r"[^,;.!?]{2,60}?"
_VALUE = r".{1,200}?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d"
_END = r"[\s.!~:;)(\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]*"
_REST = rf"(?:,\s.*)?{_END}"

_ATTRIBUTE = (
    r"(?:(?:full|first|last|middle|maiden|legal|real|user|nick)[ -]?name|username|nickname|pronouns|birthday|birth "
    r"?date|"
    r"date of birth|birthplace|age|height|weight|blood type|blood group|shoe size|shirt size|clothes size|eye colou?r|"
    r"hair colou?r|star sign|zodiac(?: sign)?|nationality|citizenship|religion|native language|mother tongue|"
    r"first language|diet|time ?zone|home ?town|home city|city|country|address|home address|postal code|zip code|"
    r"neighbou?rhood|phone|phone number|mobile|mobile number|telephone|number plate|license plate|e-?mail|"
    r"e-?mail address|website|blog|github|gitlab|twitter|instagram|telegram|skype|handle|linkedin|job|job title|"
    r"occupation|profession|title|position|role|department|team|company|employer|boss|manager|industry|field|major|"
    r"degree|school|university|college|alma mater|office|desk|commute|working hours|work hours|office hours|car|bike|"
    r"motorcycle|instrument|hobby|hobbies|sport|team|editor|ide|shell|terminal|browser|os|operating system|laptop|"
    r"computer|"
    r"desktop|phone model|keyboard|monitor|printer|router|nas|server|wi-?fi|wi-?fi network|wi-?fi name|ssid|network|"
    r"domain|host|hostname|subnet|port|database|db|data ?base|stack|tech stack|framework|language|programming language|"
    r"repo|repository|default branch|main branch|branch|ci|cloud|hosting|cloud provider|registrar|registry|project|"
    r"project name|code name|codename|product|budget|deadline|release date|launch date|anniversary|wedding anniversary|"
    r"wedding date|doctor|dentist|gp|therapist|lawyer|accountant|landlord|bank|insurance|airline|gate|seat|"
    r"flight number|flight|hotel|room number|locker|apartment|stand-?up|daily|retro|sprint|sprint length|"
    r"version|model|license|currency|units)"
)
_ATTRIBUTES = re.compile(
    rf"(?:[\w'’-]+ ){{0,3}}?(?:{_ATTRIBUTE}|{_SOMEONE}(?:'s (?:full |first |last )?name|'s birthday|'s age)?|"
    rf"{_SOMEONE}|favou?rite(?: [\w-]+){{1,3}}|preferred(?: [\w-]+){{1,3}}|default(?: [\w-]+){{1,2}})",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"(?:[\w'’-]+ )*(?:question|point|guess|problem|issue|plan|plans|idea|goal|answer|concern|opinion|feeling|thought|"
    r"thoughts|understanding|advice|suggestion|impression|bad|god|day|week|weekend|month|year|morning|evening|night|"
    r"turn|mistake|fault|head|heart|mind|soul|life|love|luck|message|code|error|test|query|input|output|result|results|"
    r"next \w+|previous \w+|current \w+|last \w+|first \w+|request|reason|favou?rite|favou?rite part|choice|fear|"
    r"dream|wish|hope|worry|excuse|apolog\w+|pleasure|honou?r|treat|word|words|prompt|instructions?|task|tasks|"
    r"sword|shield|spell|wand|weapon|armou?r|avatar|character|hero|guild|quest|spaceship|superpower|lucky \w+|"
    r"horoscope|thing|things|stuff|rule|rules|theory|bet|take|view|sense|mood|eyes|back|stomach|throat|legs?|feet|"
    r"hands?)",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(
    r"(?:at (?!\d|noon|midnight)|not|n't|no|never|so|too|very|really|just|still|already|also|always|going|being|"
    r"getting|having|that|because|to|"
    r"about|like|as|up|down|out|off|on|over|here|there|back|ready|fine|good|great|ok|okay|bad|sick|dead|broken|slow|"
    r"late|done|gone|full|empty|killing|making|trying|working|coming|asking|bothering|driving|acting|doing|looking|"
    r"feeling|awesome|amazing|beautiful|lovely|cute|happy|sad|tired|busy|hungry|such|quite|pretty|kind of|sort of|"
    r"almost|finally|probably|the best|the worst|a (?:bit|little|lot|mess|disaster|joke|nightmare|pain|blast|dream|"
    r"great|good|bad|big|huge|nice|real|total|wonderful|beautiful|lovely|mystery|secret|problem|question)|what|how|why|"
    r"where|when|who|important|coming|delayed|cancel+ed|over|closed|open|fun|hard|easy|cool|nice|interesting|better|"
    r"worse|best|worst|wrong|right|true|false|mine|yours|it|this|one of|everything|nothing|all|more|less|stressful|"
    r"exhausted|growing|expanding|improving|struggling|sleeping|crying|waiting|running (?!on\b|v|\d)|"
    r"[a-z]+ing(?= (?:me|us|to|in|on|at|for|well|great|out|up|down)\b))\b",
    re.IGNORECASE,
)
_TELLING = re.compile(r"\d|[A-Z]|https?:|[@#/]|[\"“'‘«]\w")
_COLOUR = re.compile(
    r"(?:(?:dark|light|bright|navy|sky|royal|forest|pale|deep) )?(?:red|orange|yellow|green|blue|purple|violet|pink|"
    r"brown|black|white|gr[ea]y|turquoise|teal|indigo|magenta|beige|gold|silver|burgundy|cyan|lilac)",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(
    r"(?:fear|hope|peace|the moment|the past|the future|constant|denial|a (?:world|bubble|dream|society|time)|this|"
    r"that|"
    r"there|here|my own|general|pain|poverty|luxury|sin|harmony|trouble|love|the (?:now|present)|a way|it|home|nights?|"
    r"weekends|myself|least|all|free)\b",
    re.IGNORECASE,
)
_DWELLING = re.compile(
    r"(?:an?|my|our|one|some|someone'?s|shared|student)\b|(?:the )?(?-i:[a-z-]+ )?(?:flat|apartment|house|studio|"
    r"room|dorm|"
    r"dormitory|hostel|hotel|condo|loft|cottage|farm|floor|basement|attic|suburbs?|city|town|village|countryside|"
    r"country|woods|mountains|cent(?:er|re)|outskirts|middle|middle of nowhere|same \w+|neighbou?rhood|area)\b",
    re.IGNORECASE,
)
"""A kind of dwelling, where none is named: no place."""
_HOW = re.compile(
    r"(?:little|much|hard|long|often|many|few|fast|usual|normal|well|possible|before|always|ever|expected|part|it|that|"
    r"this|one|if|we|they|you|i|soon|good|slow\w*|quick\w*)\b|.*\bas\b",
    re.IGNORECASE,
)
"""How somebody works, and not as what."""
_NO_THING = re.compile(
    r"(?:it|that|this|those|these|them|you|your|yours|how|what|when|where|the way|to|him|her|his|their|being|having|"
    r"going|seeing|hearing|knowing|everything|nothing|something|anything|myself|us|our|all|both|one|some of|me|my|so|"
    r"and|very|the (?:idea|sound|look|thought|fact|way|name|colou?rs?|vibe|energy|photos?|pictures?|view|feeling|same|"
    r"new|old|one|first|last|part|story|details?)|a lot|not|its|i)\b",
    re.IGNORECASE,
)

_POINTS = re.compile(r"\b(?:this|that|these|those|it|him|her|them|his|their|everywhere|there)\b", re.IGNORECASE)
"""What points at something that was said before, and names nothing by itself."""


def _is_attribute(key: str, value: str) -> bool:
    """Whether `my KEY is VALUE` states what somebody or something is, and not how it fares now."""
    if _NO_KEY.fullmatch(key) or _NO_VALUE.match(value) or len(key.split()) > 5 or len(value.split()) > 14:
        return False
    if _ATTRIBUTES.fullmatch(key):
        return True
    return len(key.split()) <= 3 and (_TELLING.search(value) is not None or _COLOUR.fullmatch(value) is not None)


def _is_place(_key: str, value: str) -> bool:
    return _NO_PLACE.match(value) is None and len(value.split()) <= 8


def _is_home(key: str, value: str) -> bool:
    return _is_place(key, value) and _DWELLING.match(value) is None


def _is_job(_key: str, value: str) -> bool:
    return _HOW.match(value) is None


def _is_thing(key: str, _value: str) -> bool:
    return not (_NO_THING.match(key) or _POINTS.search(key)) and len(key.split()) <= 6


def _is_name(_key: str, value: str) -> bool:
    return re.fullmatch(_NAME, value) is not None and not re.match(
        r"(?:not|back|later|when|if|at|tomorrow|tonight|on|in|asap|maybe|an?|the|it|them|him|her|us|me|crazy|old|what|"
        r"whatever|now|so|just|anything|any|never|no|something|by|to|for|mad|stupid|important|too|very|hard|easy|"
        r"long|short|common|weird|wrong|"
        r"spelled|pronounced|irrelevant|confidential|secret|private|unknown|same|different|really|also|out|up|"
        r"misspelled)\b",
        value,
        re.IGNORECASE,
    )


def _asked(key: str, value: str) -> bool:
    plain = not (_NO_KEY.fullmatch(key) or _NO_VALUE.match(value) or len(key.split()) > 4)
    return (
        plain and re.match(r"(?:it|this|that|he|she|they|there|i|we|you|what|who|here)\b", key, re.IGNORECASE) is None
    )


_SORTS: tuple[tuple[str, str, str], ...] = (
    (PERSONAL, "Family", rf"\b{_KIN}\b|anniversary|wedding"),
    (PERSONAL, "Pets", rf"\b{_PET}\b"),
    (PERSONAL, "Identity", (r"name|nickname|pronouns|birth|\bage$|time ?zone|nationality|citizenship|native language|"
    r"mother "
     r"tongue|star sign|zodiac|religion|height|weight|hair|eye")),
    (PREFERENCES, "Preferences", r"favou?rite|preferred|default|units|currency"),
    (PERSONAL, "Contacts", (r"e-?mail|phone|telephone|mobile|website|blog|github|gitlab|twitter|instagram|telegram|"
    r"skype|"
     r"handle|linkedin")),
    (PERSONAL, "Home", r"address|home|city|country|apartment|neighbou?rhood|postal|zip|landlord|house"),
    (PERSONAL, "Health", r"blood|doctor|dentist|therapist|diet|gp$|shoe|shirt|clothes|insurance"),
    (WORK, "Schedule", (r"stand-?up|meeting|deadline|appointment|flight|exam|interview|class|lesson|hours|release date|"
     r"launch|retro|daily|sprint|review|demo|seat|gate|hotel|check-?in")),
    (TECHNOLOGY, "Infrastructure", (r"wi-?fi|ssid|network|database|\bdb|server|host|port|domain|router|nas|subnet|"
    r"cloud|"
     r"hosting|registrar|registry|ci$|staging|production|url|api|cluster|backup")),
    (TECHNOLOGY, "Tools", (r"editor|ide$|shell|terminal|browser|\bos$|operating|laptop|computer|desktop|keyboard|"
    r"monitor|"
     r"printer|stack|framework|language|version|license")),
    (WORK, "Projects", r"project|repo|branch|code ?name|product|budget"),
    (WORK, "Work", (r"job|occupation|profession|title|position|role|department|team|company|employer|boss|manager|"
     r"industry|field|major|degree|school|university|college|alma|office|desk|colleague")),
)  # fmt: skip
_sort = sorter(_SORTS)

_LIKED = r"(?:also |really |absolutely |quite |just |still |especially |particularly |strongly |much )*"
RULES: tuple[Rule, ...] = (
    Rule(PERSONAL, "Identity", rf"my (?:(?:full|real|legal|first) )?name(?: is|'s)(?: now)? (?P<v>{_NAME})"
         rf"{_REST}", "name", check=_is_name),
    Rule(PERSONAL, "Identity", r"i(?:'m| am) (?P<v>(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?),? (?:nice|pleased|"
         r"glad|good|great|happy|delighted) to meet you.*", "name", check=_is_name),
    Rule(PERSONAL, "Identity", rf"(?:(?:please |just |you can |everyone |everybody |people |friends |my friends )"
         rf"*calls? "
         rf"me|i go by|i'm called|i am called) (?P<v>{_NAME}){_END}", "called", check=_is_name),
    Rule(PERSONAL, "Identity", rf"i(?:'m| am) (?P<v>\d{{1,3}})(?: years? old| y/?o)?{_END}", "age"),
    Rule(PERSONAL, "Identity", rf"i was born (?:on |in )(?P<v>{_VALUE}){_END}", "born", check=_is_place),
    Rule(PERSONAL, "Identity", rf"i(?:'m| am| come)(?: originally)? from (?P<v>{_VALUE})"
         rf"{_END}", "from", check=_is_place),
    Rule(PERSONAL, "Home", rf"(?:i|we)(?:'m| am|'re| are)? ?{_ADVERB}(?:live|living|based|reside|residing|located) "
         rf"(?:in|at|"
         rf"near|on) (?P<v>{_VALUE})(?: with {_VALUE})?{_END}", "lives in", check=_is_home),
    Rule(PERSONAL, "Home", rf"(?:i|we)(?:'ve| have)? (?:just |recently |finally |already )*(?:moved|relocated) (?:from "
         rf"{_THING} )?(?:to|into) (?P<v>{_VALUE})(?: with {_VALUE})?{_END}", "lives in", check=_is_home),
    Rule(WORK, "Work", rf"i(?:'m| am)? ?{_ADVERB}work(?:ing)? (?:(?:at|for|in) {_THING} )?as (?:an? |the )"
         rf"?(?P<v>{_THING})"
         rf"(?: (?:at|for|in (?-i:(?=[A-Z]))){_VALUE})?{_END}", "job", check=_is_job, more=True),
    Rule(WORK, "Work", rf"i(?:'m| am)? ?{_ADVERB}(?:work(?:ing)?|employed) (?:as {_THING} )?(?:at|for|by) "
         rf"(?P<v>{_VALUE}){_END}",
         "works at", check=_is_place),
    Rule(WORK, "Work", rf"i {_ADVERB}work in (?P<v>{_THING}){_END}", "works in", check=_is_place),
    Rule(WORK, "Work", rf"i(?:'m| am) {_ADVERB}(?:an?|the) (?P<v>(?:[\w+#/-]+ ){{0,3}}?{_ROLE})(?: (?:at|for|in|from|"
         rf"with) "
         rf"{_VALUE})?{_END}", "job", more=True),
    Rule(WORK, "Work", rf"i(?:'m| am) {_ADVERB}(?:an?|the) (?:[\w+#/-]+ ){{0,3}}?{_ROLE} (?:at|for) (?P<v>{_VALUE})"
         rf"{_END}", "works at",
         check=_is_place),
    Rule(WORK, "Education", rf"i(?:'m| am)? ?{_ADVERB}stud(?:y|ying) (?P<v>(?!for|hard|a lot|at|in|on|the)"
         rf"[^,;.!?]{{2,40}}?)"
         rf"(?: (?:at|in) {_THING})?{_END}", "studies"),
    Rule(PERSONAL, "Allergies", rf"i(?:'m| am|'ve been| have been) (?:\w+ly )?allergic to (?P<k>{_VALUE}){_END}",
         value="allergic", many="k", check=_is_thing),
    Rule(PERSONAL, "Allergies", rf"i have (?:an? |a \w+ )?(?P<k>{_THING}) (?:allergy|allergies)"
         rf"{_END}", value="allergic",
         many="k", check=lambda key, _: key.lower() not in ("no", "any", "some", "bad", "severe", "food")),
    Rule(PERSONAL, "Allergies", rf"i(?:'m| am) (?P<k>lactose|gluten|fructose|histamine)[ -]intolerant{_END}",
         value="intolerant"),
    Rule(PERSONAL, "Health", rf"i(?:'m| am) (?:an? )?(?P<v>vegetarian|vegan|pescatarian|pescetarian|flexitarian){_END}",
         "diet"),
    Rule(PERSONAL, "Health", rf"i(?:'m| am|'ve been| have been) (?:an? )?(?P<k>(?:type [12] )?diabetic|asthmatic|"
         rf"epileptic|"
         rf"dyslexic|colou?r-?blind|co?eliac|left-handed|right-handed|pregnant|deaf|blind){_END}", value="yes"),
    Rule(PERSONAL, "Family", rf"i(?:'m| am) (?P<v>married|divorced|single|engaged|widowed)(?: (?:to|with) {_VALUE})"
         rf"?{_END}",
         "marital status"),
    Rule(PERSONAL, "Family", rf"(?:i|we)(?:'ve| have)(?: got)? (?P<v>an?|one|two|three|four|five|six|\d) (?:\w+ )?"
         rf"(?P<k>{_KIN}s?|children)(?: and {_VALUE})?{_END}"),
    Rule(PERSONAL, "Family", rf"(?:i|we) (?:have no|(?:don't|do not) have(?: any)?) (?P<k>children|kids|siblings)"
         rf"{_END}", value="none"),
    Rule(PERSONAL, "", rf"(?:i|we)(?:'ve| have)(?: got)? an? (?:[\w-]+ )?(?P<k>{_SOMEONE})(?:,)? (?:called|named|"
         rf"whose name "
         rf"is) (?P<v>{_NAME}){_END}", "{k}'s name", sort=_sort),
    Rule(PERSONAL, "", rf"(?:my|our) (?P<k>(?:[\w-]+ )?{_SOMEONE}) ?(?:'s name is|'s name's|is called|is named|goes "
         rf"by|'s "
         rf"called) (?P<v>{_NAME}){_END}", "{k}'s name", sort=_sort, check=_is_name),
    Rule(PERSONAL, "", rf"the name of my (?P<k>(?:[\w-]+ )?{_SOMEONE}) is (?P<v>{_NAME})"
         rf"{_END}", "{k}'s name", sort=_sort),
    Rule(PERSONAL, "", rf"(?:my|our) (?P<k>{_SOMEONE}) is (?P<v>\d{{1,3}})(?: years old| yo| months old)"
         rf"?{_END}", "{k}'s age",
         sort=_sort),
    Rule(PERSONAL, "Languages", rf"i(?:'m| am) {_ADVERB}learning (?P<k>(?-i:[A-Z])[a-z]+){_REST}", value="learning"),
    Rule(PERSONAL, "Schedule", rf"i {_ADVERB}(?:wake|get) up (?P<v>(?:at|around|before) {_THING}){_END}", "wakes up"),
    Rule(PERSONAL, "General", rf"i {_ADVERB}drive (?P<v>(?:an? )?[^,;.!?]*?(?-i:[A-Z])[^,;.!?]{{0,30}}?)"
         rf"{_END}", "drives"),
    Rule(PERSONAL, "Languages", rf"i (?:also |can |can also |natively |fluently )*speak (?:fluent |native |some |a "
         rf"little |a "
         rf"bit of |both )?(?P<k>(?-i:[A-Z])[a-z]+(?:(?:,| and|, and) (?-i:[A-Z])[a-z]+)*)(?: (?:fluently|natively|"
         rf"well|at home|too))?"
         rf"{_END}", value="speaks", many="k"),
    Rule(PREFERENCES, "Preferences", rf"(?P<v>{_THING}) is my (?:all-time )?(?P<k>favou?rite(?: [\w-]+){{1,3}}){_END}",
         check=_is_attribute),
    Rule(PREFERENCES, "Preferences", rf"i(?:'d)? {_LIKED}prefer (?P<k>{_THING})(?: (?P<v>(?:over|to|than) {_THING}))"
         rf"?{_END}",
         value="prefers {v}", check=_is_thing),
    Rule(PREFERENCES, "Preferences", rf"i {_LIKED}(?:love|adore) (?P<k>{_THING}){_END}", value="loves", many="k",
         check=_is_thing),
    Rule(PREFERENCES, "Preferences", rf"i {_LIKED}(?:like|enjoy) (?P<k>{_THING}){_END}", value="likes", many="k",
         check=_is_thing),
    Rule(PREFERENCES, "Preferences", rf"i {_LIKED}(?:hate|can't stand|cannot stand|loathe|detest) (?P<k>{_THING})"
         rf"{_END}",
         value="hates", many="k", check=_is_thing),
    Rule(PREFERENCES, "Preferences", rf"i {_LIKED}(?:dislike|don't like|do not like|don't enjoy|do not enjoy) "
         rf"(?P<k>{_THING}){_END}", value="dislikes", many="k", check=_is_thing),
    Rule(PERSONAL, "Health", rf"i (?:don't|do not|never|can't|cannot) (?P<w>eat|drink) (?P<k>{_THING}){_END}",
         value="does not {w}", many="k", check=_is_thing),
    Rule(TECHNOLOGY, "Tools", rf"(?:i|we)(?:'re| are|'ll| will|'ve| have)? ?(?:{_ADVERB}|(?:decided|agreed|chosen|"
         rf"opted) to )"
         rf"(?:use|using) (?P<v>{_THING}) (?:for|as) (?:our |my |the |a |an )?(?P<k>{_THING}){_END}",
         check=lambda key, value: _is_thing(value, "") and _is_thing(key, "")),
    Rule(TECHNOLOGY, "Tools", rf"let'?s (?:use|go with|stick with|stick to) (?P<v>{_THING}) (?:for|as) (?:our |my |"
         rf"the |a |"
         rf"an )?(?P<k>{_THING}){_END}", check=lambda key, value: _is_thing(value, "") and _is_thing(key, "")),
    Rule(TECHNOLOGY, "Tools", rf"we(?:'ve| have)? (?:decided|agreed) (?:to (?:use|go with)|on) (?P<k>{_THING}){_END}",
         value="uses", check=_is_thing),
    Rule(TECHNOLOGY, "Tools", rf"(?:i|we) (?:{_ADVERB})use (?P<k>[^,;.!?]*?(?-i:[A-Z])[^,;.!?]{{0,40}}?)"
         rf"{_END}", value="uses",
         many="k", check=_is_thing),
    Rule("", "", rf"(?:my|our) (?P<k>[\w][\w'’/ -]{{1,60}}?)(?: (?:is|are|was changed to|has changed to|changed to)"
         rf"(?: now)?)"
         rf" (?:called |named |at the moment |on (?=(?:the )?\d|{_MONTH}))?(?P<v>{_VALUE}){_END}",
         check=_is_attribute, sort=_sort),
    Rule("", "", rf"(?:my|our) (?P<k>[\w][\w'’/ -]{{1,40}}?) ?[:=] ?(?P<v>{_VALUE})"
         rf"{_END}", check=_is_attribute, sort=_sort),
    Rule("", "", rf"(?:the )?(?P<k>(?:[\w-]+ ){{0,2}}?(?:wi-?fi(?: network| name)?|ssid|staging|production|database|"
         rf"db|server|"
         rf"host|hostname|router|vpn|nas|printer|repo|repository|url|port|jump host|domain|branch|stand-?up|deadline|"
         rf"release|launch|retro|demo|project|sprint)(?: (?:for|of) (?:the |our )?[\w-]+| \w+)?) (?:is|runs on|lives "
         rf"at|lives on|=)(?: now)? "
         rf"(?:called |named )?"
         rf"(?P<v>{_VALUE}){_END}", check=lambda key, value: _is_attribute(key, value) and bool(_TELLING.search(value)),
         sort=_sort),
)  # fmt: skip
ASKED: tuple[Rule, ...] = (
    Rule("", "", rf"(?:the|my|our|that) (?P<k>[\w][\w'’/ -]{{1,40}}?) (?:is|are) (?P<v>{_VALUE})"
         rf"{_END}", check=_asked, sort=_sort),
    Rule("", "", rf"(?P<k>[\w][\w'’/ -]{{1,40}}?) (?:is|are) (?P<v>{_VALUE}){_END}", check=_is_attribute, sort=_sort),
    Rule("", "", rf"(?P<k>[\w][\w'’/ -]{{1,40}}?) ?[:=] ?(?P<v>{_VALUE}){_END}",
         check=lambda key, value: not _NO_KEY.fullmatch(key) and len(key.split()) <= 4, sort=_sort),
)  # fmt: skip
"""What needs no `my` where a person asks for it to be remembered."""


_SPLIT = re.compile(
    r"\s*;\s+|\s+[–—-]\s+(?=(?:i|i'm|my|we|our)\b)|,?\s+(?:and|but|so)\s+(?=(?:i|i'm|i've|i'd|my|we|we're|we've|our|"
    r"the|"
    r"call me)\b)|,\s+(?=(?:i|i'm|i've|my|we|we're|we've|our|call me)\b)",
    re.IGNORECASE,
)
_SHARED = re.compile(r",?\s+and\s+(?=(?:also )?(?:live|work|speak|prefer|love|like|hate|use|study)\b)", re.IGNORECASE)
_OPENING = re.compile(
    rf"{LEAD}(?:(?:just so you know|fyi|for your information|as you know|by the way|for the record|in fact|well|also|"
    rf"actually|currently|now|these days|nowadays|today|remember|note|update|correction|reminder)[,:]?\s+)*",
    re.IGNORECASE,
)


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence, each with the one who speaks first, without what only opens it."""
    plain = " ".join(sentence.replace("’", "'").split())
    found: list[str] = []
    for part in _SPLIT.split(_OPENING.sub("", plain)):
        for number, piece in enumerate(_SHARED.split(part)):
            shared = number and re.match(r"(?:i|we)\b", part, re.IGNORECASE)
            bare = _OPENING.sub("", piece).strip()
            found.append(f"{shared[0]} {bare}" if shared else bare)
    return [one for one in found if one]


GRAMMAR = Grammar(
    rules=RULES,
    asked=ASKED,
    clauses=clauses,
    tail=re.compile(
        r"\s+(?:because|since|although|though|even though|which|who|whom|while|whereas|when|whenever|where|so that|but|"
        r"however|except|and (?:it|he|she|they|i|we|my|our|that|this|you)|for now|for a while now|at the moment|"
        r"right now|these days|nowadays|(?:late |earlier )?(?:last|this) (?:week|weekend|month|year|spring|summer|"
        r"autumn|"
        r"fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|(?:just |about |over )?(?:an?|one|two|three|four|"
        r"five|"
        r"six|several|some|a few|a couple of|\d+) (?:days?|weeks?|months?|years?) (?:ago|back|now)|a while (?:ago|"
        r"back)|"
        r"not long ago|the other day|yesterday|recently|lately|anymore|any more|any longer|again|by the way|"
        r"for (?:an?|one|two|three|four|five|six|ten|many|several|some|a few|about|almost|over|the (?:last|past)|\d+)"
        r" (?:\w+ )?(?:days?|weeks?|months?|years?|decades?)|"
        r"btw|in case|so (?=i|we|you|please|it))\b|\s+[–—]\s+|"
        r",\s+(?=(?:and|but|so|which|who|not|it|that|because|though|if|right|please|you|they|he|she|as)\b)|\s+as "
        r"(?:an?|the|our|my)\b|\s*[(（]",
        re.IGNORECASE,
    ),
    joints=re.compile(r",?\s+(?:and|or|&)\s+|,\s+|\s*/\s*", re.IGNORECASE),
    trim=re.compile(
        r"^(?:and|both|either|also|the following:?)\s+|\s+(?:please|now|too|as well|already|again|lol|haha|thanks|"
        r"thank you|btw|actually|currently|a lot|so much|very much|the most|more than anything|ok|okay|though)$|"
        r"\s*[:;]-?[)D(P]$|^(?:now|currently)\s+",
        re.IGNORECASE,
    ),
    never=re.compile(
        r"\b(?:tomorrow|today|tonight|yesterday|(?:next|coming|this|last) (?:week|weekend|month|year|spring|summer|"
        r"autumn|fall|winter|morning|afternoon|evening|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|in (?:an?|one|two|"
        r"three|four|five|a few|\d+) (?:minutes?|hours?|days?|weeks?|months?))\b|"
        r"^(?:my|our) |: .*: |^(?:[\w-]+ )?(?:deadline|flight|appointment|exam|interview|release date|"
        r"launch date)\b.*: (?:on |by |this )*"
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?! \d)",
        re.IGNORECASE,
    ),
)
