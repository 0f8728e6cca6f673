"""A memory as a whole: backup, restore, and the move between a file and a server."""
