"""An OpenAI-compatible endpoint on this machine that answers from a script, as well or as badly as a test wants.

    with ModelServer(says({"facts": []}), status(429)) as server: ...

By hand: `python -m tests.model.server answers.json` serves a list of objects, one a question, and prints its address.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

KEY = "sk-scripted-0123456789abcdef"


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def form(self) -> str:
        """Which form of answer was asked for."""
        return self.body.get("response_format", {}).get("type", "plain")

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass(frozen=True)
class Reply:
    """What goes back. `wait`: seconds before it begins; `pause`: seconds between its pieces; `cut`: bytes that are sent
    before the connection is dropped."""

    status: int = 200
    data: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    pause: float = 0.0
    cut: int | None = None


Script = Reply | Callable[[Asked], Reply]


def says(
    content: Any, *, finish: str = "stop", usage: dict[str, Any] | None = None, wait: float = 0.0, **message: Any
) -> Reply:
    """A good response: `content` is the text of the answer, or an object that is put into it as JSON."""
    text = content if isinstance(content, str | None) or _is_blocks(content) else json.dumps(content)
    body: dict[str, Any] = {
        "id": "x", "object": "chat.completion", "model": "scripted",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
    }  # fmt: skip
    if usage is not None:
        body["usage"] = usage
    return Reply(data=json.dumps(body).encode(), wait=wait)


def _is_blocks(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and isinstance(content[0], dict) and "type" in content[0]


def status(code: int, message: str = "", **headers: str) -> Reply:
    """An error as endpoints word it."""
    data = json.dumps({"error": {"message": message, "type": "scripted"}}).encode() if message else b""
    return Reply(code, data, {name.replace("_", "-"): value for name, value in headers.items()})


def knows(*forms: str, then: Reply) -> Callable[[Asked], Reply]:
    """An endpoint that takes only these forms of answer."""

    def reply(asked: Asked) -> Reply:
        return then if asked.form in forms else status(400, f"response_format {asked.form} is not supported")

    return reply


def packed(reply: Reply) -> Reply:
    """The same, packed with gzip although nobody asked for it."""
    return Reply(reply.status, gzip.compress(reply.data), {"Content-Encoding": "gzip"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no mistake; whatever else is printed into the test that runs meanwhile."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class ModelServer:
    """Answers each question with the next of `script`, the last one again and again."""

    def __init__(self, *script: Script) -> None:
        self.script = list(script)
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", "0"))
                asked = Asked(self.path, dict(self.headers.items()), json.loads(self.rfile.read(size)))
                outer.send(self, outer.next(asked))

            def do_GET(self) -> None:
                outer.asked.append(Asked(self.path, dict(self.headers.items()), {"messages": []}))
                outer.send(self, Reply(404))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def next(self, asked: Asked) -> Reply:
        """Note the request and take the reply whose turn it is."""
        with self._lock:
            self.asked.append(asked)
            script = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return script(asked) if callable(script) else script

    @staticmethod
    def send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        """The reply on the wire; a client that went away is no error."""
        time.sleep(reply.wait)
        try:
            if reply.cut == 0:
                handler.close_connection = True
                handler.connection.close()
                return
            handler.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(reply.data)))
            handler.end_headers()
            data = reply.data if reply.cut is None else reply.data[: reply.cut]
            step = 1 if reply.pause else 65536
            for at in range(0, len(data), step):
                handler.wfile.write(data[at : at + step])
                handler.wfile.flush()
                time.sleep(reply.pause)
            if reply.cut is not None:
                handler.close_connection = True
                handler.connection.close()
        except OSError:
            handler.close_connection = True

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def main() -> None:
    answers = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    with ModelServer(*(says(answer) for answer in answers)) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
