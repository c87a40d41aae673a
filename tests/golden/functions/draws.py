"""Calls of tf.random whose numbers are functions of a seed."""

from typing import Any

import numpy as np

from golden.functions.calls import Call

SEED = np.array([7, 11])
NEAR: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-7, "reason": "logarithms of other libraries"}
ALPHA = np.array([0.3, 1.0, 1.7, 25.0])
RATE = np.array([0.0, 0.4, 3.0, 9.9, 10.0, 37.5, 4000.0])
COUNT = np.array([0.0, 3, 12, 40, 40, 1000, 60])
CHANCE = np.array([0.5, 0.2, 0.9, 0.4, 0.7, 0.001, 1.0])
CALLS = [
    *(
        Call("random.stateless_gamma", ([500, 4], SEED, ALPHA.astype(t)), {"dtype": t}, **NEAR)
        for t in ("float32", "float64")
    ),
    Call("random.stateless_gamma", ([3, 4], SEED, 2.0, ALPHA), {"dtype": "float64"}, **NEAR),
    *(
        Call("random.stateless_poisson", ([300, 7], SEED, RATE.astype(rate)), {"dtype": t})
        for rate in ("float32", "float64")
        for t in ("int32", "float32")
    ),
    *(
        Call(
            "random.stateless_binomial",
            ([300, 7], SEED, COUNT.astype(t), CHANCE.astype(t)),
            {"output_dtype": "int64"},
        )
        for t in ("float32", "float64")
    ),
]
