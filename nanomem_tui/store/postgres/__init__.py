"""The store in a PostgreSQL database: its server, its schema, its words, and the moment others write it."""
