"""What is remembered of how answers are to be: a correction leaves a lesson only, and the last word holds."""

import pytest

from nanomem_tui.language.corrections import detect
from tests.memory.turns import begin, turn


def remembered(ws):
    return [item.text for item in ws.items.all() if item.source != "manual" and not item.text.startswith("item number")]


def recalled(ws, **where):
    asking = "中文? answer in French or in English?"
    return [hit.item.text for hit in begin(ws, asking, **where).hits if not hit.item.text.startswith("item number")]


def taught(ws):
    return [(row.trigger, row.better_action) for row in ws.lessons.all() if row.trigger.startswith("response:")]


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("From now on, answer in French please.", "response:language"),
        ("From now on please always reply to me in German", "response:language"),
        ("Always speak English with me", "response:language"),
        ("In the future, use Spanish.", "response:language"),
        ("From now on, be brief.", "response:length"),
        ("以后都用中文回答我。", "response:language"),
        ("请以后用英文回复", "response:language"),
        ("从现在起，跟我说法语吧", "response:language"),
        ("以后回答简短一点", "response:length"),
        ("From now on I speak French at home", ""),
        ("From now on, write French letters to the office", "response:alignment"),
        ("Always use English units", "response:alignment"),
        ("From now on use uv for Python", "response:alignment"),
        ("In the future, can you answer in French?", ""),
        ("以后用中文写的信发给老板", "response:alignment"),
    ],
)
def test_a_wish_for_all_answers_to_come_is_a_correction(text, topic):
    found = detect(text)
    assert (found.trigger if found else "") == topic


@pytest.mark.parametrize(
    ("message", "lesson", "kept"),
    [
        ("请用中文回答", "response:language", ["请用中文回答"]),
        ("Don't use emojis", "response:alignment", ["Don't use emojis"]),
        ("Too long. I prefer green tea in the morning.", "response:length", ["I prefer green tea in the morning."]),
        ("不对，我不喜欢咖啡。", "response:accuracy", ["不对，我不喜欢咖啡。"]),
        ("以后都用中文回答我。", "response:language", ["以后都用中文回答我。"]),
        ("Remember: don't use emojis", "", ["don't use emojis"]),
    ],
)
def test_a_correction_leaves_a_lesson_and_a_memory_only_of_what_holds_for_all_answers_or_tells_of_the_person(
    ws, message, lesson, kept
):
    turn(ws, "What is the plan?", "The plan is to go there in the morning.")
    turn(ws, message, "Sure, that is how it will be.")
    assert remembered(ws) == kept
    assert taught(ws) == ([(lesson, message)] if lesson else [])


def test_of_the_language_of_answers_a_block_holds_the_last_word(ws):
    turn(ws, "以后都用中文回答我。", "好的，以后都用中文。")
    turn(ws, "From now on, answer in French please.", "D'accord, je réponds en français.")
    held = begin(ws, "中文回答 answer in French")
    assert [one.better_action for one in held.lessons] == ["From now on, answer in French please."]
    why = {cut.hit.item.text: cut.why for cut in held.cut}
    assert why["以后都用中文回答我。"] == f"{held.lessons[0].id} is the last word on it"
    turn(ws, "Answer in English please", "From here on it is English.")
    assert [one.better_action for one in begin(ws, "hello").lessons] == ["Answer in English please"]
    assert recalled(ws) == []
    elsewhere = recalled(ws, session_key="telegram:99")
    assert elsewhere == ["From now on, answer in French please."], "in another chat the last wish for all chats holds"
    ws.items.set_pinned([item.id for item in ws.items.all() if "中文" in item.text], True)
    assert recalled(ws) == ["以后都用中文回答我。"], "what a person pinned stays"
