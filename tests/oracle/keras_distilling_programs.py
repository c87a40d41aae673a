"""Distillation, policies by paths, named values: see `both`.

python keras_distilling_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import os
import sys
import warnings
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
distillation = keras.distillation


def numbers(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype("float32")


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return np.asarray(x).tolist()


def network(width: int, prefix: str, seed: int) -> Any:
    inputs = keras.Input((4,))
    x = layers.Dense(width, activation="tanh", name=f"{prefix}_a")(inputs)
    x = layers.Dense(5, activation="tanh", name=f"{prefix}_b")(x)
    model = keras.Model(inputs, layers.Dense(3, name=f"{prefix}_c")(x), name=prefix)
    for place, variable in enumerate(model.variables):
        variable.assign(numbers(*variable.shape, seed=seed + place))
    return model


def in_sequence(width: int, prefix: str, seed: int) -> Any:
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(width, name=f"{prefix}_a"), layers.Dense(3)], name=prefix
    )
    for place, variable in enumerate(model.variables):
        variable.assign(numbers(*variable.shape, seed=seed + place))
    return model


def losses() -> Any:
    logits, features = distillation.LogitsDistillation, distillation.FeatureDistillation
    x, y = numbers(6, 3), numbers(6, 3, seed=1)
    both = [x, numbers(6, 2)], [y, numbers(6, 2, seed=3)]
    return [
        logits(loss="mae").compute_loss(x, y),
        logits(2.0, keras.losses.KLDivergence()).compute_loss(x, y),
        logits(4.0, "mse").compute_loss(x, y),
        logits(4.0, ["mse", None]).compute_loss(*both),
        logits(1.5, {"a": "mae"}).compute_loss({"a": x}, {"a": y}),
        features().compute_loss(x, y),
        features("cosine_similarity").compute_loss(x, y),
        features([keras.losses.MeanAbsoluteError(), "mse"]).compute_loss(*both),
        features(teacher_layer_name="one").get_config()["teacher_layer_name"],
        logits(2.0).get_config()["temperature"],
    ]


def again() -> Any:
    x, y = numbers(6, 3), numbers(6, 3, seed=1)
    found = []
    for loss in (
        distillation.LogitsDistillation(2.0, "mse"),
        distillation.FeatureDistillation(keras.losses.MeanAbsoluteError(), "a", "b"),
    ):
        told = keras.utils.serialize_keras_object(loss)
        copied = keras.utils.deserialize_keras_object(told)
        found += [told["module"], told["class_name"], copied.compute_loss(x, y)]
    return found


def trained(distilled: Any, make: Any = network, **options: Any) -> Any:
    teacher, student = make(7, "teacher", 0), make(6, "student", 20)
    model = distillation.Distiller(teacher, student, distilled, **options)
    model.compile(
        keras.optimizers.SGD(0.0625),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    x, y = numbers(16, 4, seed=5), np.arange(16) % 3
    before = teacher.get_weights()
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    same = all(np.array_equal(a, b) for a, b in zip(before, teacher.get_weights(), strict=True))
    return [
        history,
        model.evaluate(x, y, verbose=0, return_dict=True),
        model.predict(x[:3], verbose=0),
        same,
        student.get_weights(),
        [len(model.trainable_variables), teacher.trainable],
        sorted(metric.name for metric in model.metrics),
    ]


def by_features() -> Any:
    feature = distillation.FeatureDistillation
    return trained(
        [distillation.LogitsDistillation(2.0, "mse"), feature("mse", "teacher_b", "student_b")],
        distillation_loss_weights=[1.0, 0.25],
        student_loss_weight=0.75,
    )


def config() -> Any:
    model = distillation.Distiller(
        network(7, "teacher", 0),
        network(6, "student", 20),
        [distillation.LogitsDistillation(2.0, "mse")],
        student_loss_weight=0.25,
    )
    told = keras.utils.serialize_keras_object(model)
    copied = keras.utils.deserialize_keras_object(told)
    copied.student.set_weights(model.student.get_weights())
    x = numbers(3, 4)
    names = ("distillation_loss_weights", "student_loss_weight", "name", "trainable")
    return [
        told["module"],
        told["registered_name"],
        {name: told["config"][name] for name in names},
        copied(x),
        copied.distillation_losses[0].temperature,
    ]


def saved() -> Any:
    teacher, student = network(7, "teacher", 0), network(6, "student", 20)
    model = distillation.Distiller(teacher, student, distillation.LogitsDistillation(2.0, "mse"))
    model.compile("sgd", "mse")
    x = numbers(5, 4)
    model.fit(x, numbers(5, 3), verbose=0)
    model.save("distiller.keras")
    loaded = keras.models.load_model("distiller.keras")
    kept = [
        np.array_equal(a, b) for a, b in zip(model.get_weights(), loaded.get_weights(), strict=True)
    ]
    return [np.allclose(model(x), loaded(x)), all(kept), len(kept) > 8]


def errors_of_distillation() -> Any:
    one, two = network(7, "teacher", 0), network(6, "student", 20)
    logits, features = distillation.LogitsDistillation, distillation.FeatureDistillation
    distiller = distillation.Distiller
    other = keras.Sequential([keras.Input((4,)), layers.Dense(2)])

    class Own(keras.Model):
        def call(self, x: Any) -> Any:
            return x

    wrong: Any = [
        lambda: logits(0.0),
        lambda: logits("hot"),
        lambda: logits(loss=None),
        lambda: features(loss=[None, None]),
        lambda: features("unknown"),
        lambda: distiller(one, "student", logits()),
        lambda: distiller(one, other, logits()),
        lambda: distiller(one, two, None),
        lambda: distiller(one, two, [logits()], [1.0, 2.0]),
        lambda: distiller(one, two, logits(), student_loss_weight=2.0),
        lambda: distiller(one, two, logits(), student_loss_weight="half"),
        lambda: distiller(one, two, features("mse", "nowhere", "student_b")),
        lambda: distiller(one, Own(), features("mse", "teacher_b", "student_b")),
        lambda: distiller(one, two, logits()).compile("sgd"),
        lambda: distiller(one, two, logits()).compile("sgd", "mse", metrics="mae"),
        lambda: distillation.DistillationLoss().compute_loss(1, 2),
        lambda: logits().validate_outputs(numbers(2), [numbers(2)]),
    ]
    return [kind_of_error(one) for one in wrong]


def kind_of_error(program: Any) -> str:
    try:
        program()
    except Exception as error:
        return type(error).__name__
    return "none"


def policies() -> Any:
    policy = keras.dtype_policies.DTypePolicy
    found = keras.dtype_policies.DTypePolicyMap(policy("float32"))
    found["encoder/layer_0/dense"] = "bfloat16"
    found["encoder/.*"] = policy("float16")
    found["decoder"] = policy("mixed_bfloat16")
    paths = ("encoder/layer_0/dense", "encoder/query", "decoder", "decoder/query", "other")
    again = keras.dtype_policies.deserialize(keras.dtype_policies.serialize(found))
    told = keras.dtype_policies.serialize(found)
    del found["decoder"]
    return [
        [found[path].name for path in paths],
        [again[path].name for path in paths],
        [found.name, found.compute_dtype, found.variable_dtype, found.quantization_mode],
        [len(found), list(found), "encoder/.*" in found, "encoder/query" in found],
        [told["module"], told["class_name"], sorted(told["config"]["policy_map"])],
        [
            kind_of_error(lambda: found.__setitem__("encoder/.*", "float32")),
            kind_of_error(lambda: found.__setitem__("other", "no dtype")),
            kind_of_error(lambda: found.__delitem__("decoder")),
            kind_of_error(lambda: keras.dtype_policies.DTypePolicyMap(found)),
            kind_of_error(lambda: keras.dtype_policies.DTypePolicyMap(policy_map=[1])),
        ],
    ]


def policies_of_layers() -> Any:
    class Pair(keras.layers.Layer):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.first = layers.Dense(2, dtype=self.dtype_policy, name="first")
            self.second = layers.Dense(2, dtype=self.dtype_policy, name="second")

        def call(self, x: Any) -> Any:
            return self.second(self.first(x))

    policy = keras.dtype_policies.DTypePolicyMap()
    policy["pair/first"] = keras.dtype_policies.DTypePolicy("mixed_bfloat16")
    pair = Pair(dtype=policy, name="pair")
    found = pair(numbers(3, 4))
    dense = layers.Dense(2, dtype=policy)
    dense.build((None, 3))
    kind = keras.dtype_policies.DTypePolicyMap
    return [
        [[x.compute_dtype, x.variable_dtype] for x in (pair, pair.first, pair.second, dense)],
        str(getattr(found.dtype, "name", found.dtype)),
        isinstance(pair.first.dtype_policy, kind),
        isinstance(layers.Dense.from_config(dense.get_config()).dtype_policy, kind),
    ]


def named_values() -> Any:
    config = keras.utils.Config(rate=0.5, momentum=0.25)
    config.seed = 3
    config["steps"] = [1, 2]
    config.update({"kind": "a"}, other=None)
    popped = config.pop("other"), config.pop("none", 7)
    del config["kind"]
    shown = [repr(config), config.to_json(), list(config), len(config), config.as_dict()]
    shown += [config.rate, config["seed"], config.get("none", 4), "seed" in config, config.frozen]
    shown += [list(config.keys()), list(config.values()), list(config.items())]
    config.freeze()
    failed = [
        kind_of_error(lambda: setattr(config, "rate", 1)),
        kind_of_error(lambda: config.pop("rate")),
        kind_of_error(lambda: config.update(a=1)),
        kind_of_error(lambda: config.__setitem__("a", 1)),
        kind_of_error(lambda: config.__delitem__("rate")),
        kind_of_error(lambda: config.none),
        kind_of_error(lambda: config["none"]),
    ]
    try:
        failed.append(config.ratee)
    except AttributeError as error:
        failed.append(str(error))
    frozen = config.frozen
    config.unfreeze()
    config.rate = 1.0
    return [shown, popped, failed, frozen, config.rate]


PROGRAMS = {
    "losses": losses,
    "again": again,
    "trained": lambda: trained(distillation.LogitsDistillation(2.0, "mse")),
    "trained_alone": lambda: trained(
        distillation.LogitsDistillation(2.0, keras.losses.KLDivergence()), student_loss_weight=0.0
    ),
    "trained_without": lambda: trained(
        [distillation.LogitsDistillation(2.0, "mse")], student_loss_weight=1.0
    ),
    "trained_by_features": by_features,
    "trained_in_sequence": lambda: trained(
        [distillation.FeatureDistillation("mae")], in_sequence, student_loss_weight=0.25
    ),
    "config": config,
    "saved": saved,
    "errors_of_distillation": errors_of_distillation,
    "policies": policies,
    "policies_of_layers": policies_of_layers,
    "named_values": named_values,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.chdir(sys.argv[2])
    done: dict[str, Any] = {}
    for name, program in PROGRAMS.items():
        try:
            done[name] = plain(program())
        except Exception as error:
            done[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write("\n" + json.dumps(done))
