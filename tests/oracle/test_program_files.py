"""Programs of the files here give the same results as in TensorFlow and Keras: see `both`."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from oracle import both


class Programs(NamedTuple):
    """How the programs of a file are compared.

    Attributes:
        about: their subject.
        rtol: how far floats may be from TensorFlow's; 0 where nothing is rounded.
        atol: the absolute tolerance.
        errors: whether some raise an error, the same one in both.
    """

    about: str
    rtol: float = 0.0
    atol: float = 0.0
    errors: bool = False


# By the prefix of the file's name.
FILES = {
    # Losses are sums of float32.
    "checking": Programs(
        "Numbers that are not finite are found where TensorFlow finds them.", 1e-6, 1e-6
    ),
    "conversion": Programs(
        "Arrays and values of Python get the dtype asked for, as TensorFlow has it."
    ),
    "corner": Programs("What TensorFlow's own unit tests found here, asked of both.", 2e-5, 2e-5),
    "dataset_corner": Programs(
        "What TensorFlow's own unit tests of datasets found here, asked of both."
    ),
    "dataset_table": Programs(
        "Tables of datasets and optional elements do what they do in TensorFlow."
    ),
    "dataset": Programs(
        "Pipelines give the elements, specs and cardinalities that TensorFlow's give.", errors=True
    ),
    "everyday": Programs("What users write every day gives what it gives in TensorFlow."),
    # Means of a few float32 rows.
    "feature_column": Programs("Feature columns give what they give in TensorFlow.", 2e-6, 1e-6),
    "function": Programs(
        "Traced functions, their variables and their loops give what TensorFlow's give.",
        errors=True,
    ),
    # Sums of products may be in another order.
    "held_value": Programs("Lists and bundles as ops do what they do in TensorFlow.", 2e-6, 2e-6),
    # Means and variances are summed in another order, and in float32 by Keras.
    "keras_adapting": Programs(
        "Layers that are adapted after they are called, and FeatureSpace, do as in Keras.",
        2e-5,
        2e-5,
    ),
    # Ten float32 operations in another order.
    "keras_argument": Programs(
        "Arguments of layers, models, metrics and callbacks mean what they mean in Keras.",
        2e-5,
        2e-5,
    ),
    # Sums of some dozens of products in float32.
    "keras_backend": Programs(
        "Functions of Keras' older backend give what Keras gives.", 2e-5, 2e-5
    ),
    # Weights of neighbours in float32.
    "keras_crop": Programs(
        "Images that are cropped, zoomed and seen in perspective are those of Keras.", 1e-4, 1e-4
    ),
    # Ten float32 operations in another order; draws go through logarithms and roots.
    "keras_example": Programs(
        "What programs written by others do with `keras` gives what it gives in Keras.", 2e-5, 2e-5
    ),
    # Ten float32 operations in another order; draws go through logarithms and roots.
    "keras_functional": Programs(
        "Control flow, draws, trees and result types of `keras` are those of Keras.",
        2e-5,
        2e-5,
    ),
    # Sums of float32 products in another order.
    "keras_image": Programs("`keras.ops.image` gives what it gives in Keras.", 2e-5, 2e-5),
    # Sums of float32 products in another order, of values up to 255.
    "keras_augmentation": Programs(
        "Layers that change images draw what Keras draws from the same seeds, and use it alike.",
        2e-5,
        2e-3,
    ),
    # Three steps of float32 operations in another order.
    "keras_newer": Programs(
        "Newer losses, metrics, optimizers, regularizers and state trees do what they do in Keras.",
        2e-5,
        2e-5,
    ),
    # One rounding of float16, since the libraries decompose powers differently.
    "keras_operator": Programs(
        "A KerasVariable beside another dtype: promoted, refused or cast where Keras does it.", 1e-3
    ),
    # Two epochs of float32 operations in another order.
    "keras_output": Programs(
        "Losses and metrics of several outputs, by name and by place, are those of Keras.",
        2e-5,
        2e-5,
    ),
    # A few float32 operations in another order, of numbers near 1.
    "keras_package": Programs(
        "What packages on Keras 3 use of it beside its documented names does what it does there.",
        2e-5,
        2e-5,
    ),
    # Sums of float32 products in another order; logarithms of numbers close to 0.
    "keras_preprocessing": Programs(
        "Layers for features and signals, and older ones, give what they give in Keras.", 1e-4, 1e-4
    ),
    # Products of float32 in another order, and ten steps of training with them.
    "keras_quantized": Programs(
        "Quantizers, quantized and adapted layers and training in steps do what they do in Keras.",
        2e-5,
        2e-5,
    ),
    # Powers and cosines of float32, and six steps of training.
    "keras_small": Programs(
        "Schedules, splitting, epsilon and the like do what they do in Keras.", 2e-5, 2e-5
    ),
    # Functions of float32 to a few roundings.
    "keras_sparse_ops": Programs(
        "`keras.ops` of sparse operands give the forms and values that they give in Keras.",
        1e-5,
        1e-6,
    ),
    # Three steps of float32 operations in another order.
    "keras_stateless": Programs(
        "Layers, optimizers and metrics on values that are given do what they do in Keras.",
        2e-5,
        2e-5,
    ),
    # Sums in float32, in another order.
    "keras_threshold": Programs("Metrics of decisions say what those of Keras say.", 1e-5, 1e-5),
    # A few steps in float32.
    "keras_weight_file": Programs(
        "Files of weights restore what they restore in Keras.", 1e-5, 1e-6
    ),
    "library": Programs(
        "What packages of others rely on beyond the documented calls is as in TensorFlow."
    ),
    "queue": Programs("Queues, critical sections and coordinators do what they do in TensorFlow."),
    "ragged_corner": Programs(
        "What TensorFlow's own unit tests of ragged tensors found here, asked of both."
    ),
    "ragged_shape": Programs("Shapes of ragged tensors, asked of both."),
    # Logarithms and exponentials differ in the last places of float32.
    "rare_op": Programs("Ops that few programs want do what they do in TensorFlow.", 2e-6, 2e-6),
    "row_partition": Programs("Rows without values tell what they tell in TensorFlow."),
    "small_names": Programs("Names that stand by themselves do what they do in TensorFlow."),
    "string_corner": Programs(
        "What TensorFlow's own unit tests of strings found here, asked of both."
    ),
}


def file_of(name: str) -> Path:
    return Path(__file__).with_name(f"{name}_programs.py")


class Runs:
    """Every program of a file, run once by each library in a separate process, on first use.

    It is not a fixture parametrised by the file: with other parameters of the test, pytest would
    create it again for each test.

    Args:
        folders: where they may write.
        tensorflow_python: the interpreter that has TensorFlow.
    """

    def __init__(self, folders: pytest.TempPathFactory, tensorflow_python: str) -> None:
        self._given = (folders, tensorflow_python)
        self._found: dict[str, dict[str, dict[str, Any]] | Exception] = {}

    def of(self, file: str) -> dict[str, dict[str, Any]]:
        """Results by library and program; after a failure, every test of the file fails."""
        if file not in self._found:
            try:
                self._found[file] = both.outcomes(file_of(file), *self._given)
            except Exception as error:
                self._found[file] = error
        found = self._found[file]
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str) -> Runs:
    return Runs(tmp_path_factory, tensorflow_python)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        pytest.param(file, name, id=f"{file}-{name}")
        for file in FILES
        for name in both.names(file_of(file))
    ],
)
def test_a_program_gives_what_it_gives_there(runs: Runs, file: str, name: str) -> None:
    outcomes = runs.of(file)
    told = FILES[file]
    theirs = outcomes["tensorflow"][name]
    assert told.errors or not str(theirs).startswith("error: "), theirs
    both.same(outcomes["pinnace"][name], theirs, name, rtol=told.rtol, atol=told.atol)
