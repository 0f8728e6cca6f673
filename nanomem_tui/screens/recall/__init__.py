"""The screens of recall: the question and its answer, and the log of what turns were given."""
