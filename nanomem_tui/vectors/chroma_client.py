"""A client of Chroma: for a folder that nanomem made, or for a server.

Owns that folder, and whose a collection is: a folder or a collection of somebody else is never written. All errors of
Chroma come out as errors of ours, so that whoever asks can do without it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from nanomem_tui import json_text
from nanomem_tui.errors import BadInput, InvalidConfig, MissingExtra, NanomemError, Refused, StoreError, from_os_error
from nanomem_tui.formats.chroma_folder import OURS
from nanomem_tui.installing import extra_command
from nanomem_tui.setting_checks import without_password
from nanomem_tui.store import atomic

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths
    from nanomem_tui.settings import Settings

SPACE = {"hnsw:space": "cosine"}
OWNER, MODEL = "nanomem_workspace", "nanomem_model"
"""Metadata of a collection: the workspace that it is of, and the model of its vectors."""
MARKER, LOCK = OURS, "nanomem.lock"
"""Files in a folder of ours: whose it is, and the lock of the process that uses it."""
PATIENCE = 10.0
"""Seconds that a server has for an answer."""
AGAIN = "`nanomem memory reindex --vectors` makes it anew; until then it is done without"


class Place(NamedTuple):
    """Where the collections are: in a `folder`, or on the server at `url`."""

    folder: Path | None
    url: str = ""


def place_of(settings: Settings, paths: Paths) -> Place:
    """Where the settings want it. Raises InvalidConfig for an address that is none."""
    if settings.chroma_url:
        try:
            parts = urlsplit(settings.chroma_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port is not None
        except ValueError:
            usable = False
        if not usable:
            what = f"`chroma_url` is no address: {without_password(settings.chroma_url)!r}"
            raise InvalidConfig(what, "the settings", "nanomem config set chroma_url http://127.0.0.1:8000")
        return Place(None, settings.chroma_url)
    if settings.chroma_path:
        return Place(paths.workspace / Path(settings.chroma_path).expanduser())
    return Place(paths.data / "chroma" / paths.own_id.name)


def records_place_of(settings: Settings, paths: Paths) -> Place:
    """Where the settings want the collections of records: on the same server, or in a folder beside that of items,
    which one process uses at a time. Raises InvalidConfig for an address that is none."""
    found = place_of(settings, paths)
    return found if found.folder is None else Place(found.folder.with_name(f"{found.folder.name}-records"))


class Chroma:
    """A client of Chroma for one workspace. `folder`: how it is marked, where there is one."""

    def __init__(self, place: Place, workspace_id: str, mark: str, *, anew: bool = False) -> None:
        """`mark`: what the folder is for, said in it; `anew`: it is emptied.

        Raises MissingExtra, Refused (another process uses the folder, or it is somebody else's) or StoreError."""
        self._place, self._workspace_id = place, workspace_id
        self._open = contextlib.ExitStack()
        try:
            self._client = self._made(_chromadb(), mark, anew=anew)
        except BaseException:
            self._open.close()
            raise

    def _made(self, chromadb: Any, mark: str, *, anew: bool) -> Any:
        """A client that sends no telemetry, and waits for nobody for good."""
        quiet = chromadb.config.Settings(anonymized_telemetry=False)
        if self._place.folder is None:
            parts = urlsplit(self._place.url)
            with self.told():
                import httpx  # Chroma's own client waits for good, and says nothing of who does not answer

                httpx.get(f"{self._place.url.rstrip('/')}/api/v2/heartbeat", timeout=PATIENCE).raise_for_status()
                client = chromadb.HttpClient(parts.hostname, parts.port, parts.scheme == "https", settings=quiet)
                client._server._session.timeout = PATIENCE
        else:
            self._open.enter_context(_ours(self._place.folder, self._workspace_id, mark, anew=anew))
            self._open.callback(_forget, chromadb, self._place.folder)
            with self.told():
                client = chromadb.PersistentClient(str(self._place.folder), settings=quiet)
        self._open.callback(_close, client)
        return client

    def collection(self, name: str, model: str, *, anew: bool) -> tuple[Any, bool]:
        """The collection of a name, and whether it was made: where there is none, that of ours is of another model, or
        it is wanted `anew`. Raises Refused for one of somebody else."""
        marks = {OWNER: self._workspace_id, MODEL: model}
        with contextlib.suppress(ValueError, _chromadb().errors.NotFoundError):
            found = self._client.get_collection(name, embedding_function=None)
            has = found.metadata or {}
            if has.get(OWNER) != self._workspace_id:
                what = f"the collection {name} there is not of this workspace"
                raise Refused(what, self.where, "import it, and use another `chroma_url` or `chroma_path`")
            if has.get(MODEL) == model and not anew:
                return found, False
            self._client.delete_collection(name)
        return self._client.create_collection(name, metadata={**SPACE, **marks}, embedding_function=None), True

    def keep_private(self) -> None:
        """Nobody else may read what Chroma writes, with the modes that it likes."""
        if self._place.folder is not None:
            for folder, _, names in os.walk(self._place.folder):
                os.chmod(folder, atomic.PRIVATE_FOLDER)
                for name in names:
                    with contextlib.suppress(FileNotFoundError):
                        os.chmod(os.path.join(folder, name), atomic.PRIVATE_FILE)

    @property
    def where(self) -> str:
        """Which it is, for a person."""
        return self._place.url or str(self._place.folder)

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """What Chroma raises as an error of ours; a panic of its engine is one too."""
        try:
            yield
        except NanomemError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            said = " ".join(str(error).split())[:160] or type(error).__name__
            raise StoreError(f"Chroma cannot be used ({said})", self.where, AGAIN) from error

    def close(self) -> None:
        """Let go of the client and of its folder."""
        self._open.close()


def _chromadb() -> Any:
    try:
        import chromadb
        import chromadb.api.client
        import chromadb.config
        import chromadb.errors
    except ImportError as error:
        what = f"the index in Chroma needs chromadb, which is not installed ({error.name})"
        raise MissingExtra(what, "vector_index", extra_command("chroma")) from error
    return chromadb


def _close(client: Any) -> None:
    """Close a client, and the connections of HTTP that it leaves open."""
    with contextlib.suppress(Exception):
        client.close()
    for part in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(part, "_server", None), "_session", None)
        if session is not None:
            session.close()


def _forget(chromadb: Any, folder: Path) -> None:
    """Chroma keeps what it opened by its path, also what it could not open."""
    known = chromadb.api.client.SharedSystemClient
    for part in ("_identifier_to_system", "_identifier_to_refcount"):
        getattr(known, part, {}).pop(str(folder), None)


@contextlib.contextmanager
def _ours(folder: Path, workspace_id: str, mark: str, *, anew: bool) -> Iterator[None]:
    """Hold a folder that is ours, made where there is none; `anew`: emptied. Raises Refused, or what keeps that from
    being done."""
    try:
        check_owner(folder, workspace_id)
        atomic.make_folder(folder)
        try:
            held = atomic.locked(folder / LOCK, wait=0)
            held.__enter__()
        except Refused as error:
            what = "another process of ours uses the Chroma folder"
            raise Refused(what, str(folder), "the rows are searched meanwhile") from error
        try:
            if anew:
                _empty(folder)
            body = json.dumps({"workspace": workspace_id, "collection": mark})
            if not (folder / MARKER).exists():
                atomic.write_atomic(folder / MARKER, body.encode())
            yield
        finally:
            held.__exit__(None, None, None)
    except OSError as error:
        raise from_os_error(error, "opening the Chroma folder") from error


def check_owner(folder: Path, workspace_id: str) -> None:
    """Raise Refused unless a folder is ours, empty, or not there; and BadInput for what is no folder."""
    try:
        names = {entry.name for entry in os.scandir(folder)}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise BadInput("no folder", str(folder), "set `chroma_path` to one, or to nothing") from None
    fix = "leave it as it is, and set `chroma_path` to another folder, or to nothing"
    if not names - {LOCK}:
        return
    try:
        owner = json_text.loads((folder / MARKER).read_bytes())["workspace"]
    except (OSError, ValueError, TypeError, KeyError):
        raise Refused("a Chroma folder that nanomem did not make is not written", str(folder), fix) from None
    if owner != workspace_id:
        raise Refused("the Chroma folder is of another workspace", str(folder), fix)


def _empty(folder: Path) -> None:
    for entry in list(os.scandir(folder)):
        if entry.name in (LOCK, MARKER):
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
