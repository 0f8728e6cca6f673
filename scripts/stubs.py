"""Writes the messages of the gRPC service from its .proto: `make stubs`. With --check it only says whether they are.

They are committed, so that who installs the package needs no compiler; the versions that made them stand in them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROTO = "nanomem_tui/servers/grpc/memory.proto"
NAMES = ("memory_pb2.py", "memory_pb2.pyi")


def made() -> dict[Path, str]:
    """The generated files by their place."""
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        outputs = [f"--{kind}_out={folder}" for kind in ("python", "pyi")]
        if protoc.main(["protoc", f"-I{ROOT}", *outputs, PROTO]):
            raise SystemExit("the .proto cannot be compiled")
        place = Path(PROTO).parent
        return {ROOT / place / name: (Path(folder) / place / name).read_text(encoding="utf-8") for name in NAMES}


def main(*, check: bool) -> int:
    """Write or compare; 1 when a stub is not what the .proto says."""
    files = made()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'not what the .proto says: make stubs' if check else 'written'}")
        if not check:
            path.write_text(files[path], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
