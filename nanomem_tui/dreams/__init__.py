"""Dreams: consolidate the archive into SOUL.md, USER.md and MEMORY.md, as edits of lines that a person can undo.

Must not know a screen.
"""
