"""Reference packs: what is read of them, and what of them is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from nanomem_tui.errors import BadInput, NotFound
from nanomem_tui.tiers import knowledge_packs

FILES = {
    "guide/a.md": "# Hardening\n\nTurn root logins off.\n",
    "guide/b.html": "<h1>Ports</h1><p>Close what nobody uses.",
    "picture.png": "\x89PNG",
    ".hidden.md": "hidden",
    "manifest.json": json.dumps(
        {"title": "Benchmarks", "source": "CIS", "files": {"guide/a.md": {"title": "Root", "source": "CIS 1.2"}}}
    ),
}


def folder(at: Path) -> Path:
    for name, text in FILES.items():
        (at / "pack" / name).parent.mkdir(parents=True, exist_ok=True)
        (at / "pack" / name).write_text(text)
    return at / "pack"


def zipped(at: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(at / "pack.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return at / "pack.zip"


def tarred(at: Path, files: dict[str, str]) -> Path:
    with tarfile.open(at / "pack.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return at / "pack.tar.gz"


@pytest.mark.parametrize("form", ["folder", "zip", "tar"])
def test_a_pack_is_read_where_it_lies_with_what_its_manifest_says(tmp_path: Path, form: str) -> None:
    pack = {
        "folder": lambda: folder(tmp_path),
        "zip": lambda: zipped(tmp_path, FILES),
        "tar": lambda: tarred(tmp_path, FILES),
    }
    found = knowledge_packs.added(pack[form]())
    assert sorted((one.title, one.source) for one in found.documents) == [
        ("Ports", "CIS: guide/b.html"),
        ("Root", "CIS 1.2"),
    ]
    assert found.problems == []


@pytest.mark.parametrize("name", ["../out.md", "/etc/out.md", "a/../../out.md", "..\\out.md", "C:/out.md"])
@pytest.mark.parametrize("form", [zipped, tarred])
def test_a_path_that_leads_out_of_the_pack_is_refused(
    tmp_path: Path, name: str, form: Callable[[Path, dict[str, str]], Path]
) -> None:
    with pytest.raises(BadInput, match="leads out"):
        knowledge_packs.added(form(tmp_path, {"good.md": "words", name: "evil"}))


def test_links_in_an_archive_are_refused_and_in_a_folder_told(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        entry = tarfile.TarInfo("a.md")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        link = zipfile.ZipInfo("a.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    for name in ("link.tar", "link.zip"):
        with pytest.raises(BadInput, match="link"):
            knowledge_packs.added(tmp_path / name)
    os.symlink("/etc/passwd", folder(tmp_path) / "link.md")
    found = knowledge_packs.added(tmp_path / "pack")
    assert ["link" in problem.what for problem in found.problems] == [True]


def test_a_pack_that_grows_beyond_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_packs, "MOST_UNPACKED", 100_000)
    with pytest.raises(BadInput, match="larger"):
        knowledge_packs.added(zipped(tmp_path, {f"{number}.md": "a" * 20_000 for number in range(10)}))
    monkeypatch.setattr(knowledge_packs, "LARGEST", 10_000)
    found = knowledge_packs.added(zipped(tmp_path, {"big.md": "a" * 20_000, "small.md": "words"}))
    assert ([one.title for one in found.documents], len(found.problems)) == (["small.md"], 1)


@pytest.mark.parametrize("data", [b"PK\x03\x04 no zip", b"\x1f\x8b\x08 no gzip", b"", b"words"])
def test_what_is_no_pack_is_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "pack.zip").write_bytes(data)
    with pytest.raises(BadInput) as error:
        knowledge_packs.added(tmp_path / "pack.zip")
    assert "\n" not in error.value.line()


def test_a_pack_without_text_a_broken_manifest_and_no_pack_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing to read"):
        knowledge_packs.added(zipped(tmp_path, {"a.png": "x"}))
    for manifest in ("no json", "[]"):
        with pytest.raises(BadInput, match="manifest"):
            knowledge_packs.added(zipped(tmp_path, {"manifest.json": manifest, "a.md": "words"}))
    odd = json.dumps({"title": 7, "files": {"a.md": "text", "b.md": {"title": ["x"]}}})
    found = knowledge_packs.added(zipped(tmp_path, {"manifest.json": odd, "a.md": "words"}))
    assert [one.title for one in found.documents] == ["a.md"]
    with pytest.raises(NotFound):
        knowledge_packs.added(tmp_path / "nosuch.zip")


def test_only_the_manifest_at_the_root_speaks_for_the_pack(tmp_path: Path) -> None:
    inner = json.dumps({"title": "Another", "source": "elsewhere", "files": {"a.md": {"title": "Not it"}}})
    for form in (zipped, tarred):
        found = knowledge_packs.added(form(tmp_path, {"web/manifest.json": inner, "a.md": "# Ports\n\nwords"}))
        assert [(one.title, one.source.endswith("a.md"), one.meta.get("pack")) for one in found.documents] == [
            ("Ports", True, None)
        ]
        assert found.problems == []
    outer = json.dumps({"title": "Benchmarks", "source": "CIS"})
    found = knowledge_packs.added(
        tarred(tmp_path, {"web/manifest.json": inner, "./manifest.json": outer, "a.md": "words"})
    )
    assert [(one.source, one.meta["pack"]) for one in found.documents] == [("CIS: a.md", "Benchmarks")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_what_is_skipped_of_a_tar_counts_and_is_not_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    def packed(*sizes: tuple[str, int]) -> Path:
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w") as archive:
            for name, size in (*sizes, ("a.md", 5)):
                entry = tarfile.TarInfo(name)
                entry.size = size
                archive.addfile(entry, io.BytesIO(b"words" * (size // 5)))
        (tmp_path / "pack").write_bytes(pack(plain.getvalue()))
        return tmp_path / "pack"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge_packs, "MOST_UNPACKED", 1_000_000)
        assert len(knowledge_packs.added(packed(("a.bin", 900_000))).documents) == 1
        for sizes in ([("a.bin", 2_000_000)], [(f"{number}.bin", 300_000) for number in range(4)]):
            with pytest.raises(BadInput, match="unpacked it is larger"):
                knowledge_packs.added(packed(*sizes))
        patch.setattr(knowledge_packs, "MOST_MEMBERS", 9)
        with pytest.raises(BadInput, match="more than 9 members"):
            knowledge_packs.added(packed(*((f"{number}.bin", 5) for number in range(9))))


def test_a_header_that_grows_beyond_measure_is_not_read(tmp_path: Path) -> None:
    header = tarfile.TarInfo("a")
    header.type, header.size = tarfile.XHDTYPE, 2**32
    (tmp_path / "pack.tar.gz").write_bytes(gzip.compress(header.tobuf() + b"9" * 4096))
    with pytest.raises(BadInput, match="unpacked it is larger"):
        knowledge_packs.added(tmp_path / "pack.tar.gz")


def test_of_a_zip_no_file_is_unpacked_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = zipped(tmp_path, {"big.md": "a" * 20_000, "small.md": "words"})
    monkeypatch.setattr(knowledge_packs, "LARGEST", 10_000)
    opened: list[str] = []
    read = zipfile.ZipFile.open

    def seen(self: zipfile.ZipFile, one: zipfile.ZipInfo) -> IO[bytes]:
        opened.append(one.filename)
        return read(self, one)

    monkeypatch.setattr(zipfile.ZipFile, "open", seen)
    knowledge_packs.added(pack)
    assert opened == ["small.md"]
    monkeypatch.setattr(knowledge_packs, "MOST_MEMBERS", 1)
    with pytest.raises(BadInput, match="more than 1 member"):
        knowledge_packs.added(pack)
