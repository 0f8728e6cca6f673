"""Stands in for `nanomem turn serve`: the same lines over the same pipe, with faults on request; standard library only.

    serve.py LOG [FAULT] turn serve [--workspace PATH]

Writes each request to LOG. It remembers what was said in a chat and recalls it there. FAULT: `exit` never starts, `die`
ends at each begin, `die-once` at the first, `hang` never answers a begin, `junk` answers no JSON, `refuse` an error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> int:
    log = Path(sys.argv[1])
    fault = sys.argv[2] if sys.argv[2] != "turn" else ""
    if fault == "exit":
        print("no such thing as a memory", file=sys.stderr)
        return 3
    said: list[tuple[str, str]] = []
    for line in sys.stdin:
        request = json.loads(line)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**request, "pid": os.getpid(), "argv": sys.argv[1:]}) + "\n")
        do, chat = request["do"], f"{request.get('channel')}:{request.get('chat_id')}"
        if do in ("begin", "recall"):
            died = log.with_suffix(".died")
            if fault == "die" or (fault == "die-once" and not died.exists()):
                died.touch()
                print("a fault\nthe last words", file=sys.stderr)
                return 9
            if fault == "hang":
                time.sleep(600)
        if fault == "junk":
            print("not json", flush=True)
            continue
        known = [text for where, text in said if where == chat]
        answer = {"turn": f"t{len(said)}", "hits": [{"text": text, "kind": "fact"} for text in known]}
        if do == "begin":
            answer["block"] = "[Memory]\n" + "\n".join(known) + "\n[/Memory]\n" if known else ""
        if do in ("end", "turn"):
            said.append((chat, request["text"]))
        print(json.dumps({"error": "the store is locked"} if fault == "refuse" else answer), flush=True)
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"do": "eof", "pid": os.getpid()}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
