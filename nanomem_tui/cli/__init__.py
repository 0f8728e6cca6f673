"""The command line: parse, call the Workspace, print. One file per command group; no logic of memory lives here."""
