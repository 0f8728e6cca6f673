"""Facts, journal, reflections and token usage (seed 003), and facts crystallized out of dialogue."""
