"""Search by meaning: embedders and the indexes of their vectors. A cache: the rows of the store are the truth."""
