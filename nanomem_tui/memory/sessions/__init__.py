"""The agent's sessions, transcript files and archive."""
