"""Texts found in everything that is stored, and taken out of it for good: secrets, and what a person asks to forget."""
