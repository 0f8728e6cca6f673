"""Our own exports imported again: what is unchanged is here, what was deleted stays deleted, whatever a text holds."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.transfer import backfill, markdown
from nanomem_tui.memory.transfer.service import EXPORT_FORMATS
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.store.homes import make_home

HOME = {"items": 1, "lessons": 1}

TEXTS = (
    "two lines\r\nand a third\n\x0b",
    "a bell \x07, a colour \x1b[31m, a \x85 and a \u202e",
    "nothing \0 in between",
    "a page has <!-- comments --> and some <!-- are left open",
    "``` is a fence, # no heading",
    "- [ ] call Ana: [2026-01-02 03:04:05 UTC] ",
    "İstanbul ﬁsh ǅ \u2003 wide",
)


@pytest.fixture
def ws(ws):
    """A workspace with texts of every kind, and times in parts of a second."""
    rows = [
        Item(f"t{number}", text, created_at=f"2026-03-0{number + 1}T04:05:06.789012+00:00",
             updated_at=f"2026-04-0{number + 1}T04:05:06.789012+00:00", scope_key=ws.items.all()[0].scope_key)
        for number, text in enumerate(TEXTS)
    ]  # fmt: skip
    ws.perform(new_operation("items.add", "texts", [change_of("item", None, row) for row in rows]))
    return ws


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_what_is_unchanged_is_here(ws, tmp_path, name):
    path = ws.transfer.export(name, tmp_path / "file").path
    told = [(entry.verdict, entry.why) for entry in ws.transfer.preview(path).entries]
    assert len(told) == (1 if name == "lessons" else 9 if name == "jsonl" else 8)
    assert [why for verdict, why in told if verdict != "same"] == []


@pytest.mark.parametrize("name", [name for name in EXPORT_FORMATS if name != "lessons"])
def test_what_was_deleted_here_comes_back_when_it_is_asked_for_only(ws, tmp_path, name):
    path = ws.transfer.export(name, tmp_path / "file").path
    before = {row.id: row.text for row in ws.items.all()}
    ws.items.delete(list(before))
    plan = ws.transfer.preview(path)
    assert (plan.counts["deleted"], plan.todo) == (8, [])
    ws.flush()
    back = ws.transfer.preview(path, restore=True)
    assert {entry.verdict for entry in back.entries if isinstance(entry.row, Item)} == {"new"}
    ws.transfer.run(back)
    assert {row.id for row in ws.items.all()} == before.keys(), "under the id that it had"
    assert ws.transfer.preview(path).todo == []
    ws.undo()
    assert ws.items.all() == []


def test_what_is_remembered_again_is_not_deleted(ws, tmp_path):
    path = ws.transfer.export("markdown", tmp_path / "file").path
    ws.items.delete(["ltm_1"])
    again = ws.items.add("Item number 1")[1]
    assert [entry.why for entry in ws.transfer.preview(path).entries if "item number" in str(entry.row)] == [
        f"the same text is here as {again.id}"
    ]
    ws.items.edit(again.id, text="Something else")
    assert ws.transfer.preview(path).counts["deleted"] == 1


@pytest.mark.parametrize("how", ["import", "backfill"])
def test_what_an_undone_import_or_backfill_brought_was_deleted_by_nobody(tmp_path, how):
    home = make_home(tmp_path, items=0, lessons=0)
    note = home / "memory" / "MEMORY.md"
    note.write_text("# Facts\n- Anna likes tea\n")
    with open_workspace(home) as ws:
        if how == "import":
            made = ws.transfer.run(ws.transfer.preview(note))
        else:
            made = backfill.run(ws.store, backfill.preview(ws.store, ws.paths, ws.settings), ws.perform)
        assert len(ws.items.all()) == 1
        ws.undo(made.id)
        assert ws.items.all() == []
        assert ws.transfer.preview(note).counts["new"] == 1


def test_a_page_is_known_whatever_it_is_called(ws, tmp_path):
    page = ws.transfer.export("markdown", tmp_path / "markdown-all").path
    assert ws.transfer.preview(page).format == "markdown"
    for text in ("# a script\necho - [x]\n", "", "- a list\n", "# Facts\n\0- [2026-01-02 03:04:05 UTC] x\n"):
        page.write_text(text)
        with pytest.raises(BadInput, match="not a format that is known"):
            ws.transfer.preview(page)


def test_a_comment_holds_no_memories():
    text = (
        "<!--\n- [2026-01-02 03:04:05 UTC] hidden\n-->\n"
        "- [2026-01-02 03:04:05 UTC] a <!-- b --> c\n- Ana likes tea <!-- e\nf\n"
    )
    assert [piece.text for piece in markdown.markdown_pieces(text, "x.md")[0]] == ["a <!-- b --> c", "Ana likes tea"]
