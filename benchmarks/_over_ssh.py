"""What a cursor move costs over SSH: on two sizes of terminal, written whole or thin, compressed or not.

Owns the sessions and what is counted in them; `console.py` prints it. The server is OpenSSH's own where it was unpacked
(`make sshd`), else asyncssh's.
"""

from __future__ import annotations

import asyncio
import statistics
import zlib
from collections.abc import Mapping, Sequence

from _ssh import Answer, Session, login, serving
from _sshd import missing, openssh_serving

SIZES = ((80, 24), (200, 60))
WAYS = {"plain": "off", "thin": "on"}
MOVES = 90  # more than a screenful, so that some of them scroll
RESTS = 20
READY = "no agent"  # what the app says when it has looked at the workspace
QUIET = 0.02  # seconds of silence after which a frame is all there; a detail comes later
RESTED = 0.3

Row = dict[str, float | str]


def over_ssh(command: Sequence[str], env: Mapping[str, str]) -> list[Row]:
    """One row for each size of terminal and way to write: bytes for one cursor down, medians.

    "mean" has the scrolls in it, "zlib" is the stream compressed as `ssh -C` does it, "wire" and "wire -C" have SSH's
    packets around it, "least" is what one byte takes on the wire, compressed. "rest" is for a move after which the
    cursor rests, so that the detail follows where it stands beside the list; the others are for a key that repeats.
    """
    return asyncio.run(_rows(command, env))


def server_name() -> str:
    """Which server it is measured through."""
    return "asyncssh's" if missing() else "OpenSSH's"


async def _rows(command: Sequence[str], env: Mapping[str, str]) -> list[Row]:
    rows: list[Row] = []
    least = await _least(env)
    for size in SIZES:
        for way, setting in WAYS.items():
            given = {**env, "NANOMEM_THIN_OUTPUT": setting}
            own, stream, rests = await _moves(command, given, size, compressed=False)
            packed, _, _ = await _moves(command, given, size, compressed=True)
            rows.append(
                {
                    "size": f"{size[0]}x{size[1]}",
                    "way": way,
                    "own": statistics.median(one.size for one in own),
                    "mean": statistics.mean(one.size for one in own),
                    "wire": statistics.median(one.wire for one in own),
                    "zlib": statistics.median(stream),
                    "wire -C": statistics.median(one.wire for one in packed),
                    "least": least,
                    "rest": statistics.median(one.size for one in rests),
                    "p50 ms": statistics.median(one.first_ms for one in own),
                }
            )
    return rows


async def _moves(
    command: Sequence[str], env: Mapping[str, str], size: tuple[int, int], *, compressed: bool
) -> tuple[list[Answer], list[int], list[Answer]]:
    """What cursor moves brought, what each is when the session's bytes are compressed as one stream, and what moves
    brought after which the cursor rests."""
    kind = serving if missing() else openssh_serving
    async with kind(command, env) as server, login(server, size=size, compressed=compressed) as session:
        await session.shows(READY)
        await session.quiet(2.0)
        packer = zlib.compressobj(6)
        packer.compress(bytes(session.output))
        packer.flush(zlib.Z_SYNC_FLUSH)
        answers, packed = [], []
        for _ in range(MOVES):
            before = len(session.output)
            answers.append(await session.press("\x1b[B", quiet=QUIET))
            data = bytes(session.output[before:])
            packed.append(len(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)))
        await session.quiet(RESTED)
        rests = [await session.press("\x1b[A", quiet=RESTED) for _ in range(RESTS if not compressed else 0)]
        await _leave(session)
        return answers, packed, rests


async def _least(env: Mapping[str, str]) -> float:
    """Bytes on the wire for a single one, compressed: the echo of a letter by the terminal over there."""
    kind = serving if missing() else openssh_serving
    async with kind(["cat"], env) as server, login(server, compressed=True) as session:
        await session.quiet(0.5)
        echoes = [await session.press("x", quiet=0.1) for _ in range(9)]
        session.link.cut()
        return statistics.median(one.wire for one in echoes)


async def _leave(session: Session) -> None:
    session.send("q")
    await session.until(lambda: session.status is not None)
