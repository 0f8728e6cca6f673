"""Documents cut into chunks: what stays together, what never does, and that nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.documents import Block, Piece, Reading
from nanomem_tui.tiers.knowledge_sources import LEAST, MOST, WHOLE, cut_chunks, words_in


def block(words: int, line: int, section: tuple[str, ...] = ("A",), *, entry: bool = False) -> Block:
    text = " ".join(f"w{number}" for number in range(words))
    pieces = (Piece(line, line, "--option"),) if entry else ()
    return Block(section, (*pieces, Piece(line + len(pieces), line + len(pieces), text)), entry)


def test_small_neighbours_are_put_together_until_there_is_enough() -> None:
    chunks = cut_chunks(Reading("t", tuple(block(LEAST // 3, line) for line in range(1, 7))))
    assert [(chunk.line_from, chunk.line_to) for chunk in chunks] == [(1, 3), (4, 6)]


def test_no_chunk_goes_across_a_heading() -> None:
    chunks = cut_chunks(Reading("t", (block(3, 1, ("A",)), block(3, 2, ("A", "B")), block(3, 3, ("A",)))))
    assert [chunk.section for chunk in chunks] == ["A", "A > B", "A"]


def test_an_option_is_kept_whole_where_it_is_no_longer_than_that() -> None:
    chunks = cut_chunks(Reading("t", (block(LEAST - 1, 1), block(WHOLE - 1, 2, entry=True))))
    assert [words_in(chunk.text) for chunk in chunks] == [LEAST - 1, WHOLE]
    assert chunks[1].text.startswith("--option\nw0")


def test_a_longer_option_is_cut_and_each_part_told_with_its_name() -> None:
    chunks = cut_chunks(Reading("t", (block(3 * WHOLE, 1, entry=True),)))
    assert len(chunks) > 1
    assert {chunk.section for chunk in chunks} == {"A > --option"}


def test_a_text_without_spaces_is_cut_too() -> None:
    chunks = cut_chunks(Reading("t", (Block((), (Piece(1, 1, "字" * 20_000),)),)))
    assert all(words_in(chunk.text) <= WHOLE for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks).replace("\n", "") == "字" * 20_000


PIECES = st.lists(st.text(st.sampled_from("ab .\n字"), max_size=40).filter(str.strip), min_size=1, max_size=4)
BLOCKS = st.lists(
    st.tuples(st.sampled_from([(), ("A",), ("A", "B")]), PIECES, st.booleans(), st.integers(1, 90)), max_size=8
)


@given(BLOCKS)
def test_every_word_is_in_one_chunk_and_every_line_in_range(
    drawn: list[tuple[tuple[str, ...], list[str], bool, int]],
) -> None:
    blocks, line = [], 1
    for section, texts, entry, times in drawn:
        pieces = tuple(Piece(line + at, line + at, " ".join([text] * times).strip()) for at, text in enumerate(texts))
        line += len(texts)
        blocks.append(Block(section, pieces, entry))
    chunks = cut_chunks(Reading("t", tuple(blocks)))
    said = "".join(piece.text for one in blocks for piece in one.pieces)
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(said.split())
    assert all(1 <= chunk.line_from <= chunk.line_to < max(line, 2) for chunk in chunks)
    assert all(words_in(chunk.text) <= WHOLE + MOST for chunk in chunks)
