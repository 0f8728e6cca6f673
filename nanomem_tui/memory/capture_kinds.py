"""What kind of memory a sentence states: a decision, a preference, a fact; by rules in English and Chinese.

Owns the words of the kinds of seed 001 and of what only looks like one: what another is told to have said, what is only
supposed, what is given to be translated or rewritten. Must not know wishes, questions or what is kept.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.memory.simplified import simplified, straight

LEAD = (
    r"^(?:(?:hey|hi|hello|ok(?:ay)?|also|and|but|so|well|btw|by the way|oh|yes|no|please|nanobot|actually|another "
    r"thing)[\s,:!.]+){0,3}"
)
"""What a sentence may begin with before it says what it wants, as a pattern."""


_PRETENDED = re.compile(
    r"^(?:please |can you |could you |and |so |ok(?:ay)?,? |hey,? )*(?:(?:imagine|suppose|pretend|assume|what if|let's "
    r"(?:say|pretend|assume)|(?:say|if|even if|unless|whether|when|as if)(?= (?:i|we|my)\b))|(?:how (?:do|would|can|"
    r"to)|what does|what's|what is)\b.{0,40}\bsay\b|(?:translate|rewrite|rephrase|proof-?read|correct|fix|summari[sz]e|"
    r"paraphrase|write|draft|compose|spell-?check|repeat|say|type|print|quote|title|subject|example|"
    r"e\.g\.)\b[^:\"“]{0,60}[:\"“])|^(?:请|帮我|麻烦|你|把|能|可以)*(?:翻译|改写|润色|写|总结|校对|造句|扩写|重复|朗读|"
    r"解释)[^：:“\"]{0,30}[：:“\"]|^(?:假如|假设|如果|要是|假装|比如|例如|想象|万一|要不是|即使|就算)(?=.{0,6}(?:我|"
    r"咱))",
    re.IGNORECASE,
)
"""What begins so tells nothing of the one who says it: it is supposed, or given to be worked on."""
_SAID = (
    r"(?:said|says|say|told (?:me|us|him|her|them)|tells (?:me|us)|asked|wrote|writes|replied|goes|claims|claimed|"
    r"texted)"
)
_QUOTED = re.compile(
    rf"^(?!i\b|we\b)(?:\w+[ ,]+){{0,3}}?(?!i\b|we\b)\w+ {_SAID}(?: to (?:me|us|him|her))?"
    r"(?:\s*[:,\"“'].*|,? (?:that )?(?:remember )?(?:that )?(?:i|my|i'm|i've)\b.*)|(?:^|"
    r"[，,。])(?!我[们]?说)[^，,。：:]{0,8}(?:他|她|它|(?<!我)(?<!咱)们|妈|爸|哥|姐|弟|妹|板|事|友|生|师|人|婆|公|子|"
    r"儿)(?:说|问|告诉我|写道|回复|表示|喊)[过了道]?[：:，,“\"]?.*|[\"“][^\"”]*(?:\b(?:i|my|we|our)\b|我|"
    r"咱)[^\"”]*[\"”]",
    re.IGNORECASE,
)
"""What somebody else is told to have said, and words of a person in quotation marks."""


def own_words(text: str) -> str:
    """A sentence without what only quotes another, or nothing where all of it is supposed or given to be worked on."""
    plain = straight(text)
    read = simplified(plain)
    if _PRETENDED.match(read):
        return ""
    quoted = [found.span() for found in _QUOTED.finditer(read)]
    for start, end in reversed(quoted):
        plain = f"{plain[:start]} {plain[end:]}"
    return plain.strip()


class _Kind(NamedTuple):
    """The words of one kind."""

    kind: str
    pattern: str


_KINDS: tuple[_Kind, ...] = (
    _Kind(
        "decision",
        r"\blet'?s (?:use|go with|stick (?:with|to)|switch to|adopt|keep using|settle on)\b|\bwe(?:'ve| have)? "
        r"(?:decided|agreed|settled|chosen|chose|opted|concluded)\b|\bfrom now on use\b|\bwe(?:'ll| will| are going to|"
        r" shall) (?:use|go with|switch to|adopt|move to|migrate to|keep|drop)\b|\bwe(?:'re| are) (?:going with|"
        r"switching to|moving to|migrating to)\b|\b(?:the|our|final) decision(?: is|:)|^decision:|\bi(?:'ve| have)? "
        r"decided\b(?! not to (?:say|tell|answer))|^do (?!not\b)\w.{2,80}\bnot \w|(?:我们|咱们|团队|"
        r"大家)(?:已经)?(?:就)?(?:决定|商定|同意|约定|说好|定下|敲定|统一|改用|采用)|(?:我们|咱们)(?:最终|最后|已经|"
        r"还是|就)*(?:选|选择|选定|选用|确定|敲定|定)(?:了|用|的是)(?!吗|没)|^(?:(?:那么?|好的?|行|嗯|我们|"
        r"咱们)[，,\s]*){0,3}(?:就|还是|都?改|先|统一)(?:用|选|走|采用|使用|换成)\s?(?!你|您|一下|这么|那么|不|了|"
        r"完)\S|我(?:已经|最后|最终|还是|刚)*决定(?:了)?(?!不了|权|性|要不要|是否|了|吗)\S|决定(?:了)?(?:用|采用|改用|"
        r"使用|不再|换成|选)|(?:我们|咱们)(?:以后|之后|就|都|将|会)+(?:用|使用|采用)|就(?:这么|这样)定了|最终(?:方案|"
        r"决定)(?:是|为)",
    ),
    _Kind(
        "preference",
        r"\bi(?:'m| am)(?: really| just)? (?:(?:not|no)(?: really| exactly| much of)?(?: an?| the)?(?: big| huge| "
        r"great)? fan|a (?:big |huge |great )?fan|(?:not )?(?:fond|keen)) (?:of|on) (?!(?:it|that|this|you|yours?)\b)|"
        r"\bi(?: really| absolutely| just)* (?:hate|dislike|can't stand|do not like|don't like|love|like|appreciate) "
        r"it when (?!(?:\w+ (?:do|does|did|say|says|said) (?:that|this|it|so)\b|(?:this|that|it)\b))|\bi(?:'d| "
        r"would)?(?: much| really| strongly| generally| usually| still)? (?:prefer|rather)\b(?!,)(?! (?:(?:not(?: "
        r"to)?)\W*$|(?:not to |not )?(?:say|answer|tell|talk|disclose|discuss|share|comment|think|wait and)\b|(?:it|"
        r"that|this) ))|\bmy (?:\w+ )?preference (?:is|are)\b|\bmy (?:all-time )?favou?rite\b|\bi(?: really| also| "
        r"quite| absolutely)? (?:like|love|enjoy|adore)\b(?! (?:it|that|this|those|these|them|your|how you|what you|"
        r"the way you|you|to know|to see if)\b|\W*$)|\b(?:i|we) (?:usually|normally|typically|mostly|always) (?:use|"
        r"drink|eat|read|write|work|take|listen|go|wear|order)\b|\bi (?:do not|don't|can't|cannot) (?:like|want|enjoy|"
        r"stand|eat|drink|use)\b(?! (?:it|that|this)\b)|\bi no longer (?:like|love|enjoy|prefer|want|eat|drink|use|"
        r"wear|read|watch)\b(?! (?:it|that|this)\b)|\bi(?: really| absolutely| just)? (?:hate|dislike|avoid|can't "
        r"stand|loathe)\b(?! (?:it|that|this|those|these|them|you|your|when you|how you|what you|myself|to (?:say|ask|"
        r"bother|be|admit|interrupt|tell))\b|\W*$)|"
        + LEAD.replace("^", "(?:^|[,;]\\s*)", 1)
        + r"(?:don't|do not|never|always) (?:use|write|send|reply|answer|call|include|add|start|end|ask|put|give|make|"
        r"speak|respond|say|show|format|explain|translate|mention|apologi[sz]e|wake|remind|book)\b|我(?:还|也|真的|真|"
        r"最|更|比较|更加|特别|非常|很|不太|不|不怎么|一直|平时|一般|通常|其实)*(?:喜欢|喜爱|偏好|偏爱|爱(?=喝|吃|看|"
        r"听|用|玩)|讨厌|习惯|倾向|不想要|受不了|宁愿|常用|爱用)(?!这|那|你|您|它|上?了?[。！!~～\s]*$)|我(?:们家|一般|"
        r"从来|现在|平时|一直|都|也|已经|再|还)*不(?:再|太|怎么|能)?(?:吃|喝|抽|碰|穿|坐|开车|看电视|熬夜)(?!了|啦|这|"
        r"那|完|下|饱|起|到)|我从来都?不|我(?:已经)?戒[了掉]?(?:烟|酒|糖|咖啡|奶|肉)|我(?:一般|平时|通常)?只(?:吃|喝|"
        r"用|穿|看|听|坐)|我(?:个人)?的?(?:偏好|喜好|最爱|习惯)(?:是|为)|^(?:请|麻烦)?(?:你|您)?(?:以后|今后|之后|"
        r"回答时|回复时|回答我时)?(?:都|请)?(?:不要|别|勿|不许)(?:再)?(?:总是)?(?:用|使用|给|在|发|叫|加|写|说|问|打扰|"
        r"推荐|提)|^请(?:总是|始终|一直|都)用|^请用[^，。！？]{1,10}?(?:单位|制|格式|语气|口吻|风格|字体|标点|缩进|"
        r"称呼|敬语|编号|时区|货币)(?:回答|回复|写|表示|显示|输出)?(?=[。！!吧\s]*$)",
    ),
    _Kind(
        "fact",
        r"\bi no longer (?:live|work|own|drive|study|teach|smoke|have)\b|\bmy (?:\w+ )?time ?zone is\b|\bmy (?:first |"
        r"last |full |nick)?name(?:'s| is)\b|\bcall me \w|\bi(?:'m| am) called\b|\bmy (?:native |first |mother "
        r")?(?:language|tongue) is\b|\bi speak (?!to\b|with\b|about\b|for\b|up\b)|\bi work (?:with|at|for|as|in|on|"
        r"from|remotely|part)\b|\bi(?:'m| am) (?:based |living |located |from |originally )?(?:in|from|at) (?!(?:a|an|"
        r"the)? ?(?:hurry|rush|awe|tears|shock|luck|touch|meeting|middle|mood|bed|bit|love|trouble|pain|favou?r|"
        r"general|agreement|charge|fact|work|home|way|moment|least|last|first|all)\b)[\w\"]|\b(?:i|we)(?:'ve| "
        r"have)?(?: just| recently)? (?:live|grew up|was born|studied|teach|own|moved|relocated|drive|study) |\bi "
        r"(?:get|wake) up (?:at|around|before|every|early)\b|\bi (?:run|swim|train|work out|exercise|meditate|jog|"
        r"commute|cycle|go [\w ]{2,20}?)[\w ]{0,30}? (?:every|each) (?:\w+ )?(?:day|morning|evening|night|week|weekend|"
        r"month|\w+day)s?\b|\bi(?:'m| am) (?:(?:\w+ly )?allergic|vegetarian|vegan|married|divorced|single|pregnant|"
        r"diabetic|left-handed|retired|(?:[\w-]+[ -])?intolerant|asthmatic|epileptic|dyslexic|colou?r-?blind|co?eliac|"
        r"a[n]? (?!(?:bit|little|lot|fan|huge|big|great|few|idiot|mess)\b)\w+|\d{1,3} years)|\b(?:i|we)(?:'ve| "
        r"have)(?: got)? (?:a|an|one|two|three|four|five|\d+) (?:\w+ )?(?:son|daughter|kid|child|brother|sister|dog|"
        r"cat|wife|husband|car|bike|degree|allerg|meeting every|house|flat|company|phd)\w*|\bi go by (?!(?:bus|car|"
        r"train|bike|plane|boat|foot|tram|taxi|air|sea|the|a|an|my|that|this|it)\b)[\"“']?\w|\b(?:my|our) (?:\w+ "
        r")?(?:wife|husband|partner|son|daughter|kids?|child|children|mother|father|mom|mum|dad|brother|sister|boss|"
        r"manager|colleague|team|dog|cat|company|employer|job|address|birthday|phone|e-?mail|car|doctor|dentist|server|"
        r"laptop|editor|shell|blood type|shoe size|anniversary|hometown|school|university|project|flight|passport|"
        r"staging|host|database|name|timezone)(?:'s)?(?: \w+){0,3} (?:is|are|was|has|have|lives?|works?|likes?|loves?|"
        r"hates?|runs?|starts?|prefers?)\b|\b(?:the|our|my|this|next|\w+day's) (?:[\w'-]+ ){0,3}(?:meeting|appointment|"
        r"deadline|exam|interview|flight|class|lesson|rehearsal|demo|launch|release|wedding|party|checkup|stand-?up|"
        r"train|retro|review)(?: \w+){0,2}? (?:is|starts|(?:(?:has been|was|got|is) )?(?:re)?(?:moved|scheduled|"
        r"postponed|pushed|shifted|brought forward))(?: now| back| forward)?(?: due)? (?:to|at|on|for|until|by|from) "
        r"(?:[\w:.-]+ ){0,3}?(?:\d|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|next)|"
        r"我(?:的(?:名字|全名)?)?叫(?!你)|叫我\S|我(?:现在|目前|平时|一直)?(?:住|在(?=[^\s，。]{1,12}(?:工作|上班|生活|"
        r"读书|上学|做))|来自|出生|毕业|就职|任职|从事)|我是(?!说|想|指|不是|觉得|认为|问|在)\S|我对.{1,20}(?:过敏|"
        r"不耐受)|我[^，。！？]{0,4}(?:不耐受|不耐症)|我(?:会说|说的是|不能吃|的母语)|我(?:有(?!点|些|空|事|时)|养了|"
        r"们?家有|结婚|离婚|单身|"
        r"今年\d|怀孕|吃素)|我(?:的|家|们家)?(?:女儿|儿子|小孩|太太|爱人|妻子|老婆|丈夫|老公|妈妈|爸爸|母亲|父亲|孩子|"
        r"姐姐|妹妹|哥哥|"
        r"弟弟|生日|时区|语言|母语|公司|工作|职业|地址|电话|邮箱|车|狗|猫|家乡|老家|故乡|籍贯|学校|老板|同事|项目|团队|"
        r"血型|医生|服务器|电脑|手机)[^，。！？]{0,16}?(?:是|叫|在|为|有|住|：|:|喜欢|生于|出生|对)|我用的是|我(?:的|"
        r"家|们家)?(?:大|小|二)?(?:女儿|儿子|孩子|妻子|老婆|丈夫|老公|妈妈|爸爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|爷爷|"
        r"奶奶|外公|外婆|孙子|孙女|狗|猫)[^，。！？]{0,8}?(?:\d+|[一二三四五六七八九十两]+)(?:岁|个月大)|我(?:已经|"
        r"早就|现在|早已)*不在[^，。！？]{1,12}?(?:工作|上班|住|读书|上学|任职|干)了|(?:我|我们|我家|"
        r"我们家)[^，。！？我你他她]{0,8}?搬(?:到|去|来|进|回)了?(?!哪|什么)\S|我(?:一般|通常|都|基本)*每(?:天|周|"
        r"个?月|年|晚|早|次|逢|个?星期|隔)(?!都?(?:很|好|觉得|想|在想))\S{2,}|我(?:们)?(?:一般|通常|平时|周末|"
        r"周[一二三四五六日天]|早上|晚上)+(?:都|会)*[^，。？]{0,8}(?:起床|睡觉|跑步|健身|游泳|上课|上班|下班|锻炼|"
        r"散步)|(?:会议|例会|开会|会|约会|预约|面试|考试|航班|火车|课|聚会|婚礼|截止(?:日期|时间)?|发布|上线|演示|体检|"
        r"复查)(?:时间|日期)?(?:已经|已|被|现在)*(?:改|推迟|延期|提前|移|挪|调整|定|安排|约|订|在|是|就是)(?:到|在|为|"
        r"至|成)?了?[^，。？！几哪]{0,6}?(?:\d|[一二三四五六七八九十两]+(?:点|号|月|日)|[下本这]?(?:周|星期|礼拜)|明天|"
        r"后天|中午|下午|上午|早上|晚上)(?!吗|几)",
    ),
)


@lru_cache(1)
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)


def kind_of(text: str) -> str:
    """The kind of memory that a sentence states of the one who says it; empty when it states none."""
    own = simplified(own_words(text))
    return next((kind for kind, pattern in _kinds() if pattern.search(own)), "") if own else ""
