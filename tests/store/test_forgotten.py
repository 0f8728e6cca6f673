"""What is to stay forgotten is known again, and cannot be read."""

import unicodedata

import pytest

from nanomem_tui.core.errors import StoreError
from nanomem_tui.core.paths import Paths
from nanomem_tui.store import forgotten

TEXTS = ["the safe is behind the blue whale", "女儿小满每周三要接", "รหัสตู้เซฟอยู่หลังรูป"]


@pytest.fixture
def paths(tmp_path):
    return Paths(tmp_path, None, tmp_path / "nanomem")


def test_a_text_is_met_within_another_whatever_case_and_spaces(paths):
    forgotten.add(paths, "receipt_1", {"text": TEXTS})
    kept = forgotten.load(paths)
    for text in TEXTS:
        for around in (text, f"He said: {text.upper()}!", f"x\n{text.replace(' ', '  ')} y"):
            assert kept.text(around), around
    for other in ("the safe is behind the blue", "the safe is behind the blue whales", "小满", ""):
        assert kept.text(other) is None, other


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("ガレージの暗証番号", unicodedata.normalize("NFD", "ガレージの暗証番号")),  # as macOS writes
        ("a box of 5 kg", "a box of 5 ㎏"),
        ("the ＰＩＮ is 4711", "the pin is 4711"),
    ],
)
def test_a_text_is_met_in_whichever_form_of_unicode(paths, said, again):
    forgotten.add(paths, "receipt_1", {"text": [said]})
    assert forgotten.load(paths).text(f"again: {again}")


def test_nothing_of_it_can_be_read(paths):
    forgotten.add(paths, "r", {"text": TEXTS, "sender": ["u7"], "session": ["telegram:7"], "id": ["ltm_1"]})
    data = (paths.data / forgotten.FILE).read_text()
    for word in ("safe", "whale", "小满", "telegram", "u7", "ltm_1"):
        assert word not in data
    assert (paths.data / forgotten.FILE).stat().st_mode & 0o777 == 0o600
    kept = forgotten.load(paths)
    assert kept.value({"id": "ltm_1"})
    assert kept.value({"x": [{"session_key": "telegram:7"}]})
    assert kept.value({"sender_id": "u7"})
    assert kept.value({"sender_id": "u8", "id": "ltm_2", "text": "fine"}) is None


def test_lifted_it_may_come_back(paths):
    forgotten.add(paths, "one", {"text": TEXTS[:1]})
    forgotten.add(paths, "two", {"text": TEXTS[1:]})
    assert forgotten.lift(paths, "one") == 1
    assert forgotten.lift(paths, "one") == 0
    assert forgotten.load(paths).text(TEXTS[0]) is None
    assert forgotten.load(paths).text(TEXTS[1])


@pytest.mark.parametrize("data", [b"", b"{}", b'{"salt": "zz", "marks": []}', b'{"salt": "", "marks": [[1]]}', b"\xff"])
def test_a_damaged_file_lets_nothing_back_unseen(paths, data):
    paths.data.mkdir()
    (paths.data / forgotten.FILE).write_bytes(data)
    with pytest.raises(StoreError, match="stay forgotten"):
        forgotten.load(paths)
