"""What the console writes to a terminal: cells, the pen that they are written with, and what differs from before."""
