"""What an agent remembers, a service for each kind: items, lessons, facts, sessions, turns, notes, health."""
