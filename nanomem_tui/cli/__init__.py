"""The command line: parse, call the Workspace, print. One file per command group; no logic of memory lives here."""

COMPLETING = "_NANOMEM_COMPLETE"
"""In the environment when a shell asks what could follow."""
