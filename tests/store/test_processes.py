"""Several processes change one store: no update is lost, and what was acknowledged survives a kill."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.store.stores import PROCESS, Store, add, open_store, texts

pytestmark = pytest.mark.slow

COUNT_UP = """
from nanomem_tui.core.errors import Conflict
done = 0
while done < int(sys.argv[2]):
    store.refresh()
    value = int(store.snapshot.items["n"].text)
    try:
        edit(store, "n", text=str(value + 1), at=f"2026-03-02T10:00:00.{value:06d}+00:00")
        done += 1
    except Conflict:
        pass
print(done)
"""

Again = Callable[[], Store]


def test_two_processes_that_compare_and_write_lose_no_update(folder, again):
    with_one = again()
    add(with_one, "n", "0")
    with_one.close()
    command = [sys.executable, "-c", PROCESS + COUNT_UP, str(folder), "15"]
    with contextlib.ExitStack() as running:
        counting = [running.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE)) for _ in range(3)]
        assert [int(process.communicate(timeout=120)[0]) for process in counting] == [15, 15, 15]
    store = again()
    assert texts(store) == {"n": "45"}
    assert len(store.log(1000)) == 46
    store.close()


@pytest.mark.sqlite("a server's schema is not replaced as a file is")
def test_a_store_that_was_replaced_is_loaded_anew(folder, again):
    store = again()
    add(store, "a", "first")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    other = open_store(elsewhere)
    add(other, "b", "second")
    other.database.close()
    with store.database.exclusive():
        for name in ("-wal", "-shm"):
            (folder / f"nanomem.db{name}").unlink(missing_ok=True)
        os.replace(elsewhere / "nanomem.db", folder / "nanomem.db")
    add(store, "c", "third")
    assert texts(store) == {"b": "second", "c": "third"}
    store.close()


@pytest.mark.sqlite("a server makes its own checkpoints")
def test_a_checkpoint_of_the_wal_beside_writers_loses_nothing(folder, again):
    store = again()
    code = "for number in range(60): add(store, f'o_{number}', f'other {number}', durable=False)"
    with subprocess.Popen([sys.executable, "-c", PROCESS + code, str(folder)]) as process:
        for number in range(60):
            add(store, f"m_{number}", f"mine {number}")
            store.database.checkpoint()
        assert process.wait(120) == 0
    assert len(texts(store)) == 120
    store.close()
