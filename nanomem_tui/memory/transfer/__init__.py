"""Memories from and to other systems: a module a format, a plan to look at, one operation that does it."""
