"""One module for each screen, its style sheet beside it."""
