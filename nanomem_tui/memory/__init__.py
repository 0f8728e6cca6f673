"""Memory: capture, recall, curation and search over the values of the store. It knows no SQL and no screen."""
