"""The thread that makes checkpoints of a program that stays."""

import threading

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import ServerAway
from nanomem_tui.store import memory_store
from tests.store.homes import make_home


def test_it_goes_on_after_the_database_could_not_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_store, "LOOK", 0.01)
    monkeypatch.setattr(memory_store, "PAUSE", 0.01)
    with open_workspace(make_home(tmp_path, items=0)) as ws:
        looks = 0
        again = threading.Event()

        def look():
            nonlocal looks
            looks += 1
            if looks == 1:
                raise ServerAway("the server does not answer", "here", "try again")
            again.set()

        monkeypatch.setattr(ws.store, "see_others", look)
        thread = memory_store.Checkpointer(ws.store)
        thread.start()
        assert again.wait(10)
        thread.stop()
