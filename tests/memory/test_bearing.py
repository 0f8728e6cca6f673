"""What a turn gets of a small memory: nothing for a message that needs none, in many languages; the newer value first.

By words alone, and with distances that a model of English gives, by which everything in other languages is near.
"""

import pytest

from nanomem_tui.core.settings import Settings
from nanomem_tui.language.cues import needs_no_memory
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.store.values import Item
from tests.store.homes import fill

HOME = {"items": 0}
SHARES_A_HOME = True

HOMES = {
    "de": "Oma wohnt in Graz|Die Wanderschuhe stehen im Keller|Der Garten braucht im Mai Dünger|Paul spielt Geige",
    "es": "La abuela vive en Lugo|Las botas están en el sótano|El jardín necesita abono en mayo|Pablo toca el violín",
    "fr": "Mamie habite à Lyon|Les bottes sont à la cave|Le jardin a besoin d'engrais en mai|Paul joue du violon",
    "pl": "Babcia mieszka w Łodzi|Buty są w piwnicy|Ogród potrzebuje w maju nawozu|Paweł gra na skrzypcach",
    "ru": "Бабушка живёт в Омске|Ботинки стоят в подвале|Саду в мае нужно удобрение|Павел играет на скрипке",
    "vi": "Bà sống ở Huế|Đôi ủng ở dưới tầng hầm|Vườn cần phân bón vào tháng năm|Phúc chơi vĩ cầm",
    "zh": "奶奶住在成都|登山鞋在地下室|花园五月要施肥|小明拉小提琴",
    "ja": "祖母は札幌に住んでいる|登山靴は地下室にある|庭には五月に肥料が要る|太郎はバイオリンを弾く",
    "ko": "할머니는 대구에 산다|등산화는 지하실에 있다|정원은 오월에 비료가 필요하다|철수는 바이올린을 켠다",
}
NEEDS_NONE = [
    ("de", "wer hat das Telefon erfunden?"),
    ("de", "rechne 3 Stunden in Minuten um"),
    ("es", "¡buenos días!"),
    ("es", "¿quién inventó el teléfono?"),
    ("fr", "qui a inventé le téléphone ?"),
    ("fr", "raconte-moi une histoire drôle"),
    ("pl", "kto wynalazł telefon?"),
    ("pl", "napisz mi żart"),
    ("ru", "кто изобрёл телефон?"),
    ("ru", "придумай смешную историю"),
    ("vi", "ai phát minh ra điện thoại?"),
    ("vi", "chào buổi sáng!"),
    ("zh", "电话是谁发明的？"),
    ("zh", "给我讲个故事"),
    ("ja", "電話を発明したのは誰ですか？"),
    ("ja", "面白い話をしてください"),
    ("ko", "전화는 누가 발명했어?"),
    ("ko", "재미있는 이야기 해 줘"),
]
NEEDS_ONE = [
    ("de", "wo wohnt Oma?", 0),
    ("de", "wo hab ich bloß die Wanderschuhe hingestellt?", 1),
    ("es", "¿dónde vive la abuela?", 0),
    ("es", "¿qué instrumento toca Pablo?", 3),
    ("fr", "où habite mamie ?", 0),
    ("fr", "quand faut-il de l'engrais pour le jardin ?", 2),
    ("pl", "gdzie mieszka babcia?", 0),
    ("ru", "где стоят ботинки?", 1),
    ("vi", "bà sống ở đâu?", 0),
    ("zh", "奶奶住在哪里？", 0),
    ("ja", "登山靴はどこにある？", 1),
    ("ko", "할머니는 어디에 살아?", 0),
]
RENEWED = [
    ("I work at Acme", "I started working at Globex", "where do I work?"),
    ("I get up at 6", "I now get up at 7", "what time do I get up?"),
    ("We live in Leeds", "We moved to York last month", "where do we live?"),
    ("Ich arbeite bei Acme", "Ich arbeite jetzt bei Globex", "wo arbeite ich?"),
    ("Vivimos en Lugo", "Ahora vivimos en Vigo", "¿dónde vivimos?"),
    ("大门密码是4411", "大门密码改成了8820", "大门密码是多少？"),
    ("我在Acme工作", "我现在在Globex工作", "我在哪里工作？"),
    ("รหัสประตูคือ 4411", "รหัสประตูตอนนี้คือ 8820", "รหัสประตูคืออะไร"),
    ("私はAcmeで働いている", "今はGlobexで働いている", "私はどこで働いている？"),
]
SUMS = [
    "what is 17 times 23?",
    "12% of 340",
    "was ist 17 mal 23?",
    "¿cuánto es 17 por 23?",
    "17乘以23等于？",
    "2 + 2 =",
]
NO_SUMS = ["dentist 555-0199", "555-0199", "is the meeting 10-11?", "room 3 x 4", "1998", "my pin is 4 4 1 1"]


class OfEnglish:
    """Finds every row near, as a model of English finds texts in other languages."""

    why_not, model, scale, is_ready = "", "all-minilm-l6-v2", 1.0, True

    def __init__(self, keys):
        self.keys = keys

    def start(self):
        """Nothing is to be embedded."""

    def nearest(self, text, limit, within=None):
        """Return each row at a distance at which an English one has a bearing."""
        return [(key, 0.3 + n / 100) for n, key in enumerate(self.keys)]


@pytest.fixture(params=["ram", "hybrid"])
def ask(request, ws):
    """What a turn is given of texts for a message, best first; each text was told a day after the one before it."""

    def given(texts, message):
        rows = [Item(f"i{n}", text, updated_at=f"2026-03-{n + 1:02}T00:00:00+00:00") for n, text in enumerate(texts)]
        fill(ws, rows)
        meaning = OfEnglish([row.id for row in rows])
        recall = Recall(ws.store, Settings(recall_backend=request.param), lambda: meaning)
        recall.warm(background=False)
        return [hit.item.text for hit in recall.ask(Question(message)).hits]

    return given


@pytest.mark.parametrize(("language", "message"), NEEDS_NONE)
def test_a_message_that_needs_no_memory_gets_none(ask, language, message):
    assert ask(HOMES[language].split("|"), message) == []


@pytest.mark.parametrize(("language", "message", "place"), NEEDS_ONE)
def test_a_question_gets_its_memory_and_no_other(ask, language, message, place):
    told = HOMES[language].split("|")
    assert ask(told, message) == [told[place]]


@pytest.mark.parametrize("ask", ["ram"], indirect=True)
@pytest.mark.parametrize(("old", "new", "question"), RENEWED)
def test_the_newer_of_two_values_is_first_and_the_older_there(ask, old, new, question):
    others = ["Ana likes her coffee black", "The rent is due on the first", *HOMES["de"].split("|")]
    assert ask([old, *others, new], question)[:2] == [new, old]


@pytest.mark.parametrize("text", SUMS)
def test_a_sum_needs_no_memory(text):
    assert needs_no_memory(text)


@pytest.mark.parametrize("text", NO_SUMS)
def test_other_numbers_may_be_looked_for(text):
    assert not needs_no_memory(text)
