"""Dream: what happened becomes what is remembered, as edits of lines that can be checked and taken back.

Must not know a screen.
"""
