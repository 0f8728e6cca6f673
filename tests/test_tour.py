"""The tours: five lines once, and a walk through the demonstration that goes on as its steps are done."""

from nanomem_tui.core.text import cell_width
from nanomem_tui.widgets import tour


def test_the_first_lines_are_five_and_fit_a_small_screen():
    shown = tour.Tour(tour.FIRST, {})
    assert len(shown.lines) == 5
    assert all(cell_width(line) <= 78 for line in shown.lines), max(shown.lines, key=len)
    assert not any("{" in line for line in shown.lines)


def test_moved_keys_are_told_as_they_are():
    shown = tour.Tour(tour.FIRST, {"undo": ("f9",), "palette": ("f1",)})
    assert "f9 undoes" in shown.lines[0]
    assert "f1 every command" in shown.lines[-1]


def test_the_first_lines_are_shown_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert tour.first_tour("first", {}) is not None
    assert tour.first_tour("first", {}) is None
    assert (tmp_path / "state" / "nanomem" / tour.MARK).stat().st_mode & 0o777 == 0o600


def test_where_nothing_can_be_kept_they_are_not_shown_each_time(monkeypatch, tmp_path):
    (tmp_path / "state").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert tour.first_tour("first", {}) is None


def done_of(name):
    screen, _, action = name.rpartition(" ")
    return screen or "items", action


def last():
    return tour.Tour(tour.WALK[-1:], {}).lines


def test_a_walk_goes_on_step_by_step_to_its_end():
    walk = tour.Tour(tour.WALK, {})
    seen = [walk.lines]
    assert not walk.did("items", "delete")
    while walk.lines != last():
        assert any(walk.did(*done_of(name)) for step in tour.WALK for name in step.done), walk.lines
        seen.append(walk.lines)
    assert len(seen) == len(set(seen)) > 3
    assert f"Step 1 of {len(seen)}" in seen[0][0]
    walk.leave()
    assert walk.over
    assert walk.lines == ()
