"""Search by meaning: embedders and the indexes of their vectors. A cache: the rows of the store are the truth."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
"""onnxruntime tells its makers which models run where, since 1.29 and unless this is set before it is loaded, by us or
by another library that we load."""
