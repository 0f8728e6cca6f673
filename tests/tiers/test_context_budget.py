"""Context stays within its budget of tokens, whatever is found and whatever counts."""

from __future__ import annotations

from types import MappingProxyType

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui.core.text import without_lone_surrogates
from nanomem_tui.tiers import context as tiers_context
from nanomem_tui.tiers import context_fitting
from nanomem_tui.tiers.context_fitting import MARK, Budget, Finding, Ranked, shorten
from nanomem_tui.workspace import Workspace

ALPHABET = "ab Z.!?\n,1209_/- 数据库。服務 ไทย ру 👍🏽é"
TEXTS = st.text(ALPHABET, min_size=1, max_size=400)


def words(text: str) -> int:
    return len(text.split())


def letters(text: str) -> int:
    return len(text)


COUNTS = st.sampled_from([tiers_context.estimate_tokens, words, letters])


def ranked(texts: list[str]) -> list[Ranked]:
    findings = [Finding("working", "event", f"e{number}", text, text) for number, text in enumerate(texts)]
    parts = MappingProxyType({"terms": ("数据", "ab")})
    return [Ranked(one, round(1 - number / 100, 2), parts) for number, one in enumerate(findings)]


@given(st.lists(TEXTS, max_size=12), st.integers(1, 300), COUNTS)
@settings(max_examples=150, deadline=None)
def test_the_budget_is_never_exceeded(texts: list[str], room: int, count: tiers_context.Callable[[str], int]) -> None:
    found = ranked(texts)
    fitted = Budget(room, count, lambda source, content: count(content)).fit(found)
    assert sum(chunk.tokens for chunk in fitted.chunks) <= room
    assert all(chunk.tokens == count(chunk.content) and chunk.content for chunk in fitted.chunks)
    assert len(fitted.chunks) + len(fitted.cut) == len(texts)
    assert all(one.why for one in fitted.cut)
    for chunk in fitted.chunks:
        said = next(one.finding.content for one in found if one.finding.source == chunk.source)
        assert (chunk.content == said) == (not chunk.whole)
        assert not chunk.whole or MARK.strip() in chunk.content


@given(st.text(ALPHABET, max_size=300), st.integers(0, 120))
@settings(max_examples=150, deadline=None)
def test_what_is_shortened_fits_and_is_of_the_text(text: str, most: int) -> None:
    part = shorten(text, ("数据",), lambda one: len(one) <= most)
    assert len(part) <= most
    for piece in part.replace(MARK.strip(), "\0").split("\0"):
        assert piece.strip() in text


def test_a_text_is_cut_at_a_sentence() -> None:
    text = "The first one. The second one! A third? And the last one is the longest of them."
    assert shorten(text, (), lambda one: len(one) <= 45) == "The first one. The second one! A third? […]"


def test_a_text_is_cut_where_the_words_are() -> None:
    text = "nginx.conf\n" + "worker_processes 4;\n" * 40 + "keepalive 64;\nend"
    assert shorten(text, ("64",), lambda one: len(one) <= 60) == "nginx.conf […]\nkeepalive 64;\nend"


def test_one_finding_leaves_room_for_others_and_takes_what_they_leave() -> None:
    long, short = "a sentence of seven words and one. " * 40, "another thing altogether"
    first, second = Budget(100, words, lambda source, content: words(content)).fit(ranked([long, short])).chunks
    assert second.content == short
    assert 50 < first.tokens <= 97
    assert first.whole == 280


@given(st.lists(TEXTS.map(without_lone_surrogates), min_size=1, max_size=6, unique=True), st.integers(40, 250))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_block_is_within_the_budget_too(ws: Workspace, texts: list[str], most: int) -> None:
    ws.settings = ws.settings._replace(context_tokenizer="estimate")
    for number, text in enumerate(texts):
        ws.records.store("incident", {"description": f"ab {text}"}, f"i{number}")
    context = ws.context.assemble("ab 数据库", most, framed=True)
    assert context.total_tokens <= most
    assert tiers_context.estimate_tokens(ws.context.block(context)) <= most
    assert ws.context.assemble("ab 数据库", most).total_tokens <= most


def test_a_budget_too_small_for_a_frame_gives_no_block(ws: Workspace) -> None:
    ws.settings = ws.settings._replace(context_tokenizer="estimate")
    ws.records.store("incident", {"description": "nginx"}, "i1")
    context = ws.context.assemble("nginx", 10, framed=True)
    assert ws.context.block(context) == ""
    assert context.cut
    assert tiers_context.estimate_tokens(context_fitting.FRAME) > 10
