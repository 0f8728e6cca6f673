"""The commands, one file a group or a few related groups."""
