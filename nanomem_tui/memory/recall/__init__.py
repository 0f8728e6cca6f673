"""Recall: which memories and passages a message brings back, ranked, with the reasons."""
