"""The database of a workspace: tables, statements, transactions, full text; a file of SQLite or a PostgreSQL schema."""
