"""What a person puts in the place of a fact: the new one is kept, and that the old one goes waits for a person."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.turns.capture import find_correction, read_replacement
from nanomem_tui.store.values import Item
from tests.memory.turns import turn
from tests.store.homes import make_home


def told(ws):
    return {item.text for item in ws.items.all() if not item.text.startswith("item number") and item.enabled}


def waiting(ws):
    return [(one.text, one.why) for one in ws.inbox.list()]


@pytest.mark.parametrize(
    ("memory", "said", "after"),
    [
        ("My name is Bob.", "Actually, my name is Rob, not Bob.", "My name is Rob."),
        ("my name is Bob", "My name is not Bob, it's Rob.", "my name is Rob"),
        ("My name's Bob", "my name isn't Bob but Rob", "My name's Rob"),
        ("My name is Bob.", "Wrong, I'm not Bob, I'm Rob", "My name is Rob."),
        ("My name is Bob.", "Actually, it's Rob not Bob!", "My name is Rob."),
        ("I live in Berlin", "No, I live in Paris, not in Berlin.", "I live in Paris"),
        ("I'm from Berlin", "Actually, I'm from New York, not Berlin", "I'm from New York"),
        ("The meeting is at noon", "no, it's at 1pm, not at noon", "The meeting is at 1pm"),
        ("I’m a teacher.", "I'm not a teacher, I'm a nurse.", "I’m a nurse."),
        ("我叫李雷。", "不对，我不是李雷，我是李雪。", "我叫李雪。"),
        ("我叫李雷", "我叫李雪，不叫李雷", "我叫李雪"),
        ("我的名字是李雷。", "我不叫李雷，我叫李雪", "我的名字是李雪。"),
        ("我是老师。", "我不是老师，而是医生", "我是医生。"),
        ("我住在北京", "错了，我住在上海，不在北京。", "我住在上海"),
        ("我的生日是五月三号", "我的生日是五月四号，不是五月三号", "我的生日是五月四号"),
    ],
)
def test_a_memory_is_corrected_in_its_own_words(memory, said, after):
    found = find_correction(said, [Item("a", memory), Item("b", "I like green tea")])
    assert (found.item.id, found.text) == ("a", after)


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("My dog's name is Bob.", "Actually, my name is Rob, not Bob."),
        ("My dog's name is Bob.", "I'm not Bob, I'm Rob"),
        ("My name is Bob.", "It's Rob, not Bob"),
        ("My name is Bob.", "Is my name Rob, not Bob?"),
        ("My name is Bob.", "She said: my name is Rob, not Bob"),
        ("My name is Bob.", "Suppose my name is Rob, not Bob"),
        ("My name is Bob and I like tea", "My name is Rob, not Bob"),
        ("My name is Bobby", "My name is Rob, not Bob"),
        ("My name is not Bob", "My name is Rob, not Bob"),
        ("I love coffee cake", "I prefer tea, not coffee"),
        ("I cycle to work", "Actually, it's fun, not work"),
        ("I like jazz", "I'm not sure, I'm tired"),
        ("I work in Berlin", "I live in Paris, not Berlin"),
        ("I drive a car", "Actually, it's not a car that I need"),
        ("我的狗叫李雷", "我不是李雷，我是李雪"),
        ("我叫李雷", "不是李雷干的"),
        ("我喜欢李雷", "不对，我不是李雷，我是李雪"),
        ("我叫李雷", "他说我不是李雷，我是李雪"),
        ("我叫李雷", "我不是李雷吗？"),
        ("我住在北京", "我的公司在上海，不在北京"),
    ],
)
def test_what_does_not_plainly_correct_a_memory_leaves_it(memory, said):
    assert find_correction(said, [Item("a", memory)]) is None


def test_where_two_memories_may_be_meant_none_is():
    assert read_replacement("Actually, it's Rob, not Bob") is not None
    assert (
        find_correction("Actually, it's Rob, not Bob", [Item("a", "My name is Bob"), Item("b", "My dog is called Bob")])
        is None
    )


@pytest.mark.parametrize(
    ("memory", "said", "after", "asked"),
    [
        ("My name is Bob.", "Actually, my name is Rob, not Bob.", "My name is Rob.", "what is my name?"),
        ("My name is Bob.", "Actually, it's Rob, not Bob.", "My name is Rob.", "what is my name?"),
        ("My name is Bob.", "Remember that my name is Rob, not Bob.", "My name is Rob.", "what is my name?"),
        ("我叫李雷。", "不对，我不是李雷，我是李雪。", "我叫李雪。", "我叫什么名字"),
    ],
)
def test_the_new_fact_takes_the_place_of_the_old_one(tmp_path, memory, said, after, asked):
    where = {"channel": "telegram", "chat_id": "42"}
    with open_workspace(make_home(tmp_path)) as ws:
        turn(ws, memory, "Nice to meet you.", **where)
        ended = turn(ws, said, "I see.", **where)
        assert [one.item.text for one in ended.saved] == [after]
        assert memory not in [row.text for row in ws.items.all() if row.enabled]
        assert after in [
            hit.item.text for hit in ws.recall.ask(Question(asked, audience=Audience(**where, sender_id="ana"))).hits
        ]
        ws.undo(ws.log(1)[0].operation.id)
        assert told(ws) == {memory}
        assert all(row.enabled for row in ws.items.all())


def test_nobody_corrects_what_another_told(tmp_path):
    where = {"channel": "telegram", "chat_id": "42"}
    with open_workspace(make_home(tmp_path)) as ws:
        turn(ws, "My name is Bob.", "Hi.", **where)
        turn(ws, "Actually, my name is Rob, not Bob.", "Hi.", **where, sender_id="eve")
        assert waiting(ws) == []
        assert told(ws) == {"My name is Bob.", "Actually, my name is Rob, not Bob."}
