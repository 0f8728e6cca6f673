"""Files of the agent and of the user: read, merged, written beside a running agent."""
