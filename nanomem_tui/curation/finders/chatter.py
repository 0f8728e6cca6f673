"""Small talk: words that tell nothing to anybody a day later. English, Chinese, Japanese, Thai. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 60
"""Characters: what is longer tells something."""


@lru_cache(1)
def _words() -> re.Pattern[str]:
    english = (
        "a|again|ah|alright|and|anyway|are|away|awesome|back|brb|bye|cool|cya|do|done|dude|enough|everyone|fine|for|ftw|"
        "going|gonna|good|got|grabbing|great|gtg|guys|ha|haha(?:ha)*|hehe|hello|hey|hi|hmm+|home|how|i|i'll|i'm|im|it|it's|"
        "its|just|k|kk|later|lmao|lol|love|lunch|man|me|minute|minutes|moment|morning|nah|never|nice|night|no|np|nope|nvm|of|"
        "oh|ok|okay|omg|one|oops|perfect|please|problem|rofl|right|roger|same|sec|second|see|so|sorry|sounds|still|sure|"
        "thank|thanks|that|that's|the|then|there|thx|to|too|ty|ugh|um|very|wait|welcome|well|what|what's|whatever|wow|wtf|"
        "ya|yay|yeah|yep|yes|you|you're|your|yup|xd|works|up|now|cheers|mate|much|really|lets|let's|go|gotcha|on|my|way|"
        "coffee|break|in|bit|test|testing|ping|pong|it|does|did|hahaha|dinner|afk|tho|though|true|damn|weird|lovely|day"
    )
    chinese = (
        "好|好的|好吧|好滴|好呀|好嘞|行|行吧|嗯+|哦+|噢|啊+|哈+|嘿+|呵+|谢谢|谢了|多谢|感谢|不客气|没事|没关系|收到|明白|知道了|了解|"
        "可以|对|对的|是的|是|没错|再见|拜拜|晚安|早安|早上好|早|晚上好|你好|您好|在吗|在|稍等|等等|等一下|马上|来了|吃饭去了|我先去吃饭了|"
        "辛苦了|厉害|牛|太棒了|棒|不错|真的|真的吗|吗|呢|吧|了|呀|哎|唉|笑死|笑死我了|测试|测试一下|先这样|那就这样|就这样|没问题|ok"
    )
    other = (
        "はい|うん|了解(?:です|しました)?|ありがとう(?:ございます)?|おはよう(?:ございます)?|おやすみ(?:なさい)?|すみません|お疲れ様(?:です|でした)?|笑|"
        "なるほど|そうですね|またね|ขอบคุณ(?:ครับ|ค่ะ|นะ)?|โอเค|ครับ|ค่ะ|สวัสดี|5{3,}|ได้เลย|ไม่เป็นไร|ฝันดี|บาย"
    )
    gap = r"[\s.,!?…~～。，！？、:;()'’\-^_/*\"“”\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]*"
    return re.compile(rf"{gap}(?:(?:(?<![a-z'])(?:{english})(?![a-z'])|{chinese}|{other}){gap})+", re.IGNORECASE)


def is_chatter(text: str) -> bool:
    """Whether a text is nothing but small talk, or signs without a word."""
    bare = text.strip()
    if len(bare) > LONGEST:
        return False
    return not any(char.isalnum() for char in bare) or _words().fullmatch(bare) is not None
