"""Records of an agent's work and its knowledge base: tables, statements, search, aging."""
