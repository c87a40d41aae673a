"""The models that TensorFlow wrote, with tolerances of their results."""

from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "saved_models"

# Largest difference that another order of summation may cause.
TOLERANCE = {
    "autograph_flow": 2e-6,
    "counter": 0.0,
    "detection": 2e-6,
    "dtypes": 0.0,
    "halves": 1e-6,
    "keras_cnn": 2e-6,
    "keras_gru": 2e-6,
    "keras_lstm": 2e-6,
    "keras_mlp": 1e-6,
    "keras_separable": 1e-5,
    "keras_transformer": 4e-6,
    "lookup_assets": 1e-6,
    "multi_io": 1e-6,
    "nested": 2e-6,
    "poly_module": 2e-6,
    "several_signatures": 2e-6,
    "trainer": 4e-6,
    "v1_conditions": 1e-6,
    "v1_loops": 1e-6,
    "v1_mapped": 1e-6,
    "v1_recurrent": 1e-6,
    "v1_style": 1e-6,
    "vectorized": 0.0,
    "words": 1e-6,
}

# Models for whose ops TFLite has no kernel, in TensorFlow's own copy of the model either.
LITE_REFUSES = {
    "autograph_flow": "Case and lists of tensors of unknown length",
    "counter": "variables that a scatter changes",
    "detection": "CombinedNonMaxSuppression",
    "dtypes": "arithmetic in some dtypes, strings",
    "halves": "products of bfloat16",
    "keras_gru": "lists of tensors of unknown length",
    "keras_lstm": "lists of tensors of unknown length",
    "lookup_assets": "string ops",
    "several_signatures": "string ops",
    "trainer": "random numbers from a seed",
    "v1_conditions": "string ops",
    "v1_mapped": "TensorArrayV3",
    "v1_recurrent": "TensorArrayV3",
    "v1_style": "ParseExampleV2",
    "vectorized": "string ops",
    "words": "string ops",
}
