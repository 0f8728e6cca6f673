"""What is counted without being read out is what reading it out would count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.jsonl import dump_line
from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.agents.transcripts import plain_messages

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ['{"role": "user"}', '"_type"', "}\n", '{"role": "', "\0", "\u2028", "北京"]
)
ODD = st.sampled_from(
    [
        b"\n", b" \n", b'{"torn": \n', b'{"role": "user", "content": "half\n', b"\xff\n", b"[]\n", b"}\n",
        b'{"role": "user", "content": "a"}{"role": "user", "content": "b"}\n', b'{"role": "", "content": "a"}\n',
        b'\0\0{"role": "user", "content": "a"}\n', b'{"role": "user", "content": "a"}\r\n',
        dump_line({"_type": "metadata", "key": "cli:direct"}), dump_line({"_type": "provider_state"}),
        dump_line({"role": "user", "content": "a", "_type": "provider_state"}), dump_line({"content": "no role"}),
        b'{"role": "user", "content": "no newline"}',
    ]
)  # fmt: skip


@st.composite
def lines(draw):
    said = st.builds(
        lambda role, text, more: dump_line({"role": role, "content": text, **more}),
        st.sampled_from(["user", "assistant", "tool"]),
        TEXTS,
        st.dictionaries(TEXTS.filter(lambda name: name not in {"role", "content", "_type"}), TEXTS, max_size=2),
    )
    return draw(st.lists(said, max_size=8)) + draw(st.lists(said | ODD, max_size=2))


@given(lines())
def test_what_is_counted_is_what_is_read(found):
    data = b"".join(found)
    plain = plain_messages(data)
    session = parse_session(data, "s", "k")
    if plain is not None:
        assert plain == len(session.messages)
        assert [one.what.partition(":")[0] for one in session.problems] == ["no metadata line"]
        assert not session.has_provider_state


def test_messages_as_agents_write_them_are_counted():
    data = b"".join(dump_line({"role": "user", "content": f'he said "{{}}" {n} 北京'}) for n in range(50))
    assert plain_messages(data) == 50


@pytest.mark.parametrize("odd", [b"", b"\n", b'{"role": "user", "content": "a"}'])
def test_what_is_no_whole_line_is_not(odd):
    assert plain_messages(odd) is None
