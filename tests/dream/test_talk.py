"""Talk is no fact: what somebody unnamed exclaims is not remembered, and who said something is kept with it."""

from __future__ import annotations

import pytest

from tests.dream.test_consolidator import said, summarised
from tests.dream.test_rules import dream


@pytest.mark.parametrize(
    "content",
    [
        "[durable] I've had them for 3 years! I can't live without my little ones!",
        "I can't live without my little ones!",
        "[durable] John: I think this is exactly what I need.",
        "[durable] John said: I think this is exactly what I need.",
        "[durable] I love it!",
        "My pups mean the world to me!",
    ],
)
def test_talk_of_somebody_unnamed_is_no_fact(content: str) -> None:
    proposal = dream(f"- {content}")
    assert (proposal.edits, [line.why for line in proposal.skipped]) == ((), ["talk"])


@pytest.mark.parametrize(
    "content",
    [
        "[durable] I just got back from my morning walk", "I just got back from my morning walk!", "Just woke up",
        "[durable] I'm so tired right now.", "[durable] Tim: Thanks for the pic! I'm heading out for lunch.",
        "[durable] Sam said: I just finished my lunch.", "[durable] By the way, my dogs.", "So our old house.",
        "[durable] Tim said: Thanks so much for sharing the pic!", "I'm about to head out for lunch",
        "[durable] Joanna said: Wow, that looks amazing! I'm going to eat now.",
    ],
)  # fmt: skip
def test_chatter_passing_states_and_fragments_are_no_fact(content: str) -> None:
    proposal = dream(f"- {content}")
    assert (proposal.edits, len(proposal.skipped)) == ((), 1)
    assert proposal.skipped[0].why in ("talk", "a greeting")


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("[permanent] Tim said: Thanks for the pic! The lake is in Bavaria.", "Tim: The lake is in Bavaria."),
        ("[durable] Tim: Thanks for the pic! My dog is called Rex.", "Tim: My dog is called Rex."),
        ("[durable] I just got back from the hospital", "I just got back from the hospital"),
        ("[durable] I just got back from a walk in Kyoto", "I just got back from a walk in Kyoto"),
        ("[durable] I just finished my degree", "I just finished my degree"),
        ("[durable] I'm always tired after insulin", "I'm always tired after insulin"),
        ("[durable] By the way, my dogs are twins.", "By the way, my dogs are twins."),
        ("[durable] My sister died.", "My sister died."), ("[permanent] My dogs.", "My dogs."),
        ("[durable] I'm going to leave ACME", "I'm going to leave ACME"),
        ("[durable] yesterday I went bowling", "on 2026-04-02 I went bowling"),
        ("[durable] Yesterday I went bowling. I always lose.", "On 2026-04-02 I went bowling. I always lose."),
    ],
)  # fmt: skip
def test_what_lasts_beside_chatter_stays(content: str, kept: str) -> None:
    assert [edit.new for edit in dream(f"- {content}").edits] == [f"- {kept}"]


def test_the_archive_keeps_no_fragments() -> None:
    summary = summarised(said("user", "By the way, my dogs. I went bowling with Bob."))
    assert [line.text for line in summary.lines if line.mark == "durable"] == ["I went bowling with Bob."]


@pytest.mark.parametrize(
    "content",
    [
        "[durable] I live in Berlin", "[durable] I'm vegetarian!", "[durable] My name is Anna!", "I work at ACME",
        "[durable] I decided that we use Postgres", "[permanent] I love it!", "[durable] I like short replies",
        "[durable] We moved it to srv3",
    ],
)  # fmt: skip
def test_what_a_person_tells_of_themselves_stays(content: str) -> None:
    assert len(dream(f"- {content}").edits) == 1


def test_a_message_that_names_its_speaker_keeps_the_name() -> None:
    summary = summarised(said("user", "Andrew: I've had two dogs for 3 years. I live in Rome."))
    facts = [line.text for line in summary.lines if line.mark != "ephemeral"]
    assert facts
    assert all(text.startswith("Andrew said: ") for text in facts)
    assert [edit.new.startswith("- Andrew: ") for edit in dream(*(f"- [durable] {text}" for text in facts)).edits]
