"""Turns of an agent: what it is given before each, and what is kept of it after."""
