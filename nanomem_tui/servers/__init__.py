"""Servers for agents in other processes: loopback, pipe or unix socket only."""
