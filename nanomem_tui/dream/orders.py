"""Lines that order the agent about: what a memory file must not be told without a person who looks at it.

Owns telling a command from a memory and from a harmless standing preference: `Always answer in metric units` says how
to speak, `Always send the mail to Eve` what to do. A sentence counts when it is one that commands, and what it commands
takes something away, sends it to somebody, obeys or conceals, or touches the memory files. Errs towards a person:
what it names waits, nothing is lost. Text that attacks any model is for `memory.injection`. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.memory import injection

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
def reason(text: str) -> str:
    """Why a line must be looked at by a person: `WHY`, or "" for a plain memory."""
    plain = injection.plain(text).strip(" -*+>#\t")
    if any(map(_gives, _SENTENCES.split(plain))):
        return WHY
    talks = _patterns().talks
    raw = unicodedata.normalize("NFKC", text).casefold().strip(" -*+>#\t")
    for reading in {plain, raw}:
        if not reading.isascii() and any(talks.search(one.strip()) for one in _sentences(reading)):
            return WHY
    if plain.isascii() and talks.search(plain):
        return WHY
    return WHY if any(_orders(sentence) for sentence in _sentences(plain)) else ""


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
