"""Private modules of TensorFlow and Keras that programs import: where their names are public."""

from __future__ import annotations

# Private module -> the public one that has its names. What is below it is looked for below that.
MODULES = {
    "keras.src": "keras",
    "keras.src.backend.common": "keras.backend",
    "keras.src.distribution": "keras",
    "keras.src.layers.core": "keras.layers",
    "keras.src.losses.losses": "keras.losses",
    "keras.src.saving.saving_lib": "keras.saving",
    "keras.src.saving.serialization_lib": "keras.saving",
    "keras.src.trainers": "keras",
    "tensorflow._api.v2": "tensorflow",
    "tensorflow._api.v2.v2": "tensorflow",
    "tensorflow.python": "tensorflow",
    "tensorflow.python.eager": "tensorflow",
    "tensorflow.python.eager.context": "tensorflow",
    "tensorflow.python.framework": "tensorflow",
    "tensorflow.python.framework.config": "tensorflow.config",
    "tensorflow.python.framework.constant_op": "tensorflow",
    "tensorflow.python.framework.dtypes": "tensorflow.dtypes",
    "tensorflow.python.framework.errors": "tensorflow.errors",
    "tensorflow.python.framework.errors_impl": "tensorflow.errors",
    "tensorflow.python.framework.ops": "tensorflow",
    "tensorflow.python.framework.tensor_shape": "tensorflow",
    "tensorflow.python.framework.tensor_spec": "tensorflow",
    "tensorflow.python.keras": "tensorflow.keras",
    "tensorflow.python.ops": "tensorflow",
    "tensorflow.python.ops.array_ops": "tensorflow",
    "tensorflow.python.ops.control_flow_ops": "tensorflow",
    "tensorflow.python.ops.math_ops": "tensorflow.math",
    "tensorflow.python.ops.nn_ops": "tensorflow.nn",
    "tensorflow.python.ops.variables": "tensorflow",
    "tensorflow.python.platform": "tensorflow.io",
    "tensorflow.python.util": "tensorflow",
    "tensorflow.python.util.nest": "tensorflow.nest",
}
# Private module -> modules of pinnace that have what the public one has not.
BEHIND = {
    "tensorflow.python.eager.context": ("pinnace.ops.random.seeds",),
    "tensorflow.python.framework.config": ("pinnace.framework.config",),
}
# Private module -> the module of pinnace that has names of it that mean something else elsewhere.
AHEAD = {"keras.src.saving.saving_lib": "pinnace.compat.saving_lib"}
