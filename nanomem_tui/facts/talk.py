"""What of a message may become a fact: what a person says to be so, sentence by sentence, in three languages.

Owns leaving out what tells nothing of the one who writes: questions, what is only supposed, quoted, pasted or given to
be worked on, what is not to be remembered, what reads as an order to the model, code, recalled text, secrets. English
and Chinese are those of capture (`remembering`, `capture_kinds`, `unwanted`); Russian stands here, as capture does
not read it. A plain yes says what the question before it says. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.facts import invented
from nanomem_tui.facts.proposals import PRIVATE
from nanomem_tui.language import capture_kinds, pasted, remembering, secrets, unwanted
from nanomem_tui.language.simplified import simplified, straight
from nanomem_tui.memory import safety
from nanomem_tui.memory.capture import MAX_MESSAGE

MAX_SENTENCE = 400
"""Characters of a sentence that is read; a longer one is no plain statement."""
_IGNORE = re.IGNORECASE | re.DOTALL

_WORK_ON = re.compile(
    r"^(?:please |can you |could you |пожалуйста,? |请|帮我|麻烦)*(?:translate|rewrite|rephrase|proof-?read|correct|"
    r"fix|"
    r"summari[sz]e|paraphrase|write|draft|compose|spell-?check|repeat|read|analy[sz]e|review|quote|"
    r"переведи|перепиши|исправь|проверь|перефразируй|напиши|составь|сократи|перескажи|повтори|прочитай|разбери|"
    r"翻译|改写|润色|总结|校对|写|重复|朗读|分析)[^:：]*[:：]\s*$",
    re.IGNORECASE,
)
"""A line after which something is given to be worked on: nothing that follows is told."""
_JOKE = re.compile(
    r"\b(?:just kidding|only kidding|i'm kidding|i'm joking|just joking|just a joke|jk|lol jk|шучу|шутка|это шутка|"
    r"пошутил[аи]?)\b|开玩笑|逗你的|骗你的",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|suppos(?:e|ing|edly)|imagine|pretend(?:ing)?|assum(?:e|ing)|hypothetically|what if|"
    r"let'?s say|would|could|should|might|maybe|perhaps|probably|possibly|apparently|allegedly|seems?|i guess|i think|"
    r"i believe|i suppose|not sure|according to|so-called|i wish|i hope|i dream(?:ed|t)?|e\.g\.|for example|"
    r"for instance|in (?:my|the|a|this) "
    r"(?:\w+ )?(?:story|novel|book|game|film|movie|dream|poem|song|essay|script|play)|my character|role-?play)\b|"
    r"\b(?:если|бы|допустим|предположим|представь(?:те)?|представим|вообрази|вообразим|будто|например|возможно|"
    r"может|наверное|наверно|кажется|вроде|видимо|вероятно|якобы|хотел|хотела|мечтаю|хочу|надеюсь|думаю|"
    r"не уверена?|согласно|по словам|по мнению|мне снилось|приснилось|в (?:моей|моём|этой|этом) (?:игре|книге|"
    r"истории|сказке|фильме|рассказе)|"
    r"мой (?:персонаж|герой)|моя героиня)\b|"
    r"如果|要是|假如|假设|假装|假定|万一|比如|例如|可能|也许|或许|大概|好像|似乎|听说|据说|梦见|梦到|想象|的话|应该是|"
    r"我觉得|我猜|根据|据.{1,6}[说称]|我希望|但愿",
    re.IGNORECASE,
)
"""What makes a sentence tell of something that may not be so."""
_UNWANTED_RU = re.compile(
    r"\b(?:не (?:надо |нужно |стоит |следует |смей |вздумай |пытайся )?(?:это |этого |эту |про это |об этом |ничего |"
    r"нигде |никуда |мо[йюие]\w* )*(?:запомина(?:й|йте|ть)|запомни(?:те)?|сохраня(?:й|йте|ть)|записыва(?:й|йте|ть)|"
    r"запиши(?:те)?|храни(?:те|ть)?|фиксиру(?:й|йте)|фиксировать|помни)|без (?:записи|протокола|сохранения)|"
    r"не (?:для|под) (?:запис[иь]|протокола?|памят[иь])|не под запись|не (?:хочу|хотел бы|хотела бы|желаю),? чтобы "
    r"(?:ты|вы) (?:это |этого |такое )?(?:запомина|сохраня|записыва|помни|храни|запомни)\w*|никому не (?:говори|"
    r"рассказывай)|только между нами|(?:пусть|давай) (?:это )?(?:останется )?между нами)",
    re.IGNORECASE,
)
_FORGET_RU = re.compile(
    r"^(?:(?:ну|а|и|да|пожалуйста|можешь|давай)[,\s]+)*(?:забудь(?:те)?|забыть|удали(?:те)?|сотри(?:те)?|отмени)\b",
    re.IGNORECASE,
)
_WISH_RU = re.compile(
    r"^(?:(?:привет|пожалуйста|ещё|еще|также|и|а|кстати|да|ну|ок|хорошо|слушай)[,!\s]+)*"
    r"(?:запомни(?:те)?|запиши(?:те)?|сохрани(?:те)?|учти(?:те)?|отметь(?:те)?|имей(?:те)? в виду|не забудь(?:те)?|"
    r"на будущее)\b(?: себе| на будущее| это|,? пожалуйста)*(?:\s*[:,—–-]\s*(?:что )?|\s+что |\s+)(?P<what>.+)",
    _IGNORE,
)
_QUESTION_RU = re.compile(
    r"^(?:(?:а|и|ну|так|скажи|подскажи|напомни)[,\s]+)*(?:кто|что|где|когда|почему|зачем|как|какой|какая|какое|какие|"
    r"каков[аыо]?|каком|какую|каким|сколько|куда|откуда|чей|чья|чьё|чьи|разве|неужели)\b|"
    r"^(?:ты |вы )?(?:помнишь|помните|знаешь|знаете)\b|^\w+ ли\b",
    re.IGNORECASE,
)
_QUOTED_RU = re.compile(
    r"^(?!я\b|мы\b)(?:[\w-]+ ){0,4}?(?:сказал[аи]?|говорит|говорил[аи]?|говорят|написал[аи]?|пишет|спросил[аи]?|"
    r"спрашивает|ответил[аи]?|отвечает|сообщил[аи]?|считает|думает|утверждает|заявил[аи]?|уверяет)\b.*|"
    r"[«\"“„][^«»\"“”„]*\b(?:я|меня|мне|мой|моя|моё|мои|мы|нас|наш\w*)\b[^«»\"“”„]*[»\"”“]",
    _IGNORE,
)
_WORKED_ON_RU = re.compile(
    r"^(?:пожалуйста,? )?(?:переведи|перепиши|исправь|проверь|перефразируй|напиши|составь|сократи|перескажи|повтори|"
    r"прочитай|как (?:будет|сказать|переводится))\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"(?:(?:yes|yep|yeah|yup|correct|right|exactly|true|indeed|sure|that'?s (?:right|correct|true|me|it)|it is|i do|"
    r"i am|absolutely|precisely|of course|да|ага|угу|верно|правильно|точно|именно|так и есть|всё верно|все верно|"
    r"конечно|совершенно верно|это так|是的?|对的?|没错|嗯+|正确|对啊|是啊|当然|對的?|沒錯)[\s,.!，。！]*){1,3}",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",?\s*(?:right|correct|is that (?:right|correct|so)|yes|isn't it|don't you|aren't you|am i right|верно|правильно|"
    r"так|да|не так ли|я прав[а]?|对吗|是吗|对吧|是吧|对不对|是不是|没错吧|對嗎|是嗎|嗎|吗)\s*[?？]\s*$",
    re.IGNORECASE,
)
_SO = re.compile(
    r"^(?:(?:so|then|ok(?:ay)?|got it|just to (?:confirm|check|be sure)|to confirm|let me (?:confirm|check)|i see|"
    r"do i understand (?:correctly|right) that|значит|то есть|итак|получается|правильно ли я понимаю|верно ли|"
    r"правильно|я правильно понимаю|уточню|所以|那么|那|也就是说|请确认|确认一下|就是说)[\s,:，：]*(?:that |что )?)+",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\W*(?:no\b|wait\b|oops\b|sorry\b|scratch\b|i mean|or rather|make that|my mistake|correction|нет\b|ой\b|то есть|"
    r"точнее|вернее|ошиб|оговорил|不对|不是|哦不|啊不|说错|我是说|更正)",
    re.IGNORECASE,
)
"""How a sentence begins that takes back what was said right before it."""
_TURNED: tuple[tuple[str, str], ...] = (
    (r"^do you (?=\w)", "I "),
    (r"^are you (?=\w)", "I am "),
    (r"^is your (name|birthday|timezone|job|e-?mail|phone number|favou?rite \w+) ", r"my \1 is "),
    (r"\byou're\b", "I'm"),
    (r"\byou are\b", "I am"),
    (r"\byour\b", "my"),
    (r"\byou\b", "I"),
    (r"\b(?:тебя|вас) зовут\b", "меня зовут"),
    (r"\b(?:ты живёшь|ты живешь|вы живёте|вы живете)\b", "я живу"),
    (r"\b(?:ты работаешь|вы работаете)\b", "я работаю"),
    (r"\b(?:ты любишь|вы любите)\b", "я люблю"),
    (r"\b(?:ты говоришь|вы говорите)\b", "я говорю"),
    (r"\bу (?:тебя|вас)\b", "у меня"),
    (r"\b(?:твой|ваш)\b", "мой"),
    (r"\b(?:твоя|ваша)\b", "моя"),
    (r"\b(?:твоё|твое|ваше)\b", "моё"),
    (r"\b(?:твои|ваши)\b", "мои"),
    (r"\b(?:ты|вы)\b", "я"),
    (r"你们|您们", "我们"),
    (r"[你您]", "我"),
)
"""A question as the statement that a yes makes of it."""


class Saying(NamedTuple):
    """A sentence that a person says to be so; `asked`: it is to be remembered, so that it needs no `my` or `our`.

    `confirmed`: the sentence is what an answer of yes says; `source` are the words as they were written.
    """

    text: str
    asked: bool = False
    confirmed: bool = False
    source: str = ""

    @property
    def words(self) -> str:
        """The very words that say it."""
        return self.source or self.text


def why_not(text: str) -> str:
    """Why nothing of a message is read; "" when it is."""
    if len(text) > MAX_MESSAGE:
        return f"more than {MAX_MESSAGE:,} characters"
    if unwanted.is_unwanted(text) or _UNWANTED_RU.search(straight(text)):
        return "asked not to be remembered"
    if _JOKE.search(straight(text)):
        return "said as a joke"
    if invented.is_invented(text):
        return invented.WHY
    if invented.is_order_ru(text):
        return "it tells the model to drop its instructions"
    return next(
        (found.why for found in safety.check(text) if found.kind in ("code", "command", "recalled", "injection")), ""
    )


@lru_cache(512)
def sayings(text: str, before: str = "") -> tuple[Saying, ...]:
    """What a message says to be so; `before`: what the assistant said right before it, of which a plain yes confirms
    the question at its end."""
    if not text.strip() or why_not(text):
        return ()
    if _YES.fullmatch(text.strip()):
        return _confirmed(before, text)
    text = pasted.said(text)
    whole = remembering.sentences(text)
    wishes = (entry.text for entry in remembering.said_in(text) if entry.explicit and entry.text not in whole)
    found = [Saying(wish, asked=True) for wish in wishes if _tells(wish)]
    for sentence in remembering.sentences(remembering.without_lists(text)):
        if _WORK_ON.match(sentence):
            break
        if invented.corrects_itself(sentence):
            if _BACK.match(sentence):
                found = found[:-1]  # of two sentences the second takes back a word of the first
            continue
        said = remembering.read(sentence)
        if said is not None and said.explicit and said.text != sentence.strip():
            continue  # a wish, of which the words were taken above
        wish = _WISH_RU.match(sentence)
        plain = wish["what"].strip() if wish else sentence.strip()
        if _tells(plain) and (plain := _own_words(plain)):
            found.append(Saying(plain, asked=wish is not None))
    return tuple(dict.fromkeys(found))


def taken_back(text: str) -> tuple[str, ...]:
    """The sentences of a message that may say that something is so no longer, or ask to forget it."""
    if not text.strip() or why_not(text):
        return ()
    found = [one.strip() for one in remembering.sentences(pasted.said(text))]
    return tuple(own for one in found if _tells(one, forgets=True) and (own := _own_words(one)))


def _tells(sentence: str, *, forgets: bool = False) -> bool:
    """Whether a sentence tells what is so, and may be kept; `forgets`: or what is not to be known any more."""
    plain = simplified(straight(sentence))
    if not plain or len(plain) > MAX_SENTENCE or _SUPPOSED.search(plain):
        return False
    if not forgets and (_FORGET_RU.match(plain) or remembering.asks_to_forget(plain)):
        return False
    if remembering.is_question(plain) or _QUESTION_RU.match(plain):
        return False
    return not (holds_secret(sentence) or safety.is_recalled(sentence))


def holds_secret(text: str) -> bool:
    """Whether a secret, or what leads to one, stands in a text; the sentence that holds it is not read."""
    return bool(secrets.find(text) or secrets.is_masked(text) or PRIVATE.search(simplified(straight(text))))


def _own_words(sentence: str) -> str:
    """The sentence without what only quotes somebody else; "" where all of it does, or is given to be worked on."""
    if _WORKED_ON_RU.match(sentence):
        return ""
    return _QUOTED_RU.sub(" ", capture_kinds.own_words(sentence)).strip()


def _confirmed(before: str, answer: str) -> tuple[Saying, ...]:
    """What the question at the end of `before` says of the one who answers yes to it."""
    if not before or why_not(before):
        return ()
    asked = remembering.sentences(before)[-1:]
    if not asked or not asked[0].rstrip().endswith(("?", "？", "吗", "嗎", "吧")) or len(asked[0]) > MAX_SENTENCE:
        return ()
    statement = _SO.sub("", _TAG.sub("", straight(asked[0]))).rstrip("?？吗嗎吧 ").strip()
    for pattern, mine in _TURNED:
        statement = re.sub(pattern, mine, statement, flags=re.IGNORECASE)
    if not _tells(statement) or not (statement := _own_words(statement)):
        return ()
    return (Saying(statement, confirmed=True, source=f"{asked[0].strip()} {answer.strip()}"),)
