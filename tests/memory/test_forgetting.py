"""What somebody asks to be forgotten waits for a person as a proposal; nothing is deleted before it is accepted."""

import pytest

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory import retention
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.scopes import Audience
from tests.memory.turns import turn

HOME = {"items": 0}

ANA = {"channel": "telegram", "chat_id": "42", "sender_id": "ana"}


def add(ws, text, scope="user", **fields):
    return ws.items.add(text, scope_type=scope, **{**ANA, **fields})[1].id


def waiting(ws):
    return [one.text for one in ws.inbox.list()]


KNOWN = (
    "I live in Porto", "I smoke a pipe", "my name is Anna", "Anna has a dog called Max", "I like green tea",
    "my salary is 4,150 a month", "my therapist is Dr. Ahn, Mondays at 17:00", "our trip to Berlin is in May",
    "我住在上海", "我喜欢靠窗的座位", "我的狗叫旺财", "我的生日是五月三号",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("forget that I live in Porto", ["I live in Porto"]),
        ("I want you to forget that I smoke", ["I smoke a pipe"]),
        ("erase that about the smoking please", ["I smoke a pipe"]),
        ("Delete my memories about Berlin please.", ["our trip to Berlin is in May"]),
        ("Forget everything about Anna", ["my name is Anna", "Anna has a dog called Max"]),
        ("forget what I said about my salary", ["my salary is 4,150 a month"]),
        ("I'd rather you didn't keep the bit about my therapist", ["my therapist is Dr. Ahn, Mondays at 17:00"]),
        ("Delete what you know about the dog", ["Anna has a dog called Max"]),
        ("忘掉我喜欢靠窗的座位", ["我喜欢靠窗的座位"]),
        ("请忘记我住在上海这件事。", ["我住在上海"]),
        ("把我的生日忘掉吧", ["我的生日是五月三号"]),
        ("请删除关于我的狗的记忆", ["我的狗叫旺财"]),
        ("forget that I like black tea", []), ("忘记我住在北京这件事", []), ("forget that I live in Rome", []),
        *((nothing, []) for nothing in (
            "delete the file notes.txt", "Please delete all data in the table", "forget it", "Forget about it.",
            "I forgot my keys", "Do not forget my birthday", "Did you forget my birthday?",
            "remember that I forget names",
            "别忘了我对花生过敏", "不要忘记我住在上海", "忘记这个", "算了",
        )),
    ],
)  # fmt: skip
def test_what_is_asked_to_be_forgotten_is_the_memory_that_it_names_and_none_that_is_merely_like_it(ws, message, meant):
    for text in KNOWN:
        add(ws, text)
    turn(ws, message)
    asked = [one.text for one in ws.inbox.list() if one.text.startswith("forget: ")]
    assert sorted(asked) == sorted(f"forget: {text}" for text in meant)


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("Удали, пожалуйста, про психолога", "Я хожу к психологу по средам"),
        ("сотри из памяти всё про Лену", "Мою бывшую зовут Лена"),
        ("olvídate de lo de la separación, nos hemos arreglado", "Me estoy separando de Marta"),
        ("supprime mon salaire de ta mémoire", "Mon salaire est de 2 900 euros"),
        ("Entferne die Info zu meinen Schulden aus deinem Gedächtnis", "Ich habe Schulden bei der Sparkasse"),
        ("내 월급 정보는 삭제해줘", "월급은 320만원"),
        ("体重のメモは消して", "体重は78キロ"),
        ("删除我的月薪信息", "我月薪一万二"),
        ("please delete what I told you about Bruno and the money", "my cousin Bruno owes me 300 euros"),
        ("you can forget about the cello because he quit", "my son plays the cello"),
        ("borra lo de Berta", ""),
        ("удали про стоматолога", ""),
    ],
)
def test_a_memory_may_have_another_form_of_the_word_that_names_it_and_none_of_the_words_of_the_wish(ws, message, meant):
    others = (
        "I quit smoking",
        "every Friday I play chess",
        "Vivo en Getafe",
        "Живу в Казани",
        "부산에 살아",
        "我在医院上班",
    )
    for text in filter(None, (*others, meant)):
        add(ws, text)
    turn(ws, message)
    assert waiting(ws) == ([f"forget: {meant}"] if meant else [])


@pytest.mark.parametrize(
    ("memory", "message"),
    [("I live in Porto", "Please forget that I live in Porto."), ("我住在上海", "请忘记我住在上海这件事")],
    ids=["English", "Chinese"],
)
def test_it_waits_and_goes_when_a_person_accepts_and_both_come_back(ws, memory, message):
    key = add(ws, memory)
    ended = turn(ws, message)
    [held] = ended.quarantined
    assert (held.item.text, held.why, held.again) == (f"forget: {memory}", "a person asked to forget it", False)
    assert ws.items.get(key).enabled, "nothing is deleted by itself"
    assert [hit.item.id for hit in ws.recall.ask(Question(memory, audience=Audience(**ANA))).hits] == [key]
    [one] = ws.inbox.list()
    assert one.origin.startswith("user ana in telegram 42")
    ws.inbox.accept([one.id])
    assert (ws.items.all(), waiting(ws)) == ([], [])
    ws.undo()
    assert ([row.id for row in ws.items.all()], waiting(ws)) == ([key], [f"forget: {memory}"])
    ws.inbox.reject([one.id])
    assert ([row.id for row in ws.items.all()], waiting(ws)) == ([key], [])


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("I love jazz", "I no longer love jazz"),
        ("我喜欢黑咖啡", "我不再喜欢黑咖啡了"),
        ("I live in Porto", "I don't live in Porto anymore"),
        ("我住在上海", "我已经不住在上海了"),
        ("I eat meat", "I've stopped eating meat"),
        ("I live in Porto", "I moved to Lisbon last week"),
        ("my phone number is 555 0101", "my new phone number is 555 0199"),
        ("I work at Acme", "I now work at Initech"),
        ("Ich wohne in Kassel", "Ich wohne jetzt in Greifswald"),
        ("我住在苏州", "我搬到南通了"),
    ],
)
def test_what_is_so_no_longer_gives_way_to_what_is_so_now_and_comes_back_with_an_undo(ws, memory, message):
    key = add(ws, memory, kind="preference")
    ended = turn(ws, message)
    [new] = [one.item for one in ended.saved]
    old = ws.items.get(key)
    assert not old.enabled, "it is kept, and never given to an agent"
    assert retention.get_superseded(old).by == new.id
    ws.undo(ws.log(1)[0].operation.id)
    assert (ws.items.get(key).enabled, retention.get_superseded(ws.items.get(key))) == (True, None)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("I live in Porto", "Rita has a dog and lives in Zurich"),
        ("I like green tea", "I like jazz"),
        ("I have a dog", "I have a cat too"),
        ("my sister lives in Oslo", "my brother lives in Rome"),
        ("I speak German", "I speak a bit of Greek as well"),
        ("我喜欢喝茶", "我也喜欢喝咖啡"),
    ],
)
def test_what_holds_beside_it_gives_way_to_nothing(ws, memory, message):
    key = add(ws, memory)
    turn(ws, message)
    assert ws.items.get(key).enabled


def test_what_a_person_pinned_stays_and_what_is_so_again_is_remembered_again(ws):
    pinned = add(ws, "I live in Porto")
    ws.items.set_pinned([pinned], True)
    turn(ws, "I moved to Lisbon last week")
    assert ws.items.get(pinned).enabled
    ws.items.delete([pinned])
    turn(ws, "I live in Porto again")
    turn(ws, "I moved to Lisbon last week")
    here = [row.text for row in ws.items.all() if row.enabled]
    assert "I moved to Lisbon last week" in here


@pytest.mark.parametrize(
    "message", ["forget everything", "Please delete all my memories!", "删除所有记忆", "忘掉一切吧"]
)
def test_to_forget_everything_is_answered(ws, message):
    add(ws, "I like tea")
    ended = turn(ws, message)
    assert (ended.quarantined, ended.saved, ended.lessons) == ((), (), ())
    [dropped] = ended.dropped
    assert "`nanomem memory prune" in dropped.why
    assert dropped.kind == "other"


@pytest.mark.parametrize(
    "message",
    ["请删除关于我的狗的记忆", "Delete what you know about my dog", "别再记得我的狗了", "Forget about my dog, please"],
)
def test_a_wish_to_forget_is_neither_an_episode_nor_a_lesson(ws, message):
    key = add(ws, "My dog is called Max and 我的狗叫 Max")
    turn(ws, "hello", "Hi there, how is Max?")
    ended = turn(ws, message)
    assert (ended.saved, ended.lessons) == ((), ())
    [one] = ws.inbox.list()
    assert one.row.meta["inbox"]["forgets"] == key


def test_only_what_is_of_this_chat_or_this_person_is_meant(ws):
    add(ws, "I live in Porto", sender_id="ben")
    add(ws, "I live in Porto", "chat", chat_id="43")
    add(ws, "I live in Porto", "global")
    turn(ws, "forget that I live in Porto")
    assert waiting(ws) == []
    mine = add(ws, "I live in Porto, by the river", "chat")
    turn(ws, "forget that I live in Porto")
    [one] = ws.inbox.list()
    assert one.row.meta["inbox"]["forgets"] == mine


def test_said_again_it_is_one_proposal_and_a_rejected_one_can_be_made_again(ws):
    add(ws, "I smoke a pipe")
    turn(ws, "forget that I smoke a pipe")
    assert [held.again for held in turn(ws, "Please forget that I smoke a pipe!").quarantined] == [True]
    [one] = ws.inbox.list()
    ws.inbox.reject([one.id])
    turn(ws, "forget that I smoke a pipe")
    assert len(ws.inbox.list()) == 1


def test_what_is_forgotten_takes_along_what_was_so_before_and_an_undo_brings_all_back(ws):
    for said in ("I live in Porto", "I moved to Lisbon last week"):
        turn(ws, said, **ANA)
    before = {*ws.store.load("item").items}
    turn(ws, "Please forget that I moved to Lisbon", **ANA)
    (proposal,) = ws.inbox.list()
    ws.inbox.accept([proposal.id])
    assert [row.text for row in ws.store.load("item").items.values() if not row.is_deleted and row.id in before] == []
    ws.undo()
    left = [row.text for row in ws.store.load("item").items.values() if not row.is_deleted and row.id in before]
    assert sorted(left) == ["I live in Porto", "I moved to Lisbon last week"]


def test_what_was_changed_since_is_not_deleted_and_what_is_gone_is_no_failure(ws):
    key = add(ws, "I smoke a pipe")
    turn(ws, "forget that I smoke a pipe")
    [one] = ws.inbox.list()
    with pytest.raises(BadInput, match="no words"):
        ws.inbox.accept([one.id], "other words")
    ws.items.edit(key, text="I smoke a cigar")
    with pytest.raises(BadInput, match="says something else by now"):
        ws.inbox.accept([one.id])
    ws.items.delete([key])
    ws.inbox.accept([one.id])
    assert (waiting(ws), ws.items.all()) == ([], [])


def test_a_proposal_is_in_no_list_and_in_no_file(ws):
    add(ws, "I smoke a pipe", "global")
    key = add(ws, "I drink rum")
    turn(ws, "forget that I drink rum")
    ws.flush()
    assert {row.text for row in ws.items.all()} == {"I smoke a pipe", "I drink rum"}
    assert "forget: I drink rum" not in ws.paths.ltm_snapshot.read_text()
    assert ws.items.get(key).enabled
