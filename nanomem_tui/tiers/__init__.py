"""Work records and knowledge (seed 004): operational memory, work records, documents, context assembly."""
