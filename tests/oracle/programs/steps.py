"""Two steps of every optimizer op, on whole variables and on rows."""

from typing import Any

AMSGRAD = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")
# Optimizer -> its slots (in capitals if they must be positive) and its hyperparameters.
DENSE: dict[str, tuple[list[str], dict[str, float], list[str]]] = {
    "Momentum": (["accum"], {"lr": 0.5, "momentum": 0.75}, ["use_nesterov"]),
    "Adagrad": (["ACCUM"], {"lr": 0.5}, ["update_slots"]),
    "AdagradV2": (["ACCUM"], {"lr": 0.5, "epsilon": 0.125}, ["update_slots"]),
    "Adadelta": (["ACCUM", "ACCUM_UPDATE"], {"lr": 0.5, "rho": 0.75, "epsilon": 0.125}, []),
    "RMSProp": (
        ["MS", "mom"],
        {"lr": 0.5, "rho": 0.75, "momentum": 0.25, "epsilon": 0.125},
        [],
    ),
    "CenteredRMSProp": (
        ["mg", "MS", "mom"],
        {"lr": 0.5, "rho": 0.75, "momentum": 0.25, "epsilon": 0.125},
        [],
    ),
    "AdaMax": (
        ["m", "V"],
        {"beta1_power": 0.5, "lr": 0.25, "beta1": 0.5, "beta2": 0.75, "epsilon": 0.125},
        [],
    ),
    "AdamWithAmsgrad": (
        ["m", "V", "VHAT"],
        dict(zip(AMSGRAD, (0.5, 0.75, 0.25, 0.5, 0.75, 0.125), strict=True)),
        [],
    ),
    "AddSign": (["m"], {"lr": 0.5, "alpha": 1.0, "sign_decay": 0.5, "beta": 0.75}, []),
    "PowerSign": (["m"], {"lr": 0.5, "logbase": 1.0, "sign_decay": 0.5, "beta": 0.75}, []),
    "ProximalGradientDescent": ([], {"alpha": 0.5, "l1": 0.25, "l2": 0.125}, []),
    "ProximalAdagrad": (["ACCUM"], {"lr": 0.5, "l1": 0.25, "l2": 0.125}, []),
    "AdagradDA": (
        ["gradient_accumulator", "GRADIENT_SQUARED_ACCUMULATOR"],
        {"lr": 0.5, "l1": 0.25, "l2": 0.125},
        [],
    ),
    "Ftrl": (
        ["ACCUM", "linear"],
        {"lr": 0.5, "l1": 0.25, "l2": 0.125, "lr_power": -0.5},
        ["multiply_linear_by_lr"],
    ),
    "FtrlV2": (
        ["ACCUM", "linear"],
        {"lr": 0.5, "l1": 0.25, "l2": 0.125, "l2_shrinkage": 0.5, "lr_power": -0.75},
        ["multiply_linear_by_lr"],
    ),
}
KERAS = {"KerasMomentum": (["accum"], {"lr": 0.5, "momentum": 0.75}, ["use_nesterov"])}
SPARSE = {
    name: told
    for name, told in {**DENSE, **KERAS}.items()
    if name not in {"AdaMax", "AdamWithAmsgrad", "AddSign", "PowerSign"}
}


def _stepped(tf: Any, ops: Any, x: Any, told: Any, flag: bool, **given: Any) -> list[Any]:
    """A variable and its slots after two steps."""
    slots, numbers, flags = told
    held = [tf.Variable(x)]
    held += [tf.Variable(tf.abs(x) + 1 if s.isupper() else x / 4) for s in slots]
    names = ["var", *(slot.lower() for slot in slots)]
    arguments = {key: tf.constant(value, x.dtype) for key, value in numbers.items()}
    for step in (1, 2):
        if "gradient_accumulator" in names:
            arguments["global_step"] = tf.constant(step, tf.int64)
        ops(
            **{name: variable.handle for name, variable in zip(names, held, strict=True)},
            **arguments,
            **dict.fromkeys(flags, flag),
            **given,
        )
    return [variable.read_value() for variable in held]


def dense(tf: Any, ops: Any, x: Any, y: Any) -> list[Any]:
    found = []
    for name, told in DENSE.items():
        gradient = "delta" if name == "ProximalGradientDescent" else "grad"
        for flag in (False, True) if told[2] else (False,):
            op = getattr(ops, f"ResourceApply{name}")
            found += _stepped(tf, op, x, told, flag, **{gradient: y})
    return found


def sparse(tf: Any, ops: Any, x: Any, y: Any, rows: Any) -> list[Any]:
    """Sparse steps, in which the first row occurs twice."""
    places, found = tf.concat([rows, rows[:1]], 0), []
    given = {"grad": tf.gather(y, places), "indices": places}
    for name, told in SPARSE.items():
        for flag in (False, True) if told[2] else (False,):
            found += _stepped(
                tf, getattr(ops, f"ResourceSparseApply{name}"), x, told, flag, **given
            )
    return found
