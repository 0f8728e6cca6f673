"""Language: what the sentences of a message are. One reader for all parts; a pack of data for each language."""
