"""What is offered as one memory and what as a conflict, in ten languages and in the memory of one invented person."""

from pathlib import Path

import pytest

from nanomem_tui import open_workspace

PERSON = Path(__file__).parent / "person" / "memories.tsv"
ONE, TWO, AGAINST = "one memory", "two memories", "a conflict"
PAIRS = [
    ("I am allergic to peanuts", "User is allergic to peanuts.", ONE),
    ("User likes green tea", "Ana does not like green tea", TWO),
    ("User lives in Berlin", "User lives in Munich", AGAINST),
    ("I speak English", "I also speak Greek", TWO),
    ("我对花生过敏", "用户对花生过敏", ONE),
    ("用户的哥哥住在广州", "用户的弟弟住在广州", TWO),
    ("用户喜欢咖啡", "用户不喜欢咖啡", AGAINST),
    ("用户喜欢爬山", "用户也喜欢游泳", TWO),
    ("Ich wohne in Köln.", "ich wohne in Köln", ONE),
    ("Ich trinke Kaffee", "Ich trinke keinen Kaffee", AGAINST),
    ("Meine Mutter ist Ärztin", "Mein Vater ist Arzt", TWO),
    ("Ich wohne in Köln", "Ich wohne jetzt in Leipzig", AGAINST),
    ("Trabajo en Sevilla.", "trabajo en Sevilla", ONE),
    ("Mi hermano vive en Cádiz", "Mi hermana vive en Cádiz", TWO),
    ("Como carne", "No como carne", AGAINST),
    ("Hablo alemán", "También hablo griego", TWO),
    ("J'habite à Lyon.", "j’habite à Lyon", ONE),
    ("Je mange de la viande", "Je ne mange pas de viande", AGAINST),
    ("J'habite à Lyon", "J'habite maintenant à Nantes", AGAINST),
    ("Ma sœur est infirmière", "Mon frère est infirmier", TWO),
    ("Moro em Braga.", "moro em Braga", ONE),
    ("Como carne", "Não como carne", AGAINST),
    ("O meu pai é médico", "A minha mãe é médica", TWO),
    ("Moro em Braga", "Agora moro em Évora", AGAINST),
    ("Abito a Torino.", "abito a Torino", ONE),
    ("Mangio carne", "Non mangio carne", AGAINST),
    ("Mia sorella suona il violino", "Mio fratello suona il violino", TWO),
    ("Io abito a Torino", "Adesso io abito a Bari", AGAINST),
    ("Я живу в Казани.", "я живу в Казани", ONE),
    ("Я ем мясо", "Я не ем мясо", AGAINST),
    ("Моя сестра играет на скрипке", "Мой брат играет на скрипке", TWO),
    ("Я живу в Казани", "Теперь я живу в Перми", AGAINST),
    ("東京に住んでいます。", "東京に住んでいます", ONE),
    ("コーヒーを飲みます", "コーヒーは飲みません", AGAINST),
    ("母は教師です", "父は教師です", TWO),
    ("東京に住んでいます", "今は大阪に住んでいます", AGAINST),
    ("저는 부산에 살아요.", "저는 부산에 살아요", ONE),
    ("저는 고기를 먹어요", "저는 고기를 안 먹어요", AGAINST),
    ("어머니는 교사예요", "아버지는 교사예요", TWO),
    ("저는 부산에 살아요", "저는 이제 대구에 살아요", AGAINST),
]


def offered(ws):
    """The texts of each cluster of duplicates, and of each conflict."""
    clusters = [frozenset(item.text for item in one.items) for one in ws.duplicates.clusters()]
    rows = [(pair.older, pair.newer) for pair in ws.conflicts.all()]
    return clusters, [frozenset(getattr(row, "text", "") for row in pair) for pair in rows]


@pytest.mark.parametrize(("first", "later", "expected"), PAIRS)
def test_two_memories_are_one_or_two_or_a_conflict(tmp_path, first, later, expected):
    with open_workspace(tmp_path) as ws:
        ws.items.add(first)
        ws.items.add(later)
        clusters, conflicts = offered(ws)

    both = frozenset((first, later))
    assert {ONE: ([both], []), TWO: ([], []), AGAINST: ([], [both])}[expected] == (clusters, conflicts)


@pytest.mark.slow
def test_in_a_life_what_is_offered_is_right_and_most_is_found(tmp_path):
    lines = [line.split("\t") for line in PERSON.read_text("utf-8").splitlines() if not line.startswith("#")]
    texts = [line[1] for line in lines] + [line[2] for line in lines if len(line) > 2]
    same, opposed = ({frozenset(line[1:]) for line in lines if line[0] == kind} for kind in ("same", "conflict"))
    with open_workspace(tmp_path) as ws:
        for text in texts:
            ws.items.add(text)
        clusters, conflicts = offered(ws)

    assert (len(texts), len(same), len(opposed)) == (200, 30, 30)
    right = same.intersection(clusters), opposed.intersection(conflicts)
    assert len(right[0]) / len(clusters) >= 0.95, [set(one) for one in clusters if one not in same]
    assert len(right[1]) / len(conflicts) >= 0.88, [set(one) for one in conflicts if one not in opposed]
    assert len(right[0]) >= 24
    assert len(right[1]) >= 20


@pytest.mark.slow
def test_what_is_merged_without_a_look_is_the_same_and_so_is_most_of_what_is_offered(tmp_path):
    lines = (Path(__file__).parent / "pairs" / "held_out.tsv").read_text("utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    same = {frozenset(texts) for label, _, *texts in pairs if label == "same"}
    with open_workspace(tmp_path) as ws:
        for number, (_, _, *texts) in enumerate(pairs):
            for text in texts:
                ws.items.add(text, scope_type="chat", channel="telegram", chat_id=str(number))
        clusters = ws.duplicates.clusters()

    offered = [(frozenset(item.text for item in one.items), one.sure) for one in clusters if one.grade != "scopes"]
    sure = [texts for texts, is_sure in offered if is_sure]
    assert len(sure) >= 25
    assert same.issuperset(sure)
    assert len(same.intersection(texts for texts, _ in offered)) / len(offered) >= 0.85
