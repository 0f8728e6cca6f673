"""What an agent knows in fields: facts, journal, reflections, token usage, and facts out of dialogue (seed 003)."""
