"""Language: what the sentences of a message are, what values a text gives, and how two statements stand to each other."""
