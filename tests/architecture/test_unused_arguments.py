"""An argument without effect says so: no public function ignores one silently.

Functions say so with `pinnace.framework.no_effect`. Arguments that ask for something that is always
true, and those that a protocol passes to overriding methods, are listed below with a reason.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import types
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pinnace as tf
from architecture.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ROOT / "docs" / "public_names.txt"
# The name of a node, or an unused name: it never changes a result.
_NAMES = {"self", "cls", "name"}

_CALLED = "called by training, evaluation or a session, with all that others may want"
_OVERRIDDEN = "the base or one kind of a protocol whose other kinds use it"
_HOLDS = "what it asks for is so anyway"
_ORDER = "effects run in the order of the program, with or without it"

# Part of the qualified name -> parameters, and why there is no warning.
DECLARED: dict[str, tuple[set[str], str]] = {
    "functions.function.function": ({"experimental_compile", "jit_compile"}, _HOLDS),
    "row_partition.RowPartition.__init__": (
        {"nrows", "nvals", "row_lengths", "value_rowids"},
        "the constructor is refused, in TensorFlow too",
    ),
    "variables.DistributedVariable.assign": (
        {"use_locking"},
        "as of any variable: an assignment is one step",
    ),
    "lite.tensorflow_names.TFLiteConverter.": (
        {"trackable_obj"},
        "what keeps variables alive in TensorFlow; a function holds its own here",
    ),
    "ExtensionTypeBatchEncoder.encode": ({"minimum_rank"}, _OVERRIDDEN),
    "keras.callbacks.": ({"epoch", "batch", "logs"}, _CALLED),
    "estimator.hooks.": (
        {"run_context", "run_values", "session", "coord", "global_step_value"},
        _CALLED,
    ),
    "estimator.training.": ({"eval_result", "is_the_final_export"}, _CALLED),
    ".TFSMLayer.from_config": ({"custom_objects"}, _OVERRIDDEN),
    ".compute_mask": ({"inputs", "previous_mask"}, _OVERRIDDEN),
    ".get_random_transformation": ({"data", "training", "seed"}, _OVERRIDDEN),
    ".transform_images": ({"transformation", "training"}, _OVERRIDDEN),
    ".transform_labels": ({"transformation", "training"}, _OVERRIDDEN),
    ".transform_segmentation_masks": ({"transformation", "training"}, _OVERRIDDEN),
    ".build": ({"input_shape", "x", "initial_state_shape"}, _OVERRIDDEN),
    ".call": ({"training"}, _OVERRIDDEN),
    ".compute_output_shape": ({"initial_state_shape"}, _OVERRIDDEN),
    ".Layer.quantize": (
        {"mode", "type_check", "config", "input_shape"},
        "it is refused, whatever is given",
    ),
    ".Embedding.build_from_config": ({"config"}, "a table has the shape of its own settings"),
    ".Benchmark.run_op_benchmark": ({"store_memory_usage"}, "what a run allocates is not counted"),
    ".get_quantization_layer_structure": ({"mode"}, _OVERRIDDEN),
    ".ProductLayer.quantized_call": ({"training"}, _OVERRIDDEN),
    ".Model.compiled_loss": ({"regularization_losses"}, "losses of layers are added anyway"),
    ".Model.compute_loss": ({"x", "training"}, _OVERRIDDEN),
    ".DTypePolicy.": ({"path"}, "a policy that is no map is the same for every layer"),
    ".Model.compute_metrics": ({"x"}, _OVERRIDDEN),
    ".RowPartition.__init__": (
        {"row_lengths", "value_rowids", "nrows", "nvals"},
        "they follow from the row splits",
    ),
    ".TraceType.": ({"value", "tensors", "cast_context"}, _OVERRIDDEN),
    ".NoneTensorSpec.": ({"value", "components"}, _OVERRIDDEN),
    ".TrackableView.children": ({"save_type"}, _OVERRIDDEN),
    ".Layer.get_updates_for": ({"inputs"}, "there are no updates, of whatever inputs"),
    ".GradientTape.record_customised": ({"computed"}, _OVERRIDDEN),
    ".Operation.run": ({"feed_dict", "session"}, "it is refused, whatever is given"),
    "Members.eval": ({"feed_dict", "session"}, "it is refused, whatever is given"),
    ".colocate_with": ({"op", "ignore_existing"}, "there is one device"),
    ".deserialize_keras_object": ({"printable_module_name"}, "it is a word of an error of Keras 2"),
    ".copy_to_device": ({"source_device", "target_device"}, "there is one device"),
    ".prefetch_to_device": ({"device"}, "there is one device"),
    ".non_max_suppression_padded": (
        {"sorted_input", "canonicalized_coordinates"},
        "promises about the input: the result is the same without them",
    ),
    ".Variable.": ({"use_locking"}, _HOLDS),
    ".VariableParts.": ({"use_locking"}, _HOLDS),
    "estimator.optimizers.Optimizer": ({"use_locking"}, _HOLDS),
    "lookup.": ({"experimental_is_anonymous"}, _HOLDS),
    ".BackupAndRestore.": ({"double_checkpoint"}, _HOLDS),
    ".argsort": ({"stable"}, _HOLDS),
    ".isin": ({"assume_unique"}, "a hint for another algorithm"),
    ".apply_channel_shift": ({"channel_axis"}, "all channels get the same number"),
    ".set_loop_options": (
        {"parallel_iterations", "swap_memory", "maximum_iterations", "shape_invariants"},
        "AutoGraph reads the call; the function itself does nothing",
    ),
    ".control_dependencies": ({"control_inputs"}, _ORDER),
    "compat.v1.functions.assign": (
        {"use_locking", "validate_shape"},
        "version 2 of TensorFlow passes neither on to its variables",
    ),
    "compat.v1.functions.name_scope": ({"values"}, "they say which graph, and there is one"),
    "distribute.reductions.": (
        {"destinations", "options"},
        "copies are made by who asks; hints are to a transport that there is not",
    ),
    "ClusterResolver.num_accelerators": (
        {"task_type", "task_id", "config_proto"},
        "no process has another number of them than this one: none",
    ),
    "ReplicaContext.all_gather": ({"options"}, "hints are to a transport that there is not"),
    ".group_tuple": ({"control_inputs"}, _ORDER),
}


@cache
def definitions(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    found = {}
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found[node.name, first] = node
    return found


def unused(function: Any) -> tuple[str, set[str]]:
    """The name of a function, and the parameters that it does not read."""
    return _unused(inspect.unwrap(function))


@cache
def _unused(inner: Any) -> tuple[str, set[str]]:
    """The same for an unwrapped function: classes share most of theirs."""
    name = f"{inner.__module__}.{inner.__qualname__}"
    code = inner.__code__
    if not inner.__module__.startswith("pinnace") or not Path(code.co_filename).exists():
        return name, set()
    node = definitions(code.co_filename).get((code.co_name, code.co_firstlineno))
    if node is None:
        return name, set()
    statements = [one for one in node.body if not isinstance(one, ast.Expr | ast.Pass)]
    expressions = [
        one
        for one in node.body
        if isinstance(one, ast.Expr) and not isinstance(one.value, ast.Constant)
    ]
    if not expressions and all(isinstance(one, ast.Raise) for one in statements):
        return name, set()  # for others to override, or refused
    read = {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }
    if "locals" in read:
        return name, set()  # all of them are passed on
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return name, {one.arg for one in given} - read - _NAMES


def functions_of(found: Any) -> Iterator[Any]:
    if isinstance(found, types.FunctionType):
        yield found
    elif inspect.isclass(found):
        for base in found.__mro__:
            for key, value in vars(base).items():
                inner = getattr(value, "__func__", value)
                shown = not key.startswith("_") or key in {"__init__", "__call__"}
                if shown and isinstance(inner, types.FunctionType):
                    yield inner


def named(text: str) -> Any:
    found: Any = tf
    for part in text.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.fixture(scope="module")
def silent() -> dict[str, set[str]]:
    """Public functions with unused parameters that they do not report."""
    silent: dict[str, set[str]] = {}
    for line in NAMES.read_text().splitlines():
        for function in functions_of(named(line.split()[0])):
            name, parameters = unused(function)
            if parameters:
                silent[name] = parameters
    return silent


def declared(name: str) -> set[str]:
    return {one for part, (known, _) in DECLARED.items() if part in name for one in known}


def test_no_public_function_takes_an_argument_in_silence(silent: dict[str, set[str]]) -> None:
    found = {name: sorted(given - declared(name)) for name, given in silent.items()}
    found = {name: given for name, given in found.items() if given}
    assert not found, (
        "these parameters have no effect: say so with framework.no_effect.ignored, or declare "
        f"here why there is nothing to say: {found}"
    )


def test_what_is_declared_is_there(silent: dict[str, set[str]]) -> None:
    for part, (known, _) in DECLARED.items():
        there = {one for name, given in silent.items() if part in name for one in given}
        assert known <= there, f"{part}: {sorted(known - there)} are used now, or gone"


def test_the_search_finds_what_is_hidden_by_del() -> None:
    module = importlib.import_module("pinnace.data.experimental")
    assert unused(module.prefetch_to_device)[1] == {"device"}
    assert unused(tf.map_fn)[1] == set()
