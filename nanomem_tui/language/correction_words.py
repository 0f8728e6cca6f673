"""The words of corrections, in English and Chinese, as patterns that hold only where the words are the correction.

Owns four families: what denies the answer, what complains of its form, what orders how answers are to be, and what says
what was meant. Each ends where such words end, so that `wrong, it is Luna` is one and `wrong exit on the highway` is
none. Must not know messages, settings or lessons. The Chinese is simplified (`simplified`).
"""

from __future__ import annotations

LEAD = (
    r"(?!oh no\b)(?:(?:hey|hmm+|oh|sorry|but|and|ok(?:ay)?|well|actually|please|no|nope|嗯|哎|啊|喂|呃|"
    r"拜托)[\s,，.!。！]+){0,2}"
)
"""What a correction may begin with before its word."""
LANGUAGES = "english|chinese|mandarin|cantonese|german|french|spanish|italian|japanese|portuguese|russian|korean"
LANGUAGES_ZH = (
    "(?:繁体|简体|正体)?中文|汉语|普通话|国语|粤语|广东话|闽南语|台语|(?:英|日|德|法|俄|韩|西班牙|葡萄牙|意大利)[语文]"
)

_END = (
    r"(?=\W*$|\s*[,.;!:…—–]|\s+-\s|\s+(?:please|and|but|or|again|still|though|tho|this time|next time|from now|for "
    r"(?:me|us)|in future|thanks?|tbh|imo|now|then|to read|can you|could you|i|you|it|it's|that|that's|this|the|he|she|"
    r"they|we|my|is|was|not|no|so|because|since|instead)\b)"
)
_SHUT = r"(?=\s*[，,。.！!；;：:~～…、]|\s*$|\s)"
_ANSWERS = r"(?:answers?|repl(?:y|ies)|responses?|messages?|sentences?|explanations?|paragraphs?|texts?|version)"
_BAD_FORM = (
    r"(?:long|short|verbose|wordy|brief|detailed|technical|formal|informal|vague|complicated|complex|simple|general|"
    r"much|(?:much (?:text|detail|information)|many (?:words|lines|details|sentences|emojis?|bullets?|bullet points|"
    r"lists|paragraphs|examples|questions)))"
)
_RIGHT = (
    r"(?:(?:quite |really |exactly |even )?(?:right|true|correct|accurate|helpful|good enough|like that|it)"
    rf"{_END}|what (?:i|we)\b|how (?:i|we)\b|my (?!problem|fault|business|thing|style|cup|job)\w|"
    r"the (?:answer|right|correct|one|way|point|name|language|question)\b|an? (?:answer|list|summary|table|"
    r"translation)\b|"
    rf"in (?:{LANGUAGES})\b|[^.!?,;]{{1,60}}[,;] (?:it|he|she|they|that|i|but|the|we)\b)"
)
_BETTER_FORM = r"(?:make it |be |keep it |a bit |much )?(?:shorter|longer|briefer|more (?:concise|brief|detailed))"
_ALL_WELL = (
    r"(?: ?(?:thanks|thank you|worries|problem|need|not (?:now|yet|today|really|at all|for now)|nothing|never ?mind|go "
    r"ahead|of course|don't worry|all good|(?:it|that)(?:'s| is) (?:ok(?:ay)?|fine|all|all right|alright|good|great|"
    r"perfect|enough)|i'm (?:good|fine|ok(?:ay)?|done))\b)"
)
_OF_MYSELF = (
    r" (?:(?:i|we)(?:'ve| have)? (?:haven't|have not|hadn't|never|not|can't|couldn't|wasn't|weren't|(?:didn't|did not)"
    r"(?! (?:ask|mean|say|want)))|never|but)\b"
)
"""After “no”: the answer to a question, and no denial."""
_DENIES = "|".join(
    (
        rf"(?:no[,.!]|nope\b)(?![,.!]?(?:{_ALL_WELL}|{_OF_MYSELF}))",
        (
            r"(?:wrong|incorrect|that(?:'s| is| was) (?:(?:just|simply|totally|completely|still|so|plain) )?(?:wrong|"
            rf"incorrect|false)|not (?:true|right|correct|quite(?: right)?|like that|in english|in chinese)){_END}"
        ),
        r"(?:wrong|incorrect) (?:answer|language|format|tone|units?|one)\b",
        rf"that(?:(?:'s| is| was) not|(?: is|was)n't| isn't) {_RIGHT}",
        r"not what i (?:asked|meant|wanted|said|need|needed|requested|was asking|had in mind)\b",
        r"you (?:misunderstood|got (?:it|that) wrong|are (?:wrong|mistaken)|forgot|missed|didn't)\b",
        r"you're (?:wrong|mistaken)\b",
        r"correction(?=\s*[:,.]|\W*$)|instead(?=[,.!]|$)",
        rf"不对(?:{_SHUT}|(?=[啊呀哦吧啦嘛了]|应该|请|我说|我要|我问|我的意思|你说|你搞|你弄))",
        r"错了(?![车过班路])|搞错了|答非所问|应该是",
        rf"不是(?:这样|那样|这么回事|(?:这|那)(?:个|意思)|我(?:要|问|说|指|想要|想问)|[啊呀]|的?{_SHUT})",
        r"不是[^，,。！？]{1,20}[，,]\s*(?:而?是|应该是|我)",
        rf"(?:(?:不准确|不正确|有误)[的了]?|(?:纠正|更正)(?:一下)?){_SHUT}",
        r"你(?:理解错|搞错|弄错|记错|说错|答错|误会)",
    )
)
_SOFT_ZH = "(?:一?点儿?|一?些|一下|了)?(?:吧|啊|呀|即可|就好|就行)?"
_COMPLAINS = "|".join(
    (
        (
            rf"(?:(?:that(?:'s| is| was) )?(?:way |much |far |a bit |still )?too {_BAD_FORM}|{_BETTER_FORM}|be (?:more "
            rf"|very |really )?(?:brief|concise)){_END}"
        ),
        rf"{_BETTER_FORM} {_ANSWERS}\b",
        rf"太(?:长|短|啰嗦|罗嗦|复杂|简单|多|详细|正式|笼统|冗长|敷衍)(?:{_SHUT}|(?=[了啦]))",
        r"太多(?:字|文字|废话|细节|术语|表情|要点)",
        (
            r"(?:请|再|更|尽量|要)*(?:简短|简洁|精简)(?:一?点儿?|一?些|一下|地?(?:回答|回复|说|讲)(?:我|就好|即可)?)?"
            rf"(?:吧|就好|就行|即可)?{_SHUT}"
        ),
        rf"(?:请)?说重点(?:吧)?{_SHUT}|(?:请|再|更)*(?:短|长|详细)(?:一?点儿?|一?些)(?:吧|的)?{_SHUT}",
        (
            r"(?:请)?(?:把)?(?:你的?)?(?:回答|回复|答案|解释|说话|说|讲|写)(?:写|说|讲)?(?:得|要|请|尽量|可以|能不能|"
            r"的)?[再更太]?"
            rf"(?:简短|简洁|精简|详细|啰嗦|冗长|[短长](?:一?点|一?些|了)|(?:简单|正式)(?:一?点|一?些|"
            rf"了)){_SOFT_ZH}(?:{_SHUT}|(?=不要|别|请))"
        ),
    )
)
_IN_LANGUAGE_EN = (
    r"(?:(?:answer|reply|respond|write|speak|talk)(?: (?:to |with )?(?:me|us))?(?: (?:only|always))?(?: in)? |use |in )"
    rf"(?:(?:british|american|plain|simple|simplified|traditional) )?(?:{LANGUAGES})"
    r"(?=\W*$|[,.;!]|\s*…| (?:please|only|with me|to me|with us|to us|here|in this chat|instead|from now|next time|and|"
    r"not|again)\b)"
)
_IN_LANGUAGE_ZH = (
    rf"(?:用|使用|讲|说)(?:{LANGUAGES_ZH})(?:来)?(?:回答|回复|答复|交流|沟通|聊天?|和我说|跟我说|说话?|写)?(?:我|"
    rf"我们)?(?:的问题)?"
    r"(?:吧|就好|就行|了|好了)?(?=[\s。！!，,；;~]|$|好吗|可以吗|行吗|好不好|谢谢)"
)
IN_LANGUAGE = f"{_IN_LANGUAGE_EN}|{_IN_LANGUAGE_ZH}"
"""A wish for the language of answers, and nothing else in its clause."""
_ORDERS = "|".join(
    (
        (
            r"(?:don't|do not|stop|never) (?:us(?:e|ing)|writ(?:e|ing)|reply|answer|speak|do|say|add|ask|repeat|put|"
            r"end|start|apologi[sz]|mak(?:e|ing) (?:it|them|your))\w*(?! (?:never|why|how|me (?:why|how)|the (?:phone|"
            r"door|call|bell|car|engine|meeting|oven|fire|game|container|server))\b)"
        ),
        r"no (?:more )?(?:emojis?|emoticons?|bullet points|lists|markdown|jokes|small talk)\b",
        (
            r"(?:please )?keep (?:it|them|this|(?:your |the )?(?:answers?|repl(?:y|ies)|responses?|messages?|sentences|"
            r"explanations?)) (?:(?:\w+ ){0,2}(?:short|shorter|brief|briefer|concise|simple|simpler|formal|informal|"
            r"detailed|longer|technical)|(?:under|below|within|to) [\w ]{1,12}(?:words?|sentences?|lines?|"
            r"paragraphs?))\b"
        ),
        rf"(?!in (?:{LANGUAGES}), (?!please|not|thanks|again|instead|i (?:said|don't|do not|can't))){_IN_LANGUAGE_EN}",
        r"(?:please )?(?:fix|redo|try) (?:it|that|this)(?: again)?(?=\W*$|[,.;!]| (?:with|in|without|but)\b)",
        r"不要(?:这样|这么|再)|别(?:这样|这么|再|用)|不要用|少用",
        f"(?:请你?)?{_IN_LANGUAGE_ZH}",
        rf"重新(?:来|写|说|回答)(?:一?下|一?遍|一?次|过|吧)*{_SHUT}",
    )
)
_NO_NEWS = (
    r"(?:(?:yes|no|nope|ok(?:ay)?|so|nothing|something)(?=\W*$|[,.!]| (?:to|at|thanks|and|because|way)\b)|hi|hello|bye|"
    r"goodbye|goodnight|sorry|thanks|thank|what|it|that|to (?:him|her|them|my|the|our|myself))"
)
_ELSEWHERE = (
    r"(?:a (?:raise|divorce|refund|day|table|loan|transfer|promotion|lift|ride)|help|directions|permission|advice|her|"
    r"his|their|my|the (?:bill|check|manager))"
)
_MEANT = "|".join(
    (
        rf"i said (?!{_NO_NEWS}\b)",
        r"i meant (?!(?:well|it|no|everything|every|to (?!say|write|ask)\w+)\b)",
        rf"i asked for (?!{_ELSEWHERE}\b)",
        r"i (?:didn't|did not) (?:ask (?:for|you|that|this|about|to)|mean (?!to\b))",
        r"i (?:didn't|did not) say (?!(?:goodbye|anything|a|much|hi|hello|yes|no)\b)",
        r"我(?:说的|的意思|要的|问的)(?:是(?!真的|实话|事实|认真)|不是)",
    )
)
WORDS = rf"(?P<denies>{_DENIES})|(?P<complains>{_COMPLAINS})|(?P<orders>{_ORDERS})|(?P<meant>{_MEANT})"
"""Every correction; the group that matched tells its family."""
