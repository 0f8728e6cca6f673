"""Recall in scripts that put no spaces between words: Chinese, Japanese and Thai, from RAM and from the database."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.recall.recall import Question, Recall
from tests.store.homes import make_home

SHARES_A_HOME = True

TOLD = {
    "zh-school": "小满每周三下午四点放学，要有人去接",
    "zh-coffee": "我喜欢喝黑咖啡，不加糖",
    "zh-seat": "坐飞机的时候我总是选靠窗的座位",
    "zh-rent": "每个月五号交房租",
    "ja-school": "毎週水曜日の午後四時に娘を学校へ迎えに行きます",
    "ja-coffee": "コーヒーは砂糖なしで飲みます",
    "ja-seat": "飛行機では窓側の席が好きです",
    "ja-dark": "画面はダークモードにしてください",
    "th-school": "ต้องไปรับลูกสาวที่โรงเรียนทุกวันพุธตอนบ่ายสี่โมง",
    "th-coffee": "ฉันดื่มกาแฟดำไม่ใส่น้ำตาล",
    "th-seat": "เวลานั่งเครื่องบินฉันชอบที่นั่งริมหน้าต่าง",
    "th-rent": "ต้องจ่ายค่าเช่าบ้านทุกวันที่ห้า",
}
QUESTIONS = [
    ("咖啡", "zh-coffee"),
    ("靠窗", "zh-seat"),
    ("谁去接小满？几点放学？", "zh-school"),
    ("什么时候要交房租", "zh-rent"),
    ("砂糖", "ja-coffee"),
    ("窓側", "ja-seat"),
    ("娘の迎えは何時ですか", "ja-school"),
    ("ﾀﾞｰｸﾓｰﾄﾞ", "ja-dark"),
    ("กาแฟ", "th-coffee"),
    ("หน้าต่าง", "th-seat"),
    ("ไปรับลูกที่โรงเรียนวันไหน", "th-school"),
    ("จ่ายค่าเช่าเมื่อไหร่", "th-rent"),
]


@pytest.fixture(scope="module")
def ws(tmp_path_factory):
    with open_workspace(filled(tmp_path_factory.mktemp("scripts"))) as made:
        yield made


def filled(base):
    """A home whose database holds what was told."""
    workspace = make_home(base, items=0)
    with open_workspace(workspace) as ws:
        for text in TOLD.values():
            ws.items.add(text)
        ws.flush()
    return workspace


@pytest.mark.parametrize("backend", ["ram", "sqlite_fts"])
@pytest.mark.parametrize(("asked", "expected"), QUESTIONS)
def test_what_was_told_is_the_first_hit(ws, asked, expected, backend):
    recall = Recall(ws.store, Settings(recall_backend=backend))
    if backend == "ram":
        recall.warm(background=False)
    recalled = recall.ask(Question(asked))
    assert recalled.backend == backend
    assert [hit.item.text for hit in recalled.hits][:1] == [TOLD[expected]]


@pytest.mark.parametrize("backend", ["ram", "sqlite_fts"])
def test_every_pair_of_characters_finds_its_text(ws, backend):
    recall = Recall(ws.store, Settings(recall_backend=backend))
    for text in (TOLD["zh-seat"], TOLD["ja-dark"], TOLD["ja-seat"]):
        for pair in {text[at : at + 2] for at in range(len(text) - 1)}:
            assert text in [hit.item.text for hit in recall.ask(Question(pair)).hits], pair
