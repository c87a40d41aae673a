"""The differences between the names of TensorFlow 1 and 2: deploy/upgrade/facts.json.

Run with the Python that has tensorflow 2.21: python tools/upgrade_facts.py [--write | --check]

The facts are those of TensorFlow's own `tf_upgrade_v2`: names and their new names, keywords and
their new names, orders of arguments, and of what a person must look at the names alone. What is
said about them is ours (deploy/upgrade/advice.py).
"""

import argparse
import functools
import json
import os
import sys
from pathlib import Path
from types import ModuleType

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.tools.compatibility import (
    all_renames_v2,
    module_deprecations_v2,
    reorders_v2,
    tf_upgrade_v2,
)

FILE = Path(__file__).resolve().parent.parent / "deploy" / "upgrade" / "facts.json"
# A name of which a person must look at -> what we call the reason. All names that TensorFlow says
# the same of have that reason; a reason without a name here ends the program.
REASONS = {
    "*.save": "save_format",
    "tf.assert_equal": "assertion",
    "tf.assert_rank": "rank_assertion",
    "tf.contrib.layers.layer_norm": "layer_norm",
    "tf.contrib.saved_model.load_keras_model": "keras_saved_model",
    "tf.contrib.summary.scalar": "contrib_summary",
    "tf.contrib.summary.create_file_writer": "contrib_file_writer",
    "tf.contrib.summary.graph": "contrib_summary_graph",
    "tf.contrib.summary.import_event": "contrib_import_event",
    "tf.contrib.summary.record_summaries_every_n_global_steps": "contrib_every_n_steps",
    "tf.train.exponential_decay": "decay",
    "tf.nn.embedding_lookup": "partition_strategy",
    "tf.zeros_initializer": "initializer_dtype",
    "tf.losses.huber_loss": "losses",
    "tf.metrics.accuracy": "metrics",
    "tf.get_variable": "get_variable",
    "tf.pywrap_tensorflow": "pywrap",
    "tf.contrib.distribute.MirroredStrategy": "contrib_mirrored",
    "tf.distribute.MirroredStrategy": "mirrored",
    "tf.contrib.distribute.OneDeviceStrategy": "contrib_one_device",
    "tf.contrib.distribute.TPUStrategy": "contrib_tpu",
    "tf.contrib.distribute.CollectiveAllReduceStrategy": "contrib_collective",
    "tf.contrib.distribute.ParameterServerStrategy": "contrib_parameter_server",
    "tf.summary.scalar": "summary",
    "tf.saved_model.load": "saved_model_load",
}
MODULE_REASONS = {
    "tf.contrib": "contrib",
    "tf.contrib.cudnn_rnn": "contrib_cudnn_rnn",
    "tf.contrib.rnn": "contrib_rnn",
    "tf.contrib.seq2seq": "contrib_seq2seq",
    "tf.contrib.distribute": "contrib_distribute",
    "tf.flags": "flags",
}
# What TensorFlow's program writes for these makes a program fail when it runs, so the call is of
# version 1 unless the argument says what is always so in version 2.
CORRECTED = {
    "tf.constant": {
        "way": "version_1_if",
        "argument": "verify_shape",
        "fine": "True",
        "remove": True,
    },
}
# Functions that are handled one by one -> what we call the way; in facts.json with its settings.
WAYS = {
    "_iterator_transformer": "iterator",
    "_dropout_transformer": "dropout",
    "_cast_transformer": "cast",
    "_softmax_cross_entropy_with_logits_transformer": "stop_gradient",
    "_extract_glimpse_transformer": "glimpse",
    "_image_resize_transformer": "resize",
    "_pool_seed_transformer": "pool_seed",
    "_name_scope_transformer": "name_scope",
    "_string_split_rtype_transformer": "string_split",
    "_rename_if_arg_found_transformer": "version_1_if",
    "_add_argument_transformer": "add_argument",
    "_add_summary_recording_cond_transformer": "add_condition",
    "_add_summary_step_transformer": "add_step",
    "_contrib_layers_l1_regularizer_transformer": "l1",
    "_contrib_layers_l2_regularizer_transformer": "l2",
    "_contrib_layers_xavier_initializer_transformer": "xavier",
    "_contrib_layers_variance_scaling_initializer_transformer": "variance_scaling",
    "_add_uniform_scaling_initializer_transformer": "uniform_scaling",
}
PREDICATES = {"_is_ast_str": "text", "_is_ast_true": "True", "_is_ast_false": "False"}


def facts() -> dict[str, object]:
    """All of it, in the order of names."""
    spec = tf_upgrade_v2.TFAPIChangeSpec()
    addons = _own(all_renames_v2.addons_symbol_mappings)
    warnings = {k: v for k, v in _own(spec.function_warnings).items() if k not in addons}
    reasons = {warnings[name]: reason for name, reason in REASONS.items()}
    lost = sorted({name for name, said in warnings.items() if said not in reasons})
    if lost:
        sys.exit(f"no reason in REASONS for {lost}")
    return {
        "renames": _own(all_renames_v2.symbol_renames),
        "keywords": {
            name: found
            for name, found in _own(spec.function_keyword_renames).items()
            if name not in CORRECTED
        },
        "orders": _own({**reorders_v2.reorders, **spec.manual_function_reorders}),
        "reasons": {name: [warnings[name][0], reasons[warnings[name]]] for name in warnings},
        "argument_reasons": {
            name: [[keyword, place, said[0]] for (keyword, place), said in sorted(found.items())]
            for name, found in _own(spec.function_arg_warnings).items()
        },
        "modules": {
            name: [said[0], _module_reason(said)]
            for name, said in sorted(module_deprecations_v2.MODULE_DEPRECATIONS.items())
        },
        "addons": addons,
        "ways": {
            **{name: _way(found) for name, found in _own(spec.function_transformers).items()},
            **CORRECTED,
        },
        "version_1_spaces": _version_1_spaces(tf.compat.v1, "tf"),
    }


def _version_1_spaces(module: ModuleType, name: str) -> list[str]:
    """Namespaces of version 1 that version 2 does not have: what `from tensorflow import` loses."""
    found = []
    for member in sorted(dir(module)):
        value = getattr(module, member)
        below = f"{name}.{member}"
        if member.startswith("_") or member in {"compat", "estimator", "keras"}:
            continue  # another version's, or what other packages load when they are asked
        if isinstance(value, ModuleType) and "tensorflow._api" in str(vars(value).get("__name__")):
            if not _in_version_2(below):
                found.append(below)
            found += _version_1_spaces(value, below)
    return found


def _in_version_2(name: str) -> bool:
    value = tf
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value is not None


def _own(table: dict) -> dict:
    # `contrib_x.` and `slim.` are aliases, which we find by the program's imports.
    return {k: v for k, v in sorted(table.items()) if k.startswith(("tf.", "*."))}


def _module_reason(said: tuple[str, str]) -> str:
    for name, reason in MODULE_REASONS.items():
        if module_deprecations_v2.MODULE_DEPRECATIONS[name] == said:
            return reason
    return sys.exit(f"no reason in MODULE_REASONS for {said}")


def _way(found: object) -> dict[str, object]:
    settings = {}
    if isinstance(found, functools.partial):
        given = found.keywords
        settings = {
            "argument": given.get("arg_name"),
            "value": getattr(given.get("arg_value_ast"), "value", given.get("cond")),
            "fine": PREDICATES.get(getattr(given.get("arg_ok_predicate"), "__name__", "")),
            "remove": given.get("remove_if_ok"),
        }
        found = found.func
    return {"way": WAYS[found.__name__], **{k: v for k, v in settings.items() if v is not None}}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = json.dumps(facts(), indent=1) + "\n"
    if options.write:
        FILE.write_text(text)
    elif options.check:
        return int(FILE.read_text() != text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
