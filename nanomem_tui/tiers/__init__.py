"""The tiers of seed 004: what happens now, what was done lately and long ago, and what is known beside it."""
