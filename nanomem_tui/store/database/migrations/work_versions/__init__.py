"""One file for each schema of the work records, each with what brings the schema before it to its own."""
