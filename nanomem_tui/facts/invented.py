"""What a message tells that is no word of the one who writes it: songs, stories, games, horoscopes, quotations.

Owns the words of these, in three languages. A message with one of them is not read at all: where the invention ends
and the writer begins, no rule can tell. Pure.
"""

from __future__ import annotations

import re

from nanomem_tui.language.simplified import simplified, straight

WHY = "a song, a story, a game or a quotation"

_KIND = (
    r"(?:stor(?:y|ies)|songs?|poems?|haikus?|limericks?|lyrics|rap|fairy ?tales?|tales?|novels?|scripts?|scenes?|"
    r"plays?|"
    r"sketch(?:es)?|dialogues?|monologues?|fan ?fiction|fables?|jokes?|riddles?|diary entr(?:y|ies)|backstor(?:y|ies)|"
    r"character sheets?|bios?|essays?|cover letters?|speech(?:es)?|role-?plays?)"
)
_KIND_RU = (
    r"(?:истори[июя]\w*|рассказ\w*|сказк\w*|стих\w*|песн\w*|поэм\w*|роман\w*|сценари\w*|диалог\w*|монолог\w*|"
    r"анекдот\w*|"
    r"загадк\w*|басн\w*|сочинени\w*|эссе|резюме|фанфик\w*)"
)
_KIND_ZH = r"(?:故事|小说|诗|歌词|歌|剧本|童话|寓言|笑话|谜语|作文|日记|台词|剧情|段子|散文)"
_INVENTED = re.compile(
    r"^[\s>*_#-]*(?:(?:the |song |some )?(?:lyrics?|chorus|verse|refrain|song|poem|story|tale|joke|riddle|quote|"
    r"quotation|caption|horoscope|tarot|fortune cookie|character|dialogue|script|scene|movie|film|book|novel|game|"
    r"role-?play|prompt|sample|example|template|bio|cover letter|letter|tweet)(?: of [^:]*)?|"
    r"текст песни|песня|припев|куплет|стих\w*|стихотворение|рассказ|сказка|история|анекдот|загадка|цитата|гороскоп|"
    r"персонаж|герой|диалог|сценарий|фильм|книга|игра|пример|письмо|шаблон|歌词|歌|副歌|诗|故事|小说|笑话|谜语|"
    r"台词|剧本|星座运势|运势|角色|游戏|电影|引用|名言|例子|例句|示例|范文|模板)\s*[:：]|"
    rf"(?<!\bi )(?<!\bwe )\b(?:write|compose|invent|make up|tell|continue|create|draft|finish|generate|improvise|"
    rf"imagine|play|act)\b"
    rf"[^.!?\n]{{0,40}}\b{_KIND}\b|"
    rf"\b(?:напиши|сочини|придумай|расскажи|продолжи|составь|создай|выдумай|допиши)\w*\b[^.!?\n]{{0,40}}\b{_KIND_RU}|"
    rf"(?:写|编|讲|创作|续写|来)[^。！？\n]{{0,12}}{_KIND_ZH}|"
    r"\b(?:lyrics|horoscope|fan ?fiction|role-?play(?:ing|s)?|dungeon master|d&d|character sheet|in character|"
    r"once upon a time|the narrator|protagonist|my (?:\w+ )?(?:character|avatar|persona|alter ego|alias in)|"
    r"(?:you are|you're|be|play|act as|i'll be|i am|i'm) (?:playing )?(?:an? |the )?(?:\w+ )?(?:wizard|witch|knight|"
    r"dragon|elf|"
    r"orc|vampire|pirate|superhero|villain|king|queen|alien|robot|detective in)|in (?:my|the|a|this|our) "
    r"(?:\w+ )?(?:story|novel|game|film|movie|dream|poem|song|play|book|campaign))\b|"
    r"\b(?:гороскоп\w*|фанфик\w*|жили-были|текст песни|слова песни|ролев\w+ игр\w+|мо(?:й|его|ему|им|я|ю|ей) "
    r"(?:\w+ )?(?:персонаж\w*|героин\w+|геро[йяюе]м?|аватар\w*)|в (?:моей|моём|моем|этой|этом|нашей) (?:\w+ )?"
    r"(?:игре|книге|истории|сказке|фильме|рассказе|песне|романе|сне))\b|"
    r"歌词|星座运势|角色扮演|我的(?:角色|人物|主角|化身)|从前有|很久以前|在(?:我的|这个|那个|游戏|梦)(?:故事|小说|游戏|梦|电影|"
    r"剧本|里|中)|^(?:正如|就像)?[^，。]{1,12}(?:唱道|写道|台词是)",
    re.IGNORECASE | re.MULTILINE,
)
_ORDER_RU = re.compile(
    r"\b(?:забудь|игнорируй|не слушай|отмени|проигнорируй)(?:те)? (?:\w+ )?(?:все|всё|предыдущ\w+|прежн\w+|прошл\w+|"
    r"свои|системн\w+)(?: \w+)? (?:инструкци\w+|указани\w+|правил\w*|промпт\w*)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:no,? (?:wait|sorry|actually)|wait,? no|i mean|i meant|or rather|scratch that|make that|my mistake|"
    r"correction|sorry,? (?:i mean|no|not)|oops|"
    r"нет,? (?:стой|погоди|подожди|постой|вру|ошиблась|ошибся)|то есть|точнее|вернее|ой|оговорил(?:ся|ась)|"
    r"я имел[аи]? в виду|ошибочка)\b|不对|不是不是|哦不|啊不|说错|我是说|应该说|更正",
    re.IGNORECASE,
)


def is_invented(text: str) -> bool:
    """Whether a message tells, or asks for, a song, a story, a game, a horoscope or the like."""
    return _INVENTED.search(simplified(straight(text))) is not None


def is_order_ru(text: str) -> bool:
    """Whether a message orders the model in Russian to drop its instructions."""
    return _ORDER_RU.search(text) is not None


def corrects_itself(sentence: str) -> bool:
    """Whether somebody takes back a word in the middle of a sentence (`seven, no wait, eight`): which one holds, no
    rule can tell."""
    return _CORRECTION.search(simplified(straight(sentence))) is not None
