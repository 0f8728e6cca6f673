"""Memories of the first edition: read, and taken over into the second."""
