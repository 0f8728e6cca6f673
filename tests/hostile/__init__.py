"""What someone else wrote: texts, names and files that try something."""
