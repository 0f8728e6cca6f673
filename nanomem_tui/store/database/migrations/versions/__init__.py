"""One file for each schema, each with what brings the schema before it to its own."""
