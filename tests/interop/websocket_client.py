"""Says messages to a gateway over its own websocket channel, one after the other, as its web interface does.

Runs under the Python of the agent's own environment, which has a websocket library. Arguments: the address, then the
messages. Prints the text of each answer on a line of its own; fails when one takes longer than a minute.
"""

from __future__ import annotations

import asyncio
import json
import sys

from websockets.asyncio.client import connect

PATIENCE = 60.0


async def opened(address: str) -> connect:
    """The connection, as soon as the gateway listens."""
    for _ in range(int(PATIENCE * 5)):
        try:
            return await connect(address)
        except OSError:
            await asyncio.sleep(0.2)
    raise TimeoutError(f"nobody listens at {address}")


async def answer(connection: connect) -> str:
    """The text of the next whole answer."""
    said = ""
    while True:
        frame = json.loads(await asyncio.wait_for(connection.recv(), PATIENCE))
        if frame.get("event") == "delta":
            said += frame.get("text", "")
        if frame.get("event") == "turn_end":
            return said
        if frame.get("event") == "message" and not frame.get("kind"):
            said = frame.get("text", "")


async def main(address: str, messages: list[str]) -> None:
    connection = await opened(address)
    try:
        for message in messages:
            await connection.send(message)
            print(await answer(connection), flush=True)
    finally:
        await connection.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
