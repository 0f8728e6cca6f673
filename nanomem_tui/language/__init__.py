"""Language: what the sentences of a message are, which values a text gives, how two statements stand to each other."""
