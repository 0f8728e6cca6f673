"""What an agent remembers, a service for each kind: items, lessons, sessions, WAL state, history, notes, health."""
