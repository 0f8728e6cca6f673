"""SQL stands as text only where the models cannot make it, file by file with the reason; the models make all other."""

import re

from tests.hygiene.repository import ROOT

PACKAGE = ROOT / "nanomem_tui"
SQL = re.compile(r"\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM) [\w\"*({]")

COMPILED = "compiled from the models"
WORDS = "the word index: FTS5 and tsvector have no words in the library"
CATALOG = "the server's own catalog: who may do what, what is installed"
OTHERS = "a database that is not ours: an agent's, or one of the first edition"
HEADER = "asked of any file of SQLite before the models are loaded: is it one, whose is it"
AS_TEXT = {
    "store/database/statements.py": COMPILED,
    "store/database/full_text.py": WORDS,
    "store/work/search.py": WORDS,
    "store/work/records.py": WORDS,
    "vectors/outside.py": "pgvector has no words in the library",
    "store/database/postgres.py": CATALOG,
    "store/first_edition/contents.py": OTHERS,
    "store/first_edition/takeover.py": OTHERS,
    "store/storage.py": OTHERS,
    "store/server_storage.py": OTHERS,
    "agents/databases.py": OTHERS,
    "memory/transfer/scoped.py": OTHERS,
    "memory/transfer/crystallized.py": OTHERS,
    "purge/texts.py": OTHERS,
    "store/moving/backup.py": HEADER,
    "store/database/reading.py": HEADER,
    "core/paths.py": HEADER,
    "store/database/migrations/work_versions/v0002_happening.py": "a migration: the models are newer than its tables",
}


def test_sql_is_text_only_where_the_models_cannot_make_it():
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if "_pb2" not in file.name and SQL.search(file.read_text("utf-8"))
    }
    assert found == set(AS_TEXT)
