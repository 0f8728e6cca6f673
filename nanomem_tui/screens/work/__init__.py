"""The screens of work records: what the agent does now, its records, and the context for a task."""
