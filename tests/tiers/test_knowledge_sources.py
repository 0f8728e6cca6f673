"""Reference packs and man pages: what is read of them, and what of them is refused."""

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import tarfile
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.documents import Block, Piece, Reading
from nanomem_tui.core.errors import BadInput, NotFound
from nanomem_tui.tiers import knowledge_sources
from nanomem_tui.tiers.knowledge_sources import LEAST, MOST, WHOLE, ManualPage, cut_chunks, words_in

FILES = {
    "guide/a.md": "# Hardening\n\nTurn root logins off.\n",
    "guide/b.html": "<h1>Ports</h1><p>Close what nobody uses.",
    "picture.png": "\x89PNG",
    ".hidden.md": "hidden",
    "manifest.json": json.dumps(
        {"title": "Benchmarks", "source": "CIS", "files": {"guide/a.md": {"title": "Root", "source": "CIS 1.2"}}}
    ),
}


def folder(at):
    for name, text in FILES.items():
        (at / "pack" / name).parent.mkdir(parents=True, exist_ok=True)
        (at / "pack" / name).write_text(text)
    return at / "pack"


def zipped(at, files):
    with zipfile.ZipFile(at / "pack.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return at / "pack.zip"


def tarred(at, files):
    with tarfile.open(at / "pack.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return at / "pack.tar.gz"


@pytest.mark.parametrize("form", ["folder", "zip", "tar"])
def test_a_pack_is_read_where_it_lies_with_what_its_manifest_says(tmp_path, form):
    pack = {
        "folder": lambda: folder(tmp_path),
        "zip": lambda: zipped(tmp_path, FILES),
        "tar": lambda: tarred(tmp_path, FILES),
    }
    found = knowledge_sources.read_pack(pack[form]())
    assert sorted((one.title, one.source) for one in found.documents) == [
        ("Ports", "CIS: guide/b.html"),
        ("Root", "CIS 1.2"),
    ]
    assert found.problems == []


def test_links_in_an_archive_are_refused_and_in_a_folder_told(tmp_path):
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        entry = tarfile.TarInfo("a.md")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        link = zipfile.ZipInfo("a.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    for name in ("link.tar", "link.zip"):
        with pytest.raises(BadInput, match="nothing to read"):
            knowledge_sources.read_pack(tmp_path / name)
    os.symlink("/etc/passwd", folder(tmp_path) / "link.md")
    found = knowledge_sources.read_pack(tmp_path / "pack")
    assert ["link" in problem.what for problem in found.problems] == [True]


def test_a_pack_that_grows_beyond_measure_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(knowledge_sources, "MOST_UNPACKED", 100_000)
    with pytest.raises(BadInput, match="larger"):
        knowledge_sources.read_pack(zipped(tmp_path, {f"{number}.md": "a" * 20_000 for number in range(10)}))
    monkeypatch.setattr(knowledge_sources, "LARGEST", 10_000)
    found = knowledge_sources.read_pack(zipped(tmp_path, {"big.md": "a" * 20_000, "small.md": "words"}))
    assert ([one.title for one in found.documents], len(found.problems)) == (["small.md"], 1)


@pytest.mark.parametrize("data", [b"PK\x03\x04 no zip", b"\x1f\x8b\x08 no gzip", b"", b"words"])
def test_what_is_no_pack_is_refused_in_one_line(tmp_path, data):
    (tmp_path / "pack.zip").write_bytes(data)
    with pytest.raises(BadInput) as error:
        knowledge_sources.read_pack(tmp_path / "pack.zip")
    assert "\n" not in error.value.line()


def test_a_pack_without_text_a_broken_manifest_and_no_pack_are_told(tmp_path):
    with pytest.raises(BadInput, match="nothing to read"):
        knowledge_sources.read_pack(zipped(tmp_path, {"a.png": "x"}))
    for manifest in ("no json", "[]"):
        with pytest.raises(BadInput, match="manifest"):
            knowledge_sources.read_pack(zipped(tmp_path, {"manifest.json": manifest, "a.md": "words"}))
    odd = json.dumps({"title": 7, "files": {"a.md": "text", "b.md": {"title": ["x"]}}})
    found = knowledge_sources.read_pack(zipped(tmp_path, {"manifest.json": odd, "a.md": "words"}))
    assert [one.title for one in found.documents] == ["a.md"]
    with pytest.raises(NotFound):
        knowledge_sources.read_pack(tmp_path / "nosuch.zip")


def test_only_the_manifest_at_the_root_speaks_for_the_pack(tmp_path):
    inner = json.dumps({"title": "Another", "source": "elsewhere", "files": {"a.md": {"title": "Not it"}}})
    for form in (zipped, tarred):
        found = knowledge_sources.read_pack(form(tmp_path, {"web/manifest.json": inner, "a.md": "# Ports\n\nwords"}))
        assert [(one.title, one.source.endswith("a.md"), one.meta.get("pack")) for one in found.documents] == [
            ("Ports", True, None)
        ]
        assert found.problems == []
    outer = json.dumps({"title": "Benchmarks", "source": "CIS"})
    found = knowledge_sources.read_pack(
        tarred(tmp_path, {"web/manifest.json": inner, "./manifest.json": outer, "a.md": "words"})
    )
    assert [(one.source, one.meta["pack"]) for one in found.documents] == [("CIS: a.md", "Benchmarks")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_what_is_skipped_of_a_tar_counts_and_is_not_unpacked(tmp_path, pack):
    def packed(*sizes):
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w") as archive:
            for name, size in (*sizes, ("a.md", 5)):
                entry = tarfile.TarInfo(name)
                entry.size = size
                archive.addfile(entry, io.BytesIO(b"words" * (size // 5)))
        (tmp_path / "pack").write_bytes(pack(plain.getvalue()))
        return tmp_path / "pack"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge_sources, "MOST_UNPACKED", 1_000_000)
        assert len(knowledge_sources.read_pack(packed(("a.bin", 900_000))).documents) == 1
        for sizes in ([("a.bin", 2_000_000)], [(f"{number}.bin", 300_000) for number in range(4)]):
            with pytest.raises(BadInput, match="unpacked it is larger"):
                knowledge_sources.read_pack(packed(*sizes))


def test_of_a_zip_no_file_is_unpacked_that_is_too_large(tmp_path, monkeypatch):
    pack = zipped(tmp_path, {"big.md": "a" * 20_000, "small.md": "words"})
    monkeypatch.setattr(knowledge_sources, "LARGEST", 10_000)
    opened = []
    read = zipfile.ZipFile.open

    def seen(self, one, *more):
        opened.append(one.filename)
        return read(self, one)

    monkeypatch.setattr(zipfile.ZipFile, "open", seen)
    knowledge_sources.read_pack(pack)
    assert opened == ["small.md"]


@pytest.mark.parametrize("packed", ["gz", "bz2"])
def test_names_in_a_tar_that_fill_the_memory_are_refused(tmp_path, packed):
    pack = tmp_path / "pack.tar"
    with tarfile.open(pack, f"w:{packed}", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a" * 20_000_000 + ".md"))
    tracemalloc.start()
    with pytest.raises(BadInput, match="larger"):
        knowledge_sources.read_pack(pack)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


@pytest.mark.slow
def test_zeros_without_end_and_packings_without_a_bound_are_refused_at_once(tmp_path):
    (tmp_path / "pack.tar.bz2").write_bytes(bz2.compress(bytes(50_000_000)))
    with zipfile.ZipFile(tmp_path / "pack.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("large.md", bytes(50_000_000))
    tracemalloc.start()
    for name in ("pack.tar.bz2", "pack.zip"):
        with pytest.raises(BadInput):
            knowledge_sources.read_pack(tmp_path / name)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_tar_that_was_packed_in_parts_is_read_whole_and_one_that_ends_early_is_refused(tmp_path, pack):
    plain = tarred(tmp_path, {f"{number}.md": f"# Page {number}\n\nwords" for number in range(40)}).read_bytes()
    plain = gzip.decompress(plain) if plain.startswith(b"\x1f\x8b") else plain
    (tmp_path / "parts").write_bytes(pack(plain[:20_000]) + pack(plain[20_000:]))
    assert len(knowledge_sources.read_pack(tmp_path / "parts").documents) == 40
    whole = pack(plain)
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput):
        knowledge_sources.read_pack(tmp_path / "cut")


def test_a_damaged_archive_is_told_as_one_that_cannot_be_read(tmp_path):
    data = bytearray(lzma.compress(os.urandom(3_000)))
    data[40] ^= 255
    (tmp_path / "pack").write_bytes(data)
    with pytest.raises(BadInput, match="cannot be read"):
        knowledge_sources.read_pack(tmp_path / "pack")
    zipped(tmp_path, {"é.md": "words"})
    (tmp_path / "pack.zip").write_bytes((tmp_path / "pack.zip").read_bytes().replace("é".encode(), b"\xff\xfe"))
    with pytest.raises(BadInput, match="cannot be read"):
        knowledge_sources.read_pack(tmp_path / "pack.zip")


# -- man pages -----------------------------------------------------------------------------------------------------

PAGE = ".TH A 8\n.SH NAME\na \\- does it\n.SH TEXT\nMuch is said.\n"


def page_of(at, text):
    path = at / "man" / "man8" / "a.8"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return ManualPage("a", "8", path)


def program(at, script, monkeypatch):
    """A `man` that does what the script does, and no mandoc."""
    (at / "bin").mkdir(exist_ok=True)
    (at / "bin" / "man").write_text(f"#!/bin/sh\n{script}\n")
    (at / "bin" / "man").chmod(0o700)
    monkeypatch.setattr(knowledge_sources.shutil, "which", lambda name: None if name == "mandoc" else name)
    monkeypatch.setenv("PATH", f"{at / 'bin'}:/usr/bin:/bin")


def test_what_man_started_ends_when_it_takes_too_long(tmp_path, monkeypatch):
    program(tmp_path, f"sleep 60 & echo $! > {tmp_path}/child; wait", monkeypatch)
    monkeypatch.setattr(knowledge_sources, "PATIENCE", 0.5)
    found = knowledge_sources.read_manuals([page_of(tmp_path, PAGE)], "")
    assert ["TimeoutExpired" in problem.what for problem in found.problems] == [True]
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/stat")
    for _ in range(50):
        if not child.exists() or child.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    pytest.fail("it still runs")


def test_a_program_that_shows_without_end_is_stopped(tmp_path, monkeypatch):
    program(tmp_path, 'test -z "$MAN_KEEP_FORMATTING" && yes', monkeypatch)
    monkeypatch.setenv("MAN_KEEP_FORMATTING", "1")
    monkeypatch.setattr(knowledge_sources, "LARGEST", 100_000)
    found = knowledge_sources.read_manuals([page_of(tmp_path, PAGE)], "")
    assert ["does not show it" in problem.what for problem in found.problems] == [True]


@pytest.mark.parametrize(
    "request_", [".so /etc/passwd", "'  so ../../key", ".if 1 .so /etc/passwd", ".do so /x", ".sy ls", ".open s /x"]
)
def test_a_man_page_takes_in_no_file_of_its_choice(tmp_path, request_):
    found = knowledge_sources.read_manuals([page_of(tmp_path, f"{PAGE}{request_}\n")], "")
    assert (found.documents, len(found.problems)) == ([], 1)
    assert "from elsewhere" in found.problems[0].what


def test_a_man_that_only_says_it_was_taken_out_shows_no_page(tmp_path, monkeypatch):
    program(tmp_path, "echo This system has been minimized", monkeypatch)
    found = knowledge_sources.read_manuals([page_of(tmp_path, PAGE)], "")
    assert found.documents == []
    assert "minimized" in found.problems[0].what


# Documents cut into chunks: what stays together, what never does, and that nothing is lost.


def block(words, line, section=("A",), *, entry=False):
    text = " ".join(f"w{number}" for number in range(words))
    pieces = (Piece(line, line, "--option"),) if entry else ()
    return Block(section, (*pieces, Piece(line + len(pieces), line + len(pieces), text)), entry)


def test_small_neighbours_are_put_together_until_there_is_enough():
    chunks = cut_chunks(Reading("t", tuple(block(LEAST // 3, line) for line in range(1, 7))))
    assert [(chunk.line_from, chunk.line_to) for chunk in chunks] == [(1, 3), (4, 6)]


def test_no_chunk_goes_across_a_heading():
    chunks = cut_chunks(Reading("t", (block(3, 1, ("A",)), block(3, 2, ("A", "B")), block(3, 3, ("A",)))))
    assert [chunk.section for chunk in chunks] == ["A", "A > B", "A"]


def test_an_option_is_kept_whole_where_it_is_no_longer_than_that():
    chunks = cut_chunks(Reading("t", (block(LEAST - 1, 1), block(WHOLE - 1, 2, entry=True))))
    assert [words_in(chunk.text) for chunk in chunks] == [LEAST - 1, WHOLE]
    assert chunks[1].text.startswith("--option\nw0")


def test_a_longer_option_is_cut_and_each_part_told_with_its_name():
    chunks = cut_chunks(Reading("t", (block(3 * WHOLE, 1, entry=True),)))
    assert len(chunks) > 1
    assert {chunk.section for chunk in chunks} == {"A > --option"}


def test_a_text_without_spaces_is_cut_too():
    chunks = cut_chunks(Reading("t", (Block((), (Piece(1, 1, "字" * 20_000),)),)))
    assert all(words_in(chunk.text) <= WHOLE for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks).replace("\n", "") == "字" * 20_000


PIECES = st.lists(st.text(st.sampled_from("ab .\n字"), max_size=40).filter(str.strip), min_size=1, max_size=4)
BLOCKS = st.lists(
    st.tuples(st.sampled_from([(), ("A",), ("A", "B")]), PIECES, st.booleans(), st.integers(1, 90)), max_size=8
)


@given(BLOCKS)
def test_every_word_is_in_one_chunk_and_every_line_in_range(
    drawn,
):
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
