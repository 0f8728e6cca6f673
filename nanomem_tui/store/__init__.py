"""The store: rows in RAM over one database, and every change as one transaction of it."""
