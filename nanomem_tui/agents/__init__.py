"""The files of agents: parse and serialise. Pure functions over bytes; no state, no store, no agent's own code."""
