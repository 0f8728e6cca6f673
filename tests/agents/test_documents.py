"""Saved web pages, Markdown, plain text, and man pages as they are shown, as blocks."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents import documents
from nanomem_tui.agents.documents import (
    decode_page,
    parse_man_page,
    parse_markdown,
    parse_saved_page,
    parse_text,
)

PAGE = """<!doctype html><html><head><title>Tuning &amp; more</title><style>p{}</style></head>
<body><nav><a>Home</a></nav><h1>Tuning</h1><p>Set <b>worker</b>_processes to
<i>auto</i>.</p><script>evil("</p>")</script>
<h2>Upstream <code>keepalive</code></h2>
<dl><dt>max_fails</dt><dd><p>How many failures.</p><p>Then down.</p></dd></dl>
<ul><li>one<li>two</ul><pre>
server {
  listen 80;
}</pre><table><tr><th>a</th><td>b</td></tr></table>
<!-- hidden --><![foo bar]>rest 1 < 2
</body>"""


def texts(blocks):
    return [
        (" > ".join(one.section), one.pieces[0].line_from, one.pieces[-1].line_to, [piece.text for piece in one.pieces])
        for one in blocks
    ]


def test_a_saved_page_comes_as_blocks_under_its_headings():
    page = parse_saved_page(PAGE, "page.html")
    assert page.title == "Tuning & more"
    assert texts(page.blocks) == [
        ("Tuning", 2, 3, ["Set worker_processes to auto."]),
        ("Tuning > Upstream keepalive", 5, 5, ["max_fails", "How many failures.", "Then down."]),
        ("Tuning > Upstream keepalive", 6, 6, ["• one", "• two"]),
        ("Tuning > Upstream keepalive", 7, 9, ["server {", "  listen 80;", "}"]),
        ("Tuning > Upstream keepalive", 9, 9, ["a | b"]),
        ("Tuning > Upstream keepalive", 10, 10, ["rest 1 < 2"]),
    ]


def test_a_page_without_a_title_is_called_by_its_heading_else_by_its_file():
    assert parse_saved_page("<h2>Only this</h2>text", "a.html").title == "Only this"
    assert parse_saved_page("text", "a.html").title == "a.html"


def test_a_page_is_read_in_the_character_set_that_it_names():
    assert decode_page('<meta charset="iso-8859-1">é'.encode("latin-1")).endswith("é")
    assert decode_page(b'<meta charset="rot13">\xff').endswith("\ufffd")


MARKDOWN = """---
layout: post
---
# Runbook of *nginx*

First words
over two lines.

## Reload

- one
- two

```sh
# no heading
nginx -s reload
```

Old style
---------
| a | b |
|---|---|
| 1 | 2 |
"""


SHOWN = """NGINX(8)                         Manual                        NGINX(8)

NAME
       nginx ‐ HTTP and reverse proxy server

OPTIONS
       Some words over two lines.

       -c file
              Use another file.

              A second paragraph of it.

                  •   a point

       -t, -T Test it.

   Signals and more
       server {
         listen 80;
       }

nginx 1.0                         2024                         NGINX(8)
"""


def test_a_man_page_comes_as_blocks_and_an_option_with_what_explains_it():
    page = parse_man_page(SHOWN, "nginx(8)")
    assert (page.title, page.about) == ("nginx(8)", "HTTP and reverse proxy server")
    assert texts(page.blocks) == [
        ("NAME", 4, 4, ["nginx - HTTP and reverse proxy server"]),
        ("OPTIONS", 7, 7, ["Some words over two lines."]),
        ("OPTIONS", 9, 14, ["-c file", "       Use another file.", "       A second paragraph of it.",
                            "           •   a point"]),
        ("OPTIONS", 16, 16, ["-t, -T Test it."]),
        ("OPTIONS > Signals and more", 19, 21, ["server {", "  listen 80;", "}"]),
    ]  # fmt: skip
    assert [block.entry for block in page.blocks] == [False, False, True, False, True]


def test_markdown_comes_as_blocks_under_its_headings():
    page = parse_markdown(MARKDOWN, "runbook.md")
    assert page.title == "Runbook of nginx"
    assert texts(page.blocks) == [
        ("Runbook of nginx", 6, 7, ["First words over two lines."]),
        ("Runbook of nginx > Reload", 11, 12, ["- one", "- two"]),
        ("Runbook of nginx > Reload", 15, 16, ["# no heading", "nginx -s reload"]),
        ("Runbook of nginx > Old style", 21, 23, ["| a | b |", "|---|---|", "| 1 | 2 |"]),
    ]


def test_underlined_lines_of_plain_text_are_headings():
    page = parse_text("Guide\n=====\n\nWords.\n\nPart\n----\n\nMore.\n", "README")
    assert page.title == "Guide"
    assert [(block.section, block.pieces[0].text) for block in page.blocks] == [
        (("Guide",), "Words."),
        (("Guide", "Part"), "More."),
    ]


ANY = st.lists(
    st.one_of(
        st.sampled_from(
            "<p> </p> <h1> </h1> <li> <dt> <dd> <dl> </dl> <pre> </pre> <td> <!-- --> <script> </script> <title> <svg> "
            '</svg> &lt; &#xD800; # ```\n --- === \n## \n | < > " \x00 \x1b'.split(" ")
        ),
        st.text(max_size=8),
    ),
    max_size=60,
).map("".join)  # fmt: skip


@given(ANY)
def test_any_text_is_read_and_its_lines_are_lines_of_it(source):
    last = source.count("\n") + 1
    for parse in (parse_saved_page, parse_man_page, parse_markdown, parse_text):
        for block in parse(source, "any").blocks:
            assert block.pieces
            assert all(1 <= piece.line_from <= piece.line_to <= last for piece in block.pieces)
            assert all("\x1b" not in piece.text and "\x00" not in piece.text for piece in block.pieces)


@pytest.mark.slow
@pytest.mark.parametrize("begun", ["<a x ", "<a", "<!--", "<nav>", "<title>"])
def test_markup_that_never_ends_takes_no_longer_than_its_length(begun):
    began = time.process_time()
    parse_saved_page(f"<p>seen</p>{begun * (1_500_000 // len(begun))}", "a.html")
    assert time.process_time() - began < 20  # it took hours


def test_a_comment_that_never_ends_is_hidden_and_a_page_in_slices_is_the_same(monkeypatch):
    assert texts(parse_saved_page("<p>seen</p><!-- hidden <p>too</p>", "a.html").blocks) == [("", 1, 1, ["seen"])]
    whole = parse_saved_page(PAGE, "a.html")
    monkeypatch.setattr(documents, "SLICE", 40)
    assert parse_saved_page(PAGE, "a.html") == whole


def test_a_heading_of_a_megabyte_is_read_at_once():
    began = time.process_time()
    page = parse_markdown("# " + "[" * 500_000 + "\n\n## a" + " " * 500_000 + "b\n\nwords\n", "a.md")
    assert time.process_time() - began < 5
    assert page.blocks[0].pieces[0].text == "words"
