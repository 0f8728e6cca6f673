"""Man pages as blocks: both macro packages, their odd corners, and pages that mean harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.formats.blocks import Block
from nanomem_tui.formats.man_page import parse_man_page
from nanomem_tui.formats.roff import arguments, shown

MAN = r"""'\" t
.\" a comment
.TH NGINX 8 "2024" "nginx" "Manual"
.ie \n(.g .ds Aq \(aq
.el       .ds Aq '
.de Sp
.if t .sp .5v
..
.SH NAME
nginx \- HTTP and reverse proxy server
.SH OPTIONS
Some words
over two lines.
.TP
.BI \-c " file"
Use another
.I file\c
\&, not the usual one.
.sp
A second paragraph of it.
.RS
.IP \(bu 2
a point
.RE
.TP
.B \-t
.TQ
.B \-T
Test it.
.SS "Signals and \fBmore\fR"
.PP
\-\-quit
.RS 4
Stops at once; don\*(Aqt.
.RE
.PP
.nf
  server {
    listen 80;
  }
.fi
.TS
tab(;);
l l.
A;first
B;T{
a longer
cell
T}
.TE
.SH
BUGS
.UR https://example.org
the tracker
.UE .
"""

MDOC = r""".Dd May 1, 2024
.Dt SSH 1
.Os
.Sh NAME
.Nm ssh
.Nd remote login client
.Sh SYNOPSIS
.Nm ssh
.Op Fl 46
.Op Fl L Ar address
.Sh DESCRIPTION
.Nm
logs into
.Ar host ,
see
.Xr scp 1 .
.Bl -tag -width Ds
.It Fl L Xo
.Sm off
.Oo Ar bind : Oc Ar port
.Sm on
.Xc
Forwards a port.
.Pp
Only root may do it.
.It Fl v
Says more.
.El
.Bd -literal -offset indent
$ ssh host
.Ed
"""


def texts(blocks: tuple[Block, ...]) -> list[tuple[str, list[str]]]:
    return [(" > ".join(block.section), [piece.text for piece in block.pieces]) for block in blocks]


def test_a_page_in_man_comes_as_blocks_under_its_headings() -> None:
    page = parse_man_page(MAN, "nginx(8)")
    assert (page.title, page.about) == ("nginx(8)", "HTTP and reverse proxy server")
    assert texts(page.blocks) == [
        ("NAME", ["nginx - HTTP and reverse proxy server"]),
        ("OPTIONS", ["Some words over two lines."]),
        ("OPTIONS", ["-c file", "Use another file, not the usual one.", "A second paragraph of it.", "• a point"]),
        ("OPTIONS", ["-t", "-T", "Test it."]),
        ("OPTIONS > Signals and more", ["--quit", "Stops at once; don't."]),
        ("OPTIONS > Signals and more", ["  server {", "    listen 80;", "  }", "A  first", "B  a longer cell"]),
        ("BUGS", ["the tracker <https://example.org>."]),
    ]


def test_the_lines_of_a_page_are_those_of_its_source() -> None:
    page = parse_man_page(MAN, "nginx(8)")
    lines = MAN.split("\n")
    option = next(block for block in page.blocks if block.pieces[0].text == "-c file")
    assert lines[option.pieces[0].line_from - 1] == r'.BI \-c " file"'
    assert lines[option.pieces[-1].line_to - 1] == "a point"


def test_a_page_in_mdoc_comes_as_blocks_under_its_headings() -> None:
    page = parse_man_page(MDOC, "ssh(1)")
    assert page.about == "remote login client"
    assert texts(page.blocks) == [
        ("NAME", ["ssh – remote login client"]),
        ("SYNOPSIS", ["ssh [-46] [-L address]"]),
        ("DESCRIPTION", ["ssh logs into host, see scp(1)."]),
        ("DESCRIPTION", ["-L [bind:]port", "Forwards a port.", "Only root may do it."]),
        ("DESCRIPTION", ["-v", "Says more."]),
        ("DESCRIPTION", ["$ ssh host"]),
    ]


def test_escapes_are_shown_as_a_terminal_shows_them() -> None:
    assert shown(r"\fBbold\fP \-x \(lqq\(rq \s-1UNIX\s0 \[u00e9] a\ b \e \&.\|") == "bold -x “q” UNIX é a b \\ ."
    assert shown(r"\h'2n'x\v'1'y\w'abc'z\N'65'\o'a^'\[nothing]\C'em'") == " xyzA^—"
    assert arguments(r'"one ""two""" three\ four \fBfive\fR') == ['one "two"', r"three\ four", r"\fBfive\fR"]


@pytest.mark.parametrize(
    "page",
    [
        ".de XX\n.XX\n.XX\n..\n.TH A 1\n.SH NAME\n.XX\nend\n",
        ".ds a \\*b\\*b\n.ds b \\*a\\*a\n.SH NAME\n\\*a\n",
        ".if 1 \\{\\\n.SH NAME\nnever closed\n",
        ".TS\nl l.\nT{\nnever closed\n",
        ".de never\nclosed\n",
        ".so ../../../etc/passwd\n",
        ".sy touch /tmp/owned\n.pso id\n.open x /etc/passwd\n.SH NAME\nx\n",
        ".Sh NAME\n.Bl -tag\n.It Fl x Xo\n" + ".Bl -tag\n.It a\n" * 500,
    ],
)
def test_a_page_that_means_harm_ends(page: str) -> None:
    assert parse_man_page(page, "x(1)").title == "x(1)"


def test_no_control_character_gets_through() -> None:
    page = parse_man_page(".SH NAME\nx \\- \x1b[31mred\x1b[0m \\N'27'[2J\u202e\n", "x(1)")
    text = "".join(piece.text for block in page.blocks for piece in block.pieces)
    assert not any(ord(char) < 32 or char == "\u202e" for char in text)


REQUESTS = st.sampled_from(
    ".SH .SS .TP .IP .PP .RS .RE .nf .fi .TS .TE .de .. .if .ie .el .ds .B .BR .I .so .Sh .Ss .Bl .It .El .Op .Xo .Xc "
    ".Oo .Oc .Sm .Nm .Nd .Fl .Ar .Pp .Bd .Ed .TQ .UR .UE .EX .EE .sp .br .ig .nr .SY .YS .OP .am .while".split()
)
WORDS = st.sampled_from(
    ["word", "\\fBx\\fR", "\\{", "\\}", "\\", '"', "\\(", "\\[", "\\*", "\\*(", "\\n", "\\$1", "l l.", "T{", "T}", "Fl",
     "Xo", "Ns", "-tag", "n", "!", "\\c", "\x00", "é", "\\N'1114112'", "\\s", "\\h'"]
)  # fmt: skip
LINES = st.lists(st.one_of(REQUESTS, WORDS, st.text(max_size=8)), max_size=5).map(" ".join)


@given(st.lists(LINES, max_size=40).map("\n".join))
def test_any_page_is_read_and_its_lines_are_lines_of_it(source: str) -> None:
    last = source.count("\n") + 1
    for block in parse_man_page(source, "any(1)").blocks:
        assert block.pieces
        assert all(1 <= piece.line_from <= piece.line_to <= last for piece in block.pieces)
