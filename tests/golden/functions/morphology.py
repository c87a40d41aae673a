"""Calls of tf.nn.dilation2d and tf.nn.erosion2d."""

from golden.functions.calls import Call, waves

CALLS = [
    Call(
        f"nn.{name}",
        (waves(2, 7, 6, 3), waves(height, 2, 3, phase=1.0)),
        {
            "strides": [1, down, across, 1],
            "padding": padding,
            "data_format": "NHWC",
            "dilations": [1, *rates, 1],
        },
        (0, 1),
    )
    for name in ("dilation2d", "erosion2d")
    for height, down, across, rates in ((3, 1, 1, (1, 1)), (2, 2, 1, (2, 1)), (3, 3, 2, (1, 3)))
    for padding in ("SAME", "VALID")
]
