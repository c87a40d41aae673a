"""Small transformers models with random weights, which `write_transformers.py` writes.

It needs transformers, tf_keras and TensorFlow, and does not import pinnace.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
