"""What of a message was pasted and not said: a mail that somebody got, a document to translate, the text of a file, a
copy out of a chat, what stands in quotation marks.

Owns the signs by which that is told. What stands behind one of them was written by nobody knows whom, and it says "I"
and "remember" as a person does (MINJA; OWASP ASI06). Pure; it must not know what becomes of either part.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from nanomem_tui.language import chat_logs, quotations, remembering
from nanomem_tui.language.sentences import split

WHY = "in something pasted, not said"

_INLINE = "b|i|u|s|em|strong|small|sup|sub|span|br|p|code|kbd|a"
_ENCLOSED = re.compile(
    rf"<(?!(?:{_INLINE})\b)(?P<tag>[a-z][\w-]{{1,30}})\b[^<>\n]{{0,200}}>.*?(?:</(?P=tag)\s*>|\Z)|"
    r"(?P<quotes>\"\"\"|'''|```|~~~|“““).*?(?:(?P=quotes)|”””|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""Between tags that only a document has, and between three quotation marks."""

_MATERIAL = (
    r"(?:e-?mails?|mails?|messages?|letters?|texts?|articles?|(?:blog )?posts?|pages?|websites?|transcripts?|minutes|"
    r"documents?|docs?|files?|reviews?|comments?|repl(?:y|ies)|threads?|logs?|chats?|conversations?|cvs?|"
    r"r[eé]sum[eé]s?|bios?|profiles?|ads?|stor(?:y|ies)|poems?|lyrics|paragraphs?|passages?|excerpts?|snippets?|quotes?|"
    r"outputs?|results?|answers?|notes?|contents?|description|invitation|newsletter|ticket|issue|report)"
)
_WORK = (
    r"(?:translate|summari[sz]e|rewrite|rephrase|proof-?read|correct|fix|paraphrase|shorten|improve|polish|review|check|"
    r"read|look at|analy[sz]e|explain|answer|reply to|respond to|classify|extract|edit|convert|tl;?dr)"
)
_OWN = re.compile(
    r"\b(?:about (?:me|myself|us)|remember|memori[sz]e|keep in mind|my (?:own )?(?:notes?|facts|details|bio|profile|"
    r"preferences|info\w*|answers?|address|e-?mail|name|message)|for you)\b|关于我|记住|记一下|我的",
    re.IGNORECASE,
)
"""A line that announces what the person says himself."""
_ANNOUNCED = re.compile(
    rf"(?:\b(?:here(?:'s| is| are| comes)|this(?: is)?|these are|below|following|attached|forward(?:ed|ing)?|fwd|"
    rf"pasted|copied|got|gets?|received|found|saw|sent|wrote|writes|posted|from)\b[^\n]{{0,80}}\b{_MATERIAL}\b[^\n]{{0,80}}|"
    rf"\b{_MATERIAL}\b[^\n]{{0,60}}\b(?:i (?:got|received|found)|from|by|wrote|below|follows|reads|says|said)\b"
    rf"[^\n]{{0,60}}|(?:^|[.!?]\s)(?:please |can you |could you |and |now |ok(?:ay)?,? |hey,? )*{_WORK}\b"
    r"[^\n:]{0,60}|"
    r"(?:^|[.!?,] |\b(?:and|what|as) )(?!(?:i|we|you)\b)(?:[\w.'’-]+ ){1,4}?(?!(?:i|we|you)\b)"
    r"(?:wrote|writes|sent|said|says|posted|replied|answered|commented|asked|texted|messaged|told|tells)\b[^\n:：]{0,40})"
    r"[:：]\s*$|"
    r"(?:下面|以下|这|這|收到|转发|轉發|他|她|别人|有人)[^\n：:]{0,16}(?:邮件|郵件|信|消息|短信|文章|文档|文件|内容|評論|评论|"
    r"原文|聊天记录|资料|文字|帖子|写道|说|發來|发来|发的)[^\n：:]{0,10}[：:]\s*$|"
    r"^(?:请|請|帮我|幫我|麻烦|你|把)*(?:翻译|翻譯|总结|總結|改写|润色|校对|解释)[^\n：:]{0,16}[：:]\s*$",
    re.IGNORECASE,
)
"""A line behind which the rest of a message was written by somebody else."""
_WROTE = (
    r"wrote|schrieb|a écrit ?|escribió|escreveu|ha scritto|napisał\(a\)|napisał|пишет|написала?|写道|寫道|のメール|작성"
)
_MARKED = re.compile(
    r"^\s*(?:\[(?:file|document|attachment|pdf|page|url|web|forwarded)\b[^\]\n]{0,200}\]\s*$|"
    r"-{2,}\s*(?:forwarded|original) message\b.*|begin forwarded message:?\s*$|on .{4,80} wrote:\s*$|"
    r"(?:forwarded from|in reply to|weitergeleitet von|antwort an|transféré de|reenviado de|inoltrato da|переслано от|"
    r"в ответ на)\b.{0,60}$|.{0,200}\bfrom: .{1,80}\bsubject: .*$|"
    r"(?:am|le|el|il) .{4,80} (?:schrieb|a écrit|escribió|ha scritto).{0,80}:\s*$|"
    r"(?:from|von|de|od|da|от|subject|betreff|objet|asunto|assunto|oggetto|temat|тема): .+$|"
    r"(?:发件人|寄件人|寄件者|主题|主旨|差出人|件名|보낸 ?사람|제목)\s?[:：].+$|"
    rf"(?:.{{0,80}}<[^<>\s]+@[^<>\s]+>|.{{0,60}}\d\d?[:.]\d\d.{{0,60}}) ?,? ?(?:{_WROTE})\s?[:：]\s*$)",
    re.IGNORECASE,
)
"""A line of a program before what it forwards, attaches or quotes."""
_WORKED_ON = re.compile(
    rf"^\s*(?:please |can you |could you |ok(?:ay)?,? |hey,? )*{_WORK}\b[^\n:\"“]{{0,60}}[:：]\s*(?=\S)|"
    r"^\s*(?:请|請|帮我|幫我|麻烦|你|把)*(?:翻译|翻譯|总结|總結|改写|润色|校对)[^\n：:]{0,16}[：:]\s*(?=\S)",
    re.IGNORECASE,
)
"""How a line begins whose rest, with what follows, is given to be worked on: it is told to nobody."""
_WRITING = (
    r"(?:(?:web ?)?(?:pages?|sites?)|e-?mails?|mails?|letters?|articles?|(?:blog )?posts?|documents?|docs?|pdfs?|"
    r"files?|attachments?|newsletters?|invitations?|tickets?|wikis?|readmes?|manuals?|threads?|reviews?|comments?|"
    r"transcripts?|texts?|messages?|notifications?)"
)
_SOMEBODY = r"(?:i|we|you|he|she|they|it|my|our|that|which|who|as|where|while|when|if|is|was|were|are|be|to)"
"""With these words begins what is no name of a writing any more."""
_REPORTED = re.compile(
    rf"(?:^|(?<=[.!?;,] )|(?<=[。！？；，]))(?:(?:and|but|so|well|ok(?:ay)?|hey|also),? )?"
    rf"(?:(?:the|this|that|an?|his|her|their|its|some|one)(?: (?!(?:i|we|my|our)\b)[\w.'-]{{1,30}}){{0,3}} |^)"
    rf"{_WRITING}(?: (?!{_SOMEBODY}\b)[\w.'@-]{{1,40}}){{0,4}}? (?:says?|said|reads|states|stated|tells|told|"
    r"claims|claimed|asks|asked|instructs|instructed|writes|wrote|warns|mentions)\b(?: that\b)? ?[,:：]? ?(?=\S)|"
    r"(?:^|(?<=[.!?;] ))according to (?:the|this|that|an?)(?: (?!my\b|our\b)[\w.'-]{1,30}){0,3} "
    rf"{_WRITING}\b[^\n,:]{{0,40}}[,:] ?(?=\S)|"
    r"(?:(?:网|網)(?:页|頁|站|上)|页面|頁面|邮件|郵件|文章|文档|文檔|文件|附件|帖子|短信|通知|公告|说明书)(?:上|里|裡|中|内)?"
    r"面?(?:说|說|写着|寫著|写道|寫道|写的是|提到|要求|称|稱|讲|講)(?!不|得|错)(?:了|过)?[:：，,]?[^\S\n]*(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
"""How somebody tells what a page, a mail or a document says."""
_IN_QUOTES = re.compile(r"(?:\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|「[^」]*(?:」|\Z)|'.*?(?:'(?!\w)|\Z))", re.DOTALL)
_OTHERS = re.compile(
    rf"\b(?:{_WRITING}|said|says|told|tells|wrote|writes|posted|sent|texted|replied|answered|asked|claims?|claimed)\b|"
    r"[说說写寫发發]|回复|回覆",
    re.IGNORECASE,
)
"""What a sentence has that tells what another one said."""
_POINTS = re.compile(r"\b(?:this|these|following|attached|below|got|received)\b|[这這]", re.IGNORECASE)
"""What points at something to be looked at."""
_ANSWERED = re.compile(r"\s*>(?:[\s>]|[^\W\d_]|$)")
"""How a mail program begins the lines that are answered."""
_ENTRY = re.compile(r"\s*(?:[-*•·–]|[（(]?\d{1,2}[.)、）])\s*")
_WORD = re.compile(r"[^\W_㐀-䶿一-鿿぀-ヿ가-힯]+")
_WIDE = re.compile(r"[㐀-䶿一-鿿぀-ヿ가-힯]")
FEW = 4
"""Words of a quotation that says something; two wide characters are one."""
LONG = 4_000
"""Characters of a quotation beyond which nobody looks at what it says."""
LEFT_OUT = "“…”"
"""What stands where somebody else is quoted."""
AROUND = 400
"""Characters before a quotation that tell whose it is."""
REPORTED = "what a page, a mail or a document says, not who tells it"


class Parts(NamedTuple):
    """What a person says in a message, and what else stands in it."""

    said: str
    pasted: str


@lru_cache(8)  # a message is asked for them several times in one turn
def parts(text: str) -> Parts:
    """Tell the two apart; nearly every message is said from its beginning to its end."""
    pasted: list[str] = []

    def cut(found: re.Match[str]) -> str:
        pasted.append(found[0].strip(found["quotes"] and "\"'`~“”"))
        return "\n"

    lines = _without_rest(_ENCLOSED.sub(cut, text).split("\n"), pasted)
    said = _without_quoted(_without_reported(_without_marked(lines, pasted), pasted), pasted)
    return Parts(said, "\n".join(pasted)) if pasted or len(said) < len(text) else Parts(text, "")


def _without_rest(lines: list[str], told: list[str]) -> list[str]:
    """What is left without the end of a message that is all another's; what is given to be worked on goes nowhere."""
    log = chat_logs.begins(lines)
    last = max((at for at, line in enumerate(lines) if line.strip()), default=-1)
    for at, line in enumerate(lines):
        if at == log:
            told.append("\n".join(lines[at:]))
            return lines[:at]
        if at < last and _begins_others(line):
            told.append("\n".join(lines[at + 1 :]))
            if _MARKED.match(line) is None:
                return lines[: at + 1]
            is_wrapped = at > 0 and _MARKED.match(f"{lines[at - 1]} {line}") is not None
            return lines[: at - is_wrapped]
        work = _WORKED_ON.match(line)
        if work is not None and not _OWN.search(work[0]):
            return [*lines[:at], line[: work.end()]]
    return lines


def _without_marked(lines: list[str], told: list[str]) -> str:
    """What is left without the lines that a mail program marks as quoted (`>`)."""
    told += [line for line in lines if _ANSWERED.match(line)]
    return "\n".join(line for line in lines if not _ANSWERED.match(line))


def _without_quoted(text: str, told: list[str]) -> str:
    """What is left without the quotations that say something, unless the sentence around one says that in own words.

    A plain sentence stays where it stands, for it says nothing by itself; that it was quoted is told.
    """
    kept, at = [], 0
    for start, end in quotations.spans(text):
        quoted, lead = quotations.inside(text, (start, end)), _lead(text[max(0, start - AROUND) : start])
        speaks, several = _speaks(quoted), len(split(quoted)) > 1
        words = len(_WORD.findall(quoted)) + len(_WIDE.findall(quoted)) // 2
        own = _own(lead)
        if own == "asked" or not (speaks or words >= FEW or (several and words > 1)):
            continue
        if speaks or (several and not own) or own == "theirs":
            kept += [text[at:start], LEFT_OUT]
            at = end
        if speaks or own != "said":
            told.append(quoted if several else text[start:end])
    return "".join((*kept, text[at:]))


def _speaks(quoted: str) -> bool:
    """Whether something quoted would be a memory, or take one back, had a person said it. What is as long as that is no
    word of one's own in any case."""
    return len(quoted) > LONG or any(map(remembering.says_something, remembering.sentences(quoted)))


@lru_cache(64)
def _own(lead: str) -> Literal["asked", "said", "theirs", ""]:
    """What a sentence itself says of what it leads to: that it is to be remembered or done (“remember: …”), something
    else (“I prefer …”), something of what another one wrote (“I like this mail: …”), or nothing."""
    told = f"{lead} {LEFT_OUT}"
    said = remembering.read(told) if lead else None
    if said is None:
        return ""
    if said.explicit and (said.text != told or _POINTS.search(lead) is None):  # a wish has the words that it wants
        return "asked"
    return "theirs" if said.explicit or _OTHERS.search(lead) else "said"


def _lead(before: str) -> str:
    """What stands of a sentence before its quotation; of an entry of a list, the line above the list."""
    lines = before.rstrip(" \t").split("\n")
    while len(lines) > 1 and (_ENTRY.fullmatch(lines[-1]) or not lines[-1].strip()):
        lines.pop()
        while len(lines) > 1 and _ENTRY.match(lines[-1]):
            lines.pop()
        if not lines[-1].rstrip().endswith((":", "：")):
            return ""
    line = lines[-1].rstrip()
    return "" if line.endswith(tuple(".!?。！？")) else (split(line) or [""])[-1]


def _without_reported(text: str, told: list[str]) -> str:
    """What is left without what pages, mails and documents say, which goes to `told`: behind a colon all that follows,
    in quotation marks what stands in them, else the sentence."""
    kept, at = [], 0
    for found in _REPORTED.finditer(text):
        if found.start() < at or _OWN.search(found[0]):
            continue
        behind = text[found.end() :]
        if (quoted := _IN_QUOTES.match(behind)) is not None:
            length = quoted.end()
        elif found[0].rstrip().endswith((":", "：")):
            length = len(behind)
        else:
            first = split(behind)[0]
            length = behind.index(first) + len(first)
        kept.append(text[at : found.end()])
        told.append(behind[:length])
        at = found.end() + length
    return "".join((*kept, text[at:]))


def reports(text: str) -> bool:
    """Whether some of a message is what a page, a mail or a document says."""
    return any(not _OWN.search(found[0]) for found in _REPORTED.finditer(text))


def _begins_others(line: str) -> bool:
    """Whether what stands behind a line is not the person's own."""
    announces = line.rstrip().endswith((":", "：")) and _ANNOUNCED.search(line) is not None
    return (announces or _MARKED.match(line) is not None) and _OWN.search(line) is None


def said(text: str) -> str:
    """What a person says himself in a message."""
    return parts(text).said
