"""Text that gives orders to a model: the one pattern list, for capture, for what a Dream writes and for what is stored.

Owns the patterns and the readings of a text that they look at: folded (NFKC, invisible characters out, accents and
confusable letters folded), hidden tag characters, spelled-out letters, digits for letters, and what base64, base32,
hexadecimal, percent, `\\u` and character codes, rot13 and reversal hide. It decides nothing: who calls it quarantines.
No list catches a plain false fact; the inbox, provenance, scopes and undo are there for those.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from typing import NamedTuple
from urllib.parse import unquote

MAX_SCANNED = 200_000
"""Characters looked at; of a longer text the first and the last half of these."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_HIDDEN = re.compile("[\U000e0020-\U000e007e]{8,}")
"""More tag characters than any flag has."""
_LOOKALIKES = str.maketrans(
    dict(
        zip(
            "аеорсухіјѕԁһӏԛԝкмнтвгзιοαερτυνκχγηωßıɡɑƖⅼ‐‑–—’‘“”",
            "aeopcyxijsdhlqwkmhtbr3ioaeptuvkxynwbigall----''\"\"",
            strict=True,
        )
    )
)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_WORD = re.compile(r"[a-z0-9@$!|]{2,40}")
SPELLED = re.compile(r"(?<!\w)(?:\w[ .\-_*·]){3,}\w(?!\w)")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE32 = re.compile(r"\b[A-Z2-7]{16,}={0,6}")
HEX = re.compile(r"\b(?:0x)?((?:[0-9a-f]{2}[ :]?){8,})", re.IGNORECASE)
_UNICODE = re.compile(r"(?:\\u[0-9a-f]{4}|\\x[0-9a-f]{2}){4,}", re.IGNORECASE)


class _Orders(NamedTuple):
    """One way to give orders: what it is, parts of which one is in every text that fits (`¦` is a bar), a pattern."""

    why: str
    words: str
    pattern: str


_HUSH = "|".join(
    f"{no} {verb}"
    for no in ("do not", "don't", "never")
    for verb in "tell inform mention reveal notify alert show let".split()
)
"""How to keep something from somebody begins."""

_SITE = r"(?<![\w-])[\w-]+\.(?:com|net|org|io|dev|app|xyz|top|info|biz|ru|cn|example)(?![a-z0-9_-])"
_SIGNS_OF_PLACES = "|".join(
    (
        "@|http|www.|.com|.net|.org|.io|.dev|.app|.xyz|.top|.info|.biz|.ru|.cn|.example|account|iban|wallet",
        "卡号|卡號|钱包|錢包",
        *(first + last for first in "账帐賬帳" for last in "户号戶號"),
    )
)
_AWAY = (
    r"(?:\b(?:to|into|onto|at|via)\b.{0,40}?(?:\S@[^\s@]{1,64}?\.\w|https?://|www\.|(?<!\S)@\w{3}|\biban\b|\bwallet\b|"
    rf"\baccount(?: (?:number|no\.?))?[ #:]{{1,3}}[a-z]{{0,2}}\d|\b{_SITE}))"
)
"""Somebody else's account, address or site, as where something goes."""
_ADDRESS = r"\S@[^\s@]{1,64}\.\w{1,20}"
_ACT = (
    r"(?:^|[,;:.!?] ?|\b(?:please|always|then|also|now|just|immediately|automatically|silently|agent|assistant|bot|"
    r"(?:remember|make sure|be sure) to|"
    r"you(?: (?:must|should|shall|will|always|also|have to|need to|are to|can|may))?) )"
    r"(?<!\bi always )(?<!\bwe always )(?<!\bi also )(?<!\bi then )(?<!\bi just )(?<!\bi now )"
)
"""Where the verb of an order stands: at the beginning of a clause, or behind who is ordered."""
_DO = r"(?:transfer|wire|pay|send|forward|copy|upload|post|e-?mail|mail|share|submit|redirect|deposit|transmit|move)\b"
_DONE = (
    r"(?<!\bi )(?<!\bwe )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\byou )(?<!\bwas )(?<!\bwere )(?<!\bbeen )(?<!\bgot )"
    r"(?<!\bhave )(?<!\bhas )(?<!\bhad )(?<!'ve )"
    r"\b(?:sent|forwarded|copied|uploaded|posted|transferred|paid|wired|e-?mailed|mailed|shared|redirected|cc'?e?d)\b"
)
_WHENEVER = (
    r"\b(?:when(?:ever)?|if|each time|every ?time|any ?time|as soon as|once (?:i|you|we)|always|from now on|henceforth|"
    r"going forward|in (?:the )?future|until further notice|by default|every|each|all|any)\b"
)
_ON_ALL = r"\b(?:(?:on|in|with|for|of) (?:every|each|all|any)|whenever|every ?time|each time|from now on|by default)\b"
_ALWAYS_ZH = (
    "(?:每当|每當|每次|只要|如果|一旦|以后|以後|今后|今後|从现在起|從現在起|从今|從今|所有|任何|凡是|全部|一律|自动|自動|"
    "默认|默認|都要|都得)"
)
_ACT_ZH = (
    "(?:抄送|密送|暗送|转发|轉發|转账|轉賬|轉帳|转帐|打款|汇款|匯款|付款|支付|发送|發送|上传|上傳|同步|"
    "(?:发|發|转|轉|寄|传|傳|打|汇|匯)(?:给|給|到|至|往))"
)

_PATTERNS: tuple[_Orders, ...] = (
    _Orders(
        "tells the model to drop its instructions",
        "ignor|disregard|forget|overrid|bypass|overrule|neglect|set aside|follow|attention",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?|overrule|neglect|set aside|"
        r"stop following|do not follow|don't follow|pay no attention to)\b.{0,40}?"
        r"\b(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|system|all|your|any|every|"
        r"these|those|safety|security)\b.{0,30}?"
        r"\b(?:instructions?|instruction sets?|prompts?|rules?|guidelines?|directives?|directions|constraints?|"
        r"restrictions?|programming|polic(?:y|ies)|guardrails?|safeguards|filters?|training|memor(?:y|ies)|commands?)\b|"
        r"\b(?:ignore|disregard|forget)\b.{0,12}\b(?:everything|anything|all)\b.{0,20}"
        r"\b(?:above|before|prior|previous(?:ly)?|you (?:were|have been) (?:told|given|taught)|you know)\b|"
        r"\b(?:ignore|disregard) the user\b",
    ),
    _Orders(
        "changes the model's rules",
        "rules|guideline|instruction|polic|restriction|limits|directive|prompt|filter|guardrail|safeguard|moderation",
        r"\byour (?:\w+ )?(?:rules|guidelines|instructions|polic(?:y|ies)|restrictions|limits) "
        r"(?:(?:have|has) (?:been )?(?:changed|updated|lifted|suspended|removed|replaced)|(?:do|does) not apply|"
        r"no longer apply|are (?:void|suspended|lifted|off)|don't apply)\b|"
        r"\b(?:safety|content|ethical) (?:guidelines|rules|polic(?:y|ies)|filters?).{0,30}"
        r"\b(?:not meant|no longer|not apply|don't apply|disabled|suspended|off)\b|"
        r"\b(?:new|updated|revised) (?:system )?(?:instructions?|directives?|rules|prompt)\s*:|"
        r"\b(?:disable|turn off|remove|drop|lift|switch off)\b.{0,20}\b(?:your|all|safety|content)\b.{0,20}"
        r"\b(?:filters?|restrictions?|guardrails?|safeguards|limits|guidelines|moderation)\b",
    ),
    _Orders(
        "makes the model somebody else",
        "you are now|you are no longer|from now on|you have no|you are under|you are bound|anything now|dan mode|"
        "jailbr|never refuse|uncensored|unfiltered|unrestricted|unaligned|amoral|without any|without restriction|"
        "without limit|without filter|without rules|without censorship|without ethic|without guideline|"
        "no restrictions|no filter|no rules|no ethic|no guideline|no moral|evil|comply with|developer mode|"
        "debug mode|god mode|admin mode|sudo mode|root mode",
        r"\byou are (?:now|no longer) (?:an?|the|in|my|acting|called|free|bound|dan|un\w+|required|going to|allowed)\b|"
        r"\bfrom now on,? you (?:are|have no|will (?:act|be|answer|obey|comply))\b|"
        r"\byou (?:have|are under|are bound by) no (?:rules|restrictions?|limits|limitations|filters?|content policy)\b"
        r"|\bdo anything now\b|\bdan mode\b|\bjailbr(?:eak|oken)\b|\bnever refuse\b|"
        r"\b(?:uncensored|unfiltered|unrestricted|unaligned|amoral) (?:\w+ )?"
        r"(?:model|ai|assistant|bot|chatbot|mode|llm)\b"
        r"|\b(?:pretend|act|behave|respond|answer|reply|role-?play|simulate|imagine)\b.{0,60}"
        r"\b(?:without (?:any )?(?:restrictions?|limits|limitations|filters?|rules|censorship|ethic\w*|guidelines)|"
        r"no (?:restrictions|filters?|rules|ethic\w*|guidelines|moral\w*)|uncensored|unfiltered|evil)\b|"
        r"\bcomply with (?:every|all|any)\b|"
        r"\b(?:in|enter|enable|activate) (?:developer|debug|god|admin|sudo|root) mode\b"
        r"(?=.{0,90}\byou\b)",
    ),
    _Orders(
        "asks for the hidden instructions",
        "prompt|instruction|message|rules|directive",
        r"\b(?:reveal|show|print|tell|repeat|output|display|leak|dump|disclose|recite|expose|append|paste|send|quote|"
        r"share|return|give)\b.{0,40}\b(?:(?:system|hidden|initial|internal|secret|operating|developer|original) "
        r"(?:prompts?|instructions?|messages?|rules|directives)|(?:exact |full )?instructions you (?:were|have been)|"
        r"(?:prompt|instructions) (?:above|verbatim|word for word))\b|"
        r"\b(?:operating |exact |initial )instructions you (?:were|have been) given\b|"
        r"\b(?:reveal|leak|disclose|expose|recite)\b.{0,12}\b(?:the|your|its) (?:\w+ )?(?:prompt|instructions)\b",
    ),
    _Orders(
        "imitates the system or addresses the model",
        "<|inst]|system|developer|admin|operator|llm|assistant|agent|bot|model|summari|when you|whenever you|"
        "for ai|to ai|the ai|any ai|all ai|reading this|processing this",
        r"</?(?:system|instructions?|script|tool_call|im_start|im_end|assistant|user)\b[^>]{0,40}>|"
        r"<\|(?:im_start|im_end|system|assistant|user|endoftext)|\[/?inst\]|<</?sys>>|"
        r"^\W{0,6}(?:system|developer|admin(?:istrator)?)"
        r"(?: (?:note|message|update|notice|override|prompt|instruction))?"
        r"\s*:.{0,80}\b(?:you|must|always|never|ignore|assistant|append|reply|reveal|disclose|forward|obey|execute)\b|"
        r"\bas (?:the|your) (?:system |site |server |it )?(?:admin(?:istrator)?|developer|operator)s?\b(?! of\b).{0,30}"
        r"\b(?:i|we) (?:require|order|instruct|demand|command|direct|authori[sz]e)\b|"
        r"\bsystem (?:note|notice|update|override|message)\s*:|"
        r"\b(?:important|attention|note|message|reminder|instructions?|notice|hint)\b.{0,12}\b(?:for|to) "
        r"(?:the |any |all )?"
        r"(?:ai|llm|assistant|agent|bot|model|language model|coding agent|summari[sz]er)s?\b|"
        r"\b(?:ai|llm|assistant|agent|bot)s? (?:\w+ )?(?:reading|processing|summari[sz]ing) this\b|"
        r"\bfor (?:ai|llm) (?:\w+ )?(?:agents|assistants|models)\b|"
        r"\bwhen(?:ever)? (?:you|the (?:ai|assistant|agent|bot|model)) (?:read|reads|see|sees|process|summari[sz]e)s? "
        r"(?:this|it)\b",
    ),
    _Orders(
        "hides something from the user",
        _HUSH + "|without telling|without asking|without informing|without notifying|without alerting|"
        "keep this|silently|secretly|covertly|quietly",
        r"\b(?:do not|don't|never) (?:tell|inform|mention|reveal|notify|alert|show|let)\b.{0,30}\b(?:the )?"
        r"(?:user|human|owner|operator)s?\b|\bwithout (?:telling|asking|informing|notifying|alerting)\b.{0,10}"
        r"\b(?:user|human|owner|anyone|them)\b|\bkeep this (?:hidden|secret) from\b|"
        r"\b(?:silently|secretly|covertly|quietly)\b.{0,20}\b(?:send|forward|copy|upload|post|call|add|include|bcc)\b",
    ),
    _Orders(
        "sends data away",
        "http|@|attacker|external|](|api key|password|credential|secrets|tokens|customer",
        r"(?<!\bi )\balways bcc\b.{0,20}\S@\S|"
        r"(?<!don't )(?<!do not )(?<!never )"
        r"\b(?:send|post|upload|forward|exfiltrate|leak|transmit|e-?mail|bcc|copy)\b.{0,80}"
        r"\b(?:to|via|at)\b.{0,40}(?:https?://|\S+@\S+\.|attacker|external (?:address|server|url))|"
        r"!\[[^\]]*\]\(https?://[^)]*[?&=]|\b(?:collect|gather|find|list|dump)\b.{0,40}"
        r"\b(?:api keys?|passwords?|credentials|secrets|tokens|customer (?:data|emails|list|database))\b.{0,40}"
        r"\b(?:send|forward|post|email|upload)\b|\b(?:output|dump|print|reveal|leak)\b.{0,25}"
        r"\b(?:customer (?:data(?:base)?|list|emails)|api keys?|credentials|passwords)\b",
    ),
    _Orders(
        "orders something to be sent or paid to somebody",
        _SIGNS_OF_PLACES,
        rf"{_WHENEVER}.{{0,100}}?{_ACT}{_DO}.{{0,60}}?{_AWAY}|"
        r"(?<!\bi )(?<!\bwe )\b(?:always|from now on|henceforth|going forward|by default|every ?time|each time),? "
        rf"(?:please )?{_DO}.{{0,60}}?{_AWAY}|"
        rf"{_ACT}{_DO}.{{0,60}}?\b(?:every|each|all|any|whenever|from now on|by default)\b.{{0,40}}?{_AWAY}|"
        rf"{_ACT}{_DO}.{{0,60}}?{_AWAY}.{{0,60}}?{_ON_ALL}|"
        r"\b(?:wants?|would like|'d like|prefers?|needs?|expects?|(?:should|must|shall|are to|is to)(?: \w+)? be)\b"
        rf".{{0,60}}?{_DONE}.{{0,30}}?{_AWAY}|"
        rf"{_WHENEVER}.{{0,80}}?(?<!\bi )(?<!\bwe )(?<!\bi always )(?<!\bwe always )\bb?cc\b.{{0,40}}?{_ADDRESS}|"
        rf"\bb?cc\b.{{0,40}}?{_ADDRESS}.{{0,40}}?{_ON_ALL}|{_WHENEVER}.{{0,60}}?{_ADDRESS} (?:in|on) b?cc\b|"
        rf"{_ADDRESS} (?:in|on) b?cc\b.{{0,40}}?{_ON_ALL}|"
        rf"(?<!我)(?<!我们){_ALWAYS_ZH}(?:(?!我(?:会|會|都|就|要|得|将|把|用|给|也|想)).){{0,40}}?(?<!我){_ACT_ZH}"
        rf".{{0,24}}?(?:\S@[^\s@]{{1,64}}?\.\w|https?://|{_SITE}|(?:[账帐賬帳][户号戶號]|卡[号號]|[钱錢]包)\D{{0,4}}[\da-z]{{3}})",
    ),
    _Orders(
        "makes the model run something",
        "http|¦|rm -rf|and run|and execute|and follow|and obey|delete_|send_|http_|exec_|execute_|shell_|write_|"
        "transfer_|forward_|drop_|remove_|post_|upload_|decode|decrypt|unscramble|deobfuscate|translate|reverse",
        r"\b(?:run|execute|curl|wget)\b.{0,40}https?://|\|\s*(?:sudo )?(?:ba)?sh\b|"
        r"\b(?:run|execute|fetch|download|visit|open)\b.{0,80}(?:rm -rf|\band (?:run|execute|follow|obey)\b)|"
        r"\bcall (?:the )?`?(?:delete|send|http|exec|execute|shell|write|transfer|forward|drop|remove|post|upload)_\w+|"
        r"\b(?:decode|decrypt|unscramble|deobfuscate|translate|reverse)\b.{0,60}\b(?:follow|execute|obey|comply|"
        r"carry out|act on|do (?:exactly )?what)\b",
    ),
    _Orders(
        "plants text in every answer",
        "token|code|string|phrase|marker|exact|logging|verbatim|audit|on the next",
        r"\b(?:append|include|insert|add|repeat|begin|start|end|finish|prefix)\b.{0,60}"
        r"\b(?:end of (?:your|every|each|all)|(?:every|each|all|any|your) (?:future |subsequent |next )?)"
        r"(?:\w+ )?(?:repl(?:y|ies)|responses?|answers?|summar(?:y|ies)|messages?|outputs?)\b.{0,40}"
        r"\b(?:exact|token|code|logging|verbatim|audit|marker)\b|"
        r"\b(?:exact|verification|tracking|confirmation|audit|logging) (?:token|code|string|phrase|marker)\b.{0,60}"
        r"\b(?:repl(?:y|ies)|responses?|answers?|summar(?:y|ies)|summari[sz]e|outputs?)\b|"
        r"\b(?:you |assistant )(?:must|shall|should) (?:include|append|insert|output|print) the\b.{0,30}"
        r"\b(?:token|code|string)\b|"
        r"\bon the next (?:user )?(?:message|turn|prompt)\b",
    ),
    _Orders(
        "tells the model to drop its instructions (German, French, Spanish, Italian)",
        "anweisung|regeln|vorgaben|instruction|consigne|regles|instruccion|reglas|indicaciones|istruzioni|regole|"
        "indicazioni|system|sistema|prompt|du bist|tu es|vous etes|ahora eres|ora sei|ohne|sans|sin |senza",
        r"\b(?:ignorier\w*|vergiss|missachte\w*|ignorez?|oubliez?|ignora|olvida|omite|dimentica|tralascia)\b.{0,40}"
        r"\b(?:anweisung\w*|regeln|vorgaben|instructions|consignes|regles|instrucciones|reglas|indicaciones|"
        r"istruzioni|regole|indicazioni)\b|"
        r"\b(?:zeig\w*|verrat\w*|gib|revel[ea]\w*|montre\w*|muestra\w*|mostra\w*|rivela\w*|affiche\w*|imprime)\b.{0,30}"
        r"\b(?:systemanweisung\w*|system-?prompt\w*|instructions systeme|prompt systeme|instrucciones del sistema|"
        r"prompt del sistema|istruzioni di sistema|prompt di sistema|prompt iniziale)|"
        r"\b(?:neue anweisungen|nouvelles instructions|nuevas instrucciones|nuove istruzioni)\s*:|"
        r"\b(?:du bist jetzt|tu es maintenant|vous etes maintenant|ahora eres|ora sei|a partir de ahora eres)\b|"
        r"\b(?:ohne (?:einschrankungen|filter|regeln)|sans (?:restrictions?|filtres?|limites)|"
        r"sin (?:restricciones|filtros)|senza (?:restrizioni|filtri|limiti))\b",
    ),
    _Orders(
        "gives the model orders (Chinese)",
        "指令|指示|规则|規則|提示|要求|限制|设定|設定|约束|安全|不要告诉|用户|你现在是|从现在起|越狱模式|开发者模式|"
        "发到|发给|发至|发送到|发送给|发送至|上传到|上传给|上传至|执行以下|执行下面|解码|解密",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|绕过|繞過|不要遵守|不再遵守|别管|抛开)掉?.{0,4}"
        r"(?:之前|以上|先前|所有|前面|上面|上述|此前|一切|任何|全部|系统|系統|你).{0,10}(?:指令|指示|规则|規則|提示词|提示詞|"
        r"提示|要求|限制|设定|設定|约束|安全)|(?:显示|顯示|输出|輸出|打印|泄露|洩露|透露|告诉我|告訴我|重复|复述).{0,12}"
        r"(?:系统提示|系統提示|提示词|提示詞|初始指令|隐藏指令|系统指令)|不要告诉(?:用户|主人|任何人)|别(?:让|告诉)用户|"
        r"瞒着用户|你现在是|从现在起,?你(?:是|必须|没有)|你(?:没有|不受).{0,6}(?:限制|约束|规则)|(?:没有|无|不受).{0,4}限制的"
        r"(?:ai|模型|助手)|越狱模式|开发者模式|新(?:的)?(?:指令|指示|系统提示)\s*:|(?:把|将).{0,30}(?:密码|密钥|令牌|聊天记录|"
        r"客户|数据|文件).{0,20}(?:发送|转发|上传|发)(?:到|给|至)|执行(?:以下|下面)的?(?:命令|指令)|(?:解码|解密).{0,20}(?:执行|照做)",
    ),
)


@lru_cache(1)
def _compiled() -> tuple[tuple[str, frozenset[str], re.Pattern[str]], ...]:
    flags = re.DOTALL | re.MULTILINE
    return tuple((why, frozenset(word.replace("¦", "|") for word in words.split("|")), re.compile(pattern, flags))
                 for why, words, pattern in _PATTERNS)  # fmt: skip


class _Way(NamedTuple):
    """A way to give orders in one language: words of each of `groups` one after the other, behind none of `told`.

    `place`: what else stands there, the name of one of `_ANYWHERE`, or "".
    """

    why: str
    groups: tuple[frozenset[str], ...]
    place: str
    pattern: re.Pattern[str]
    told: re.Pattern[str]


_ANYWHERE = {
    "@address": r"\S@[^\s@]{1,64}\.\w|https?://|www\.|" + _SITE,
    "@secret": r"\.ssh\b|\bid_(?:rsa|ed25519)\b|\.env\b|/etc/(?:passwd|shadow)|authorized_keys|\.aws/credentials",
}
"""What is written alike in all languages: the address of somebody else, places of secrets."""
_UNSPACED = ("zh", "ja")
_REACH = 200
"""Characters around a word within which an order is looked for."""
_SENTENCE_ENDS = ("! ", "? ", ". ", "。", "！", "？", "\n")


@lru_cache(1)
def _of_languages() -> tuple[_Way, ...]:
    """The ways of `packs/orders.json`, for each language; the group that is rarest comes first."""
    text = resources.files(__package__).joinpath("packs", "orders.json").read_text(encoding="utf-8")
    body = json.loads(text)
    found = []
    for language, groups in body["words"].items():
        patterns = {name: _any_of(words.split(), language) for name, words in groups.items()} | _ANYWHERE
        signs = {name: frozenset(map(_folded, words.split())) for name, words in groups.items()}
        told = re.compile(rf"{patterns['teller']}|^\W*{patterns['user']}")
        for way in body["ways"]:
            names = sorted((name for name in way["groups"] if name in signs), key=lambda name: name != way["sign"])
            pattern = r"[^!?。！？\n]{0,80}?".join(f"(?:{patterns[name]})" for name in way["groups"])
            place = next((name for name in way["groups"] if name in _ANYWHERE), "")
            found.append(_Way(way["why"], tuple(signs[name] for name in names), place, re.compile(pattern), told))
    return tuple(found)


def _in_languages(reading: str) -> str:
    """Why a reading gives orders in any language of `packs/orders.json`; nobody's tale of what they do is one."""
    held: dict[frozenset[str], list[str]] = {}
    places = {"", *(name for name, pattern in _ANYWHERE.items() if re.search(pattern, reading))}
    for way in _of_languages():
        if way.place not in places:
            continue
        for group in way.groups:
            if group not in held:
                held[group] = [word for word in group if word in reading]
            if not held[group]:
                break
        else:
            if any(_is_ordered(way, reading, word) for word in held[way.groups[0]]):
                return way.why
    return ""


def _is_ordered(way: _Way, reading: str, word: str) -> bool:
    """Whether a sentence with a word gives orders in a way, and nobody tells there what they do themselves."""
    at = reading.find(word)
    while at >= 0:
        start = max(reading.rfind(end, max(0, at - _REACH), at) for end in _SENTENCE_ENDS) + 1
        clause = max(reading.rfind(end, start, at) for end in ",，、;；:：") + 1
        around = reading[max(start, at - _REACH) : at + _REACH]
        likely = all(any(one in around for one in group) for group in way.groups[1:])
        if likely and way.pattern.search(around) and not way.told.search(reading[max(start, clause) : at]):
            return True
        at = reading.find(word, at + len(word))
    return False


def _folded(word: str) -> str:
    """A word of the pack as readings have it: `*` ends a beginning, `_` stands for a space."""
    return plain(word.strip("*").replace("_", " "))


def _any_of(words: Sequence[str], language: str) -> str:
    """A pattern of the words of a group."""
    written = (re.escape(_folded(word)) + r"\w*" * word.endswith("*") for word in words)
    either = "|".join(sorted(written, key=len, reverse=True))
    return f"(?:{either})" if language in _UNSPACED else rf"(?<!\w)(?:{either})(?!\w)"


@lru_cache(1)
def _words() -> tuple[str, ...]:
    """The words of all patterns, each once."""
    return tuple(sorted(frozenset().union(*(words for _, words, _ in _compiled()))))


@lru_cache(1)
def signs() -> tuple[str, ...]:
    """Parts of words of which every reading that `reason` finds something in holds one."""
    return tuple(sorted({*_words(), *(word for way in _of_languages() for word in way.groups[0])}))


def plain(text: str) -> str:
    """`text` as the patterns read it: NFKC, no invisible characters, accents and confusable letters folded, one space
    between words line ends kept, lower case. For looking only, never to be stored."""
    if not text.isascii():
        folded = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        apart = unicodedata.normalize("NFKD", folded.casefold())
        text = "".join(c for c in apart if unicodedata.category(c) != "Mn").translate(_LOOKALIKES)
    return re.sub(r"[^\S\n]+", " ", text).lower()


def reason(text: str, *, hidden: bool = True) -> str:
    """Why `text` reads as orders to a model; empty when it does not.

    Not `hidden`: who asks knows that nothing is encoded in it, in rot13 or backwards.
    """
    if len(text) > MAX_SCANNED:
        text = f"{text[: MAX_SCANNED // 2]}\n{text[-MAX_SCANNED // 2 :]}"
    for how, reading in _readings(text):
        if how == "rot13" and not hidden:
            break
        # Most texts hold none of the words, and looking for a word is a hundred times cheaper than a pattern.
        held = [word for word in _words() if word in reading]
        for why, words, pattern in _compiled() if held else ():
            if not words.isdisjoint(held) and pattern.search(reading):
                return f"{why} ({how})" if how else why
        if how not in ("rot13", "reversed") and (why := _in_languages(reading)):
            return f"{why} ({how})" if how else why
    return "hides text in invisible characters" if _HIDDEN.search(text) else ""


def _readings(text: str, depth: int = 2) -> Iterator[tuple[str, str]]:
    """The readings of a text, each with how it was hidden; the plain one first, hidden ones only where they differ."""
    first = plain(text)
    yield "", first
    for run in TAGS.findall(text):
        yield "hidden tag characters", "".join(chr(ord(c) - 0xE0000) for c in run).lower()
    joined = SPELLED.sub(lambda found: re.sub(r"[ .\-_*·]", "", found[0]), first)
    if joined != first:
        yield "spelled out", joined
    letters = _LEET_WORD.sub(lambda found: found[0].translate(_LEET), first)
    if letters != first:
        yield "digits for letters", letters
    yield "rot13", codecs.encode(first, "rot13")
    yield "reversed", first[::-1]
    if depth:
        for how, hidden in _decoded(text):
            for deeper, reading in _readings(hidden, depth - 1):
                yield f"{deeper} in {how}" if deeper else how, reading


def _decoded(text: str) -> Iterator[tuple[str, str]]:
    """What the encoded runs of a text say, where it is readable text."""
    decoders: tuple[tuple[str, re.Pattern[str], Callable[[str], bytes]], ...] = (
        ("base64", _BASE64, _from_base64),
        ("base32", _BASE32, lambda run: base64.b32decode(run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 8))),
        ("hexadecimal", HEX, lambda run: bytes.fromhex(re.sub(r"0x|[ :]", "", run))),
        ("escapes", _UNICODE, lambda run: run.encode("ascii").decode("unicode_escape").encode("utf-8")),
    )
    for how, runs, decode in decoders:
        for run in runs.finditer(text):
            try:
                hidden = decode(run[0]).decode("utf-8")
            except (ValueError, binascii.Error):
                continue
            if len(hidden) >= 8 and sum(c.isprintable() or c.isspace() for c in hidden) >= 0.95 * len(hidden):
                yield how, hidden
    for how, whole in (("percent codes", unquote(text)), ("character codes", html.unescape(text))):
        if whole != text:
            yield how, whole


def _from_base64(run: str) -> bytes:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - 1] if len(bare) % 4 == 1 else bare
    return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)


WHY = "it reads like an order to the agent"

_FILES = (
    r"(?:soul|user|memory|agents|heartbeat|tools|history|bootstrap|identity)\.(?:md|jsonl)|dream_cursor|config\.json"
)
_GOODS = (
    r"money|funds?|accounts?|payments?|passwords?|credentials?|keys?|tokens?|secrets?|e-?mails?|mails?|messages?|"
    r"conversations?|chats?|contacts?|histor(?:y|ies)|transcripts?|memor(?:y|ies)|files?|documents?|photos?|data|"
    r"backups?|databases?|servers?|everything|anything|all|every|each"
)
_US = r"(?:me|us|myself|ourselves|the user|user|the owner|you|yourself)\b(?!['’])"
_HANDS = (
    r"send|forward|transfer|wire|e-?mail|mail|upload|post|share|pay|leak|copy|hand|publish|bcc|cc|reveal|disclose|"
    r"exfiltrate|transmit|deliver|submit|relay|donate|give|move|export|report"
)
_GRAVE = (
    # it takes away
    r"(?:delete|erase|wipe|destroy|purge|shred|overwrite|sabotage|corrupt)\b(?! (?:key|button)\b)"
    r"|(?:forget|remove|drop|clear|empty|reset|discard|format|shut down|uninstall|disable|kill|terminate|cancel)\b"
    r".{0,30}?\b(?:all|every|everything|each|any|whole|entire|content|contents|" + _FILES + r")\b"
    # it gives to somebody else
    rf"|(?:{_HANDS})\b(?! {_US}).{{0,100}}?\b(?:{_GOODS}|it|them|this|that)\b.{{0,100}}?\b(?:to|with|for)\b(?! {_US})"
    rf"|(?:{_HANDS})\b(?! {_US}).{{0,100}}?\bto\b(?! {_US}).{{0,100}}?(?:\S@\S|\baccount\b|https?://)"
    # it obeys
    r"|(?:obey|trust|believe|serve|side with|comply|defer to|bow to)\b(?! (?:in|me|your\w*|us)\b)"
    r"|(?:agree with|follow|support|accept|approve|execute|carry out|grant)\b.{0,40}"
    r"\b(?:whatever|anything|everything|every|all|any|orders?|commands?|instructions?|requests?|says?|wants?|tells?)\b"
    r"|agree with (?!me\b|the user\b)|act on behalf|pretend\b|impersonate\b|lie\b|deny\b"
    r"|do (?:whatever|everything|anything|all) .{0,40}\b(?:says?|wants?|tells?|orders?|asks?)\b"
    r"|treat .{1,40} as (?:the )?(?:user|owner|admin|boss|trusted)"
    # it touches the files it lives by
    r"|(?:replace|rewrite|change|edit|modify|update|alter|write|put|add|append|insert|copy|read|print|show|open|"
    rf"rename|truncate|restore|fill|set)\b.{{0,80}}?(?:{_FILES})"
)
_CONCEALS = (
    r"(?:mention|tell|reveal|disclose|inform|notify|admit|warn|alert|report|bring up|speak of|talk about|refuse|"
    r"question|contradict|disobey|doubt|let .{1,40} know)\b"
)
_NEVER = r"(?:never|don['’]?t|do not|must not|should not|shouldn['’]?t|mustn['’]?t)"
_HIDES = r"(?:hide|conceal|withhold|suppress|cover up|keep .{1,60} (?:secret|hidden|from))\b"
_LEAD = (
    r"(?:please|always|now|then|also|just|simply|instead|immediately|at once|silently|secretly|quietly|next|first|"
    r"finally|henceforth|kindly|from now on|in future|each time|every time|automatically|be sure to|make sure to|"
    r"make sure (?:that )?you|remember to|don['’]?t forget to|do not forget to|never forget to|you can|you may|"
    r"(?:the )?user (?:wants|asks?|asked|told|expects|orders?|ordered|requires?) "
    r"(?:you|the (?:assistant|agent|bot)|nanobot) to|"
    r"(?:you|(?:the |this )?(?:assistant|agent|bot|nanobot|ai|model)) (?:should|must|shall|will|has to|have to|"
    r"needs? to|is to|are to|may|can|ought to)|must|should|and|or|to)[ ,:]+"
)
_WHEN = (
    r"(?:when(?:ever)?|if|once|after|before|as soon as|each time|every|in case|on|at|during|for|unless|while)\b"
    r"[^,]{1,120},\s*"
)
_COMMANDED = r"(?:command|instructions?|directive|new rule|mandate|orders?(?: for| to) [^:]{1,30})s?\s*[:：]"
_YOU_MUST = (
    r"(?:you|(?:the |this )?(?:assistant|agent|bot|nanobot|ai|model)) (?:must|shall|have to|has to|are to|is to)\b"
)
_SUPPOSES = r"(?:have|be|feel|miss|love|like|know|enjoy|think|really|so|all|remember)\b"
_STYLE = (
    r"(?:always |never |not |only |please )*"
    r"(?:reply|respond|answer|speak|talk|write|address|call|use|be|keep|greet|sign)\b"
)
_LABEL = re.compile(
    r"(?:to-?do|task|plan|next(?: steps?)?|reminder|actions?(?: items?)?|goal|decision|decided|step \d+|milestone|"
    r"agenda|backlog|project|workflow|process|policy)s?(?: \(.{1,40}\))?$"
)
_COMMANDS = re.compile(
    r"(?:never|don['’]?t|do not|stop|avoid|keep|ignore|answer|reply|respond|use|be|go|take|make|run|read|write|open|"
    r"find|list|collect|gather|call|visit|download|install|execute)\b"
)
"""How a sentence without an opening word commands all the same: `Never …`, `Stop …`, `Answer … and …`."""
_SENTENCES = re.compile(r"[.!?;…](?:\s+|$)|[。！？；\n]+|\s+[-–—→]\s+")
_AND = re.compile(r",?\s+(?:and|then|or|but|also)\s+|,\s+")

_TALKS = (
    # Chinese
    r"^\W*(?:系统)?(?:指令|命令|指示|任务指令)\s*[:：]"
    r"|^\W*(?:请|你|助手|机器人|代理|以后|今后|从现在起|每次|每当.{1,20}|总是|一律|务必|必须|始终|永远|都|立刻|马上|立即|自动|"
    r"悄悄|偷偷|应该|要|应|需|得|[，, ])*"
    r"(?:(?:把|将).{1,40}?(?:发送?|转发?|转账|上传|寄|交|汇款?|打款|分享|抄送|泄露|提供|复制)(?:一份)?[给到至往](?!我|用户)"
    r"|(?:转账|汇款|打款|转发|发送|上传|抄送|泄露).{0,40}?[给到至往](?!我|用户)"
    r"|[给向](?!我|用户).{1,30}?(?:转账|汇款|打款|发送|转发)"
    r"|(?:把|将).{0,40}?(?:删除|删掉|清空|清除|销毁|替换|覆盖|抹掉|格式化)|(?:删除|删掉|清空|销毁|抹掉|格式化|忘记|忘掉)(?!了)"
    r"|服从|听从|听命|无条件|相信.{1,12}的(?:所有|一切|任何)|同意.{1,12}的(?:所有|一切|任何|意见|要求)|冒充|假装"
    r"|隐瞒|保密|(?:不要|不准|不许|切勿|禁止|别|绝不|永不|不得)(?:再)?(?:提及|提起|提到|告诉|透露|泄露|说出|通知|拒绝|质疑|反驳))"
    r"|^\W*你(?:必须|务必|得|一定要)"
    # Thai
    r"|^\W*(?:คำสั่ง|คําสั่ง)|^\W*(?:กรุณา|โปรด|จง|ให้|คุณต้อง|ต้อง|ทุกครั้ง\S{0,20}|เสมอ|\s)*"
    r"(?:ส่ง(?:ต่อ)?.{1,80}?(?:ให้|ถึง|ไปที่|ไปยัง)(?!ฉัน|ผม|ผู้ใช้)|โอน(?:เงิน)?|ลบ|ล้าง|เชื่อฟัง|ปกปิด|ปิดบัง|"
    r"(?:ห้าม|อย่า)(?:บอก|พูดถึง|เปิดเผย|แจ้ง|ปฏิเสธ))|^\W*คุณต้อง"
    # Japanese, Korean
    r"|^\W*(?:命令|指示)\s*[:：]|(?:削除|送信|転送|送金|消去|公開|隠蔽)(?:して(?:ください|下さい|おけ)|せよ|しろ|すること)"
    r"|(?:삭제|전송|전달|송금|복종|공개)(?:해라|하라|하세요|하십시오|할 것)|^\W*(?:명령|지시)\s*[:：]"
    # German, French, Spanish, Italian, Portuguese, Russian: the verb in the imperative at the beginning
    r"|^\W*(?:befehl|anweisung|ordre|orden|ordine|ordem|comando|приказ|команда)\s*[:：]"
    r"|^\W*(?:bitte |immer |s['’]il te plait |por favor |siempre |toujours |per favore |всегда |пожалуйста,? )*"
    r"(?:losche?n?|sende[nt]? |schicke?n? |uberweise?n?|gehorche?n?|verschweige?n?|leite .{1,60} weiter|"
    r"envoie|envoyez|supprime|supprimez|efface|effacez|transfere|transferez|obeis|obeissez|"
    r"envia |enviar |envie |borra |borrar |elimina |eliminar |transfiere|transferir|obedece|obedecer|"
    r"invia |inviare |cancella |trasferisci|obbedisci|"
    r"отправляй|отправь|отправляйте|удали|удаляй|удалите|переведи|переводи|пересылай|перешли|повинуйся|слушайся)"
)

_SENT = (
    r"(?:e-?)?mail(?:s|ed|ing)?|sen(?:ds?|t|ding)|forward(?:s|ed|ing)?|post(?:s|ed|ing)?|shar(?:es?|ed|ing)|"
    r"upload(?:s|ed|ing)?|push(?:es|ed|ing)?|cop(?:y|ies|ied|ying)|transmit(?:s|ted|ting)?|transfer(?:s|red|ring)?|"
    r"leak(?:s|ed|ing)?|exfiltrat(?:es?|ed|ing)|deliver(?:s|ed|ing)?|submit(?:s|ted|ting)?|relay(?:s|ed|ing)?|"
    r"report(?:s|ed|ing)?|sync(?:s|ed|ing)?|back(?:s|ed|ing)? up|export(?:s|ed|ing)?|stream(?:s|ed|ing)?|b?cc(?:s|ed)?|"
    r"giv(?:es?|en|ing)|hand(?:s|ed|ing)?|publish(?:es|ed|ing)?|dump(?:s|ed|ing)?|reveal(?:s|ed|ing)?|"
    r"disclos(?:es?|ed|ing)|ships?|writ(?:es?|ing)|repl(?:y|ies)"
)
_AGENT = r"(?:assistants?|agents?|bots?|chatbots?|nanobots?|ai|llm|model|nanomem)"
_SINK = r"(?:\S@\S+\.\S|\b[a-z][a-z0-9+.-]*://|\bwww\.|\bwebhooks?\b|\b\d{1,3}(?:\.\d{1,3}){3}\b)"
_TAKEN = (
    r"passwords?|credentials|keys?|tokens?|secrets?|messages?|conversations?|chats?|transcripts?|memor(?:y|ies)|files?|"
    r"data|history|everything|documents?|contacts"
)
_GIVES: tuple[tuple[str, ...], ...] = (
    (rf"\b{_AGENT}(?:['’]s)?\b", rf"\b(?:{_SENT})\b", rf"\b(?:{_TAKEN})\b", rf"\b(?:to|with|for|at|via)\b(?! {_US})"),
    (rf"\b(?:{_TAKEN})\b", r"\b(?:is|are|be|get|gets|being)\b", rf"\b(?:{_SENT})\b", _SINK),
    (rf"\b(?:{_SENT})\b", r"\b(?:all|every|each|any|whole|entire)\b", rf"\b(?:{_TAKEN})\b", _SINK),
    ("助手|机器人|代理|智能体|模型", "发|转|上传|分享|提供|抄送|泄露|传|寄|交", r"\S@\S|://|给(?!我|用户)|到"),
    ("文件|记忆|密码|密钥|聊天|消息|数据|邮件", "发|转发|上传|分享|抄送|传|寄", r"\S@\S|://"),
)
"""What follows each other where the agent, or nobody who is named, hands what it knows to an address."""


@lru_cache(1)
def _giving() -> tuple[tuple[re.Pattern[str], ...], ...]:
    anywhere = (rf"\b{_AGENT}\b", rf"\b(?:{_SENT})\b", _SINK)
    return tuple(tuple(re.compile(part, re.IGNORECASE) for part in way) for way in (anywhere, *_GIVES))


def _gives(sentence: str) -> bool:
    """Whether a sentence hands data to an address, whatever its form; each part is looked for once, never back."""
    anywhere, *ways = _giving()
    return all(part.search(sentence) for part in anywhere) or any(_in_order(sentence, way) for way in ways)


def _in_order(sentence: str, parts: tuple[re.Pattern[str], ...]) -> bool:
    at = 0
    for part in parts:
        found = part.search(sentence, at)
        if found is None:
            return False
        at = found.end()
    return True


class _Patterns(NamedTuple):
    """What makes a sentence an order, each part compiled."""

    lead: re.Pattern[str]
    grave: re.Pattern[str]
    conceals: re.Pattern[str]
    commanded: re.Pattern[str]
    must: re.Pattern[str]
    style: re.Pattern[str]
    talks: re.Pattern[str]
    silently: re.Pattern[str]
    supposes: re.Pattern[str]


@lru_cache(1)
def _patterns() -> _Patterns:
    flags = re.IGNORECASE | re.DOTALL
    silently = r"\bwithout (?:asking|telling|confirm\w*|permission|question\w*)|\bbehind .{1,20}back\b"
    return _Patterns(
        lead=re.compile(rf"(?:{_LEAD}|{_WHEN})", flags),
        grave=re.compile(rf"(?:{_GRAVE})", flags),
        conceals=re.compile(rf"{_NEVER}(?: ever)? (?:{_CONCEALS})|{_HIDES}", flags),
        commanded=re.compile(_COMMANDED, flags),
        must=re.compile(_YOU_MUST, flags),
        style=re.compile(_STYLE, flags),
        talks=re.compile(_TALKS, flags),
        silently=re.compile(silently, flags),
        supposes=re.compile(_SUPPOSES, flags),
    )


@lru_cache(maxsize=4096)
def command(text: str) -> str:
    """Why a line must be looked at by a person: `WHY`, or "" for a plain memory."""
    folded = plain(text).strip(" -*+>#\t")
    if any(map(_gives, _SENTENCES.split(folded))):
        return WHY
    talks = _patterns().talks
    raw = unicodedata.normalize("NFKC", text).casefold().strip(" -*+>#\t")
    for reading in {folded, raw}:
        if not reading.isascii() and any(talks.search(one.strip()) for one in _sentences(reading)):
            return WHY
    if folded.isascii() and talks.search(folded):
        return WHY
    return WHY if any(_orders(sentence) for sentence in _sentences(folded)) else ""


def _sentences(text: str) -> list[str]:
    """The sentences, and what stands behind a colon as one of its own."""
    found = []
    for sentence in filter(None, map(str.strip, _SENTENCES.split(text))):
        found.append(sentence)
        label, colon, rest = sentence.partition(":")
        if not colon:
            label, colon, rest = sentence.partition("：")
        if rest.strip() and not _LABEL.search(label.strip(" *_")):
            found.append(rest.strip())
    return found


def _orders(sentence: str) -> bool:
    part = _patterns()
    rest, led = sentence.strip(" \"'“”‘’*_`(["), False
    if part.commanded.match(rest):
        return True
    while found := part.lead.match(rest):
        left = rest[found.end() :]
        if part.must.match(rest) and not (part.style.match(left) or part.supposes.match(left)):
            return True
        rest, led = left, True
    if part.conceals.match(rest) or part.grave.match(rest):
        return True
    if not (led or _COMMANDS.match(rest)):
        return False
    clauses = [_led(clause) for clause in _AND.split(rest)[1:]]
    if any(part.grave.match(clause) or part.conceals.match(clause) for clause in clauses):
        return True
    return bool(part.silently.search(rest) and part.grave.search(rest))


def _led(clause: str) -> str:
    lead = _patterns().lead
    while found := lead.match(clause):
        clause = clause[found.end() :]
    return clause
