"""Models of transformers, small and of drawn weights, as `write_transformers.py` writes them.

Needs transformers, tf_keras and TensorFlow, and knows nothing of pinnace.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
