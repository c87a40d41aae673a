"""Tensors with layouts, in TensorFlow and in pinnace: values, parts and layouts, as JSON.

Run as `python dtensor_programs.py tensorflow|pinnace FOLDER`; see test_dtensors.py.
"""

# ruff: noqa: T201 (what it gives)

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
FOLDER = sys.argv[2]
CPU = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 8)
dtensor: Any = tf.experimental.dtensor
U = dtensor.UNSHARDED
DEVICES = [f"CPU:{index}" for index in range(8)]
MESH = dtensor.create_mesh([("x", 2), ("y", 2)], devices=DEVICES[:4])
LINE = dtensor.create_mesh([("x", 4)], devices=DEVICES[:4])
CUBE = dtensor.create_mesh([("a", 2), ("b", 2), ("c", 2)], devices=DEVICES)


def specs_of(text: str) -> list[str]:
    """`x.` is an axis along x, and a whole one."""
    return [U if letter == "." else letter for letter in text]


def laid(text: str, mesh: Any = MESH) -> Any:
    return dtensor.Layout(specs_of(text), mesh)


def made(text: str, shape: Any = None, dtype: str = "float32", mesh: Any = MESH) -> Any:
    """A tensor with that layout, of axes of size 4 if nothing else is said."""
    sizes = [4] * len(text) if shape is None else shape
    value = (np.arange(np.prod(sizes)).reshape(sizes) % 7 + 1).astype(dtype)
    return on(value, text, mesh)


def on(value: Any, text: str, mesh: Any = MESH) -> Any:
    whole = dtensor.copy_to_mesh(tf.constant(value), dtensor.Layout.replicated(mesh, len(text)))
    return dtensor.relayout(whole, laid(text, mesh))


def plain(x: Any) -> Any:
    """A value as JSON has it; a tensor with a layout as its specs and the parts of the devices."""
    if isinstance(x, dict):
        return {str(key): plain(item) for key, item in sorted(x.items())}
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, (tf.Tensor, tf.Variable)) and dtensor.is_dtensor(x):
        layout = dtensor.fetch_layout(x)
        parts = [part.numpy().tolist() for part in dtensor.unpack(_value(x))]
        return {"layout": layout.to_string(), "parts": parts, "dtype": tf.as_dtype(x.dtype).name}
    if isinstance(x, (dtensor.Layout, dtensor.Mesh)):
        return x.to_string()
    if hasattr(x, "numpy"):
        return ["whole", plain(x.numpy())]
    if isinstance(x, (bytes, np.bytes_)):
        return x.decode()
    return plain(x.tolist()) if hasattr(x, "tolist") else x


def _value(x: Any) -> Any:
    return x.read_value() if isinstance(x, tf.Variable) else x


def outcome(program: Callable[[], Any]) -> Any:
    try:
        return plain(program())
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"


def layouts(*tensors: Any) -> list[str]:
    """Only the specs, `x.`, of tensors in nests."""
    return [
        "".join("." if spec == U else spec for spec in dtensor.fetch_layout(one).sharding_specs)
        for one in tf.nest.flatten(tensors)
    ]


def failing(program: Callable[[], Any]) -> str:
    """The class of the error that a program raises."""
    try:
        found = program()
    except Exception as error:
        return type(error).__name__
    return f"gave {type(found).__name__}"


# Meshes and layouts.


def meshes() -> Any:
    mesh, layout = MESH, laid("x.")
    return {
        "text": [str(mesh), str(layout), mesh.to_string(), layout.to_string()],
        "again": [
            dtensor.Mesh.from_string(mesh.to_string()) == mesh,
            dtensor.Layout.from_string(layout.to_string()) == layout,
            hash(dtensor.Layout.from_string(layout.to_string())) == hash(layout),
            layout == laid(".x"),
        ],
        "sizes": [mesh.dim_names, mesh.shape(), mesh.size, mesh.strides, mesh.dim_size("y")],
        "members": ["x" in mesh, "z" in mesh, mesh.contains_dim("y"), list(mesh["x"])],
        "devices": [
            mesh.local_devices(),
            mesh.local_device_ids(),
            mesh.global_device_ids(),
            mesh.num_local_devices(),
            mesh.device_type(),
            mesh.local_device_locations(),
            mesh.unravel_index(),
            mesh.coords(1),
            mesh.host_mesh(),
            mesh.is_remote(),
            mesh.min_global_device_id(),
        ],
        "layout": [
            layout.sharding_specs,
            layout.rank,
            layout.shape,
            layout.mesh,
            layout.offset_to_shard(),
            layout.num_shards(0),
            layout.num_shards(1),
            layout.is_fully_replicated(),
            layout.is_batch_parallel(),
            layout.offset_tuple_to_global_index((1, 0)),
            layout.global_shape_from_local_shape([2, 3]),
            layout.local_shape_from_global_shape([4, 3]),
        ],
        "made": [
            layout.delete(0),
            layout.delete([1]),
            dtensor.Layout.replicated(mesh, 3),
            dtensor.Layout.replicated(mesh, 0),
            dtensor.Layout.batch_sharded(mesh, "y", 2),
            dtensor.Layout.batch_sharded(mesh, "y", 2, axis=1),
            dtensor.Layout.inner_sharded(mesh, "x", 3),
            dtensor.Layout.from_device("CPU:0"),
            dtensor.create_mesh({"p": 4, "q": 2}, mesh_name="named"),
            dtensor.create_mesh([("p", -1)]),
            dtensor.create_mesh(),
        ],
    }


def wrong_meshes() -> Any:
    ids = np.arange(4).reshape(2, 2)
    return [
        failing(program)
        for program in (
            lambda: dtensor.create_mesh([("x", 3)], devices=DEVICES[:4]),
            lambda: dtensor.create_mesh([("x", 9)]),
            lambda: dtensor.create_mesh([("x", 2)], devices=["CPU:0", "GPU:1"]),
            lambda: dtensor.create_mesh(device_type="GPU"),
            lambda: dtensor.create_distributed_mesh([("x", 8)]),
            lambda: dtensor.Mesh(["a"], ids, [0, 1, 2, 3], DEVICES[:4]),
            lambda: dtensor.Mesh(["a", "b"], ids, [0, 1], DEVICES[:4]),
            lambda: dtensor.Mesh(["a", "b"], ids, [0, 1, 2, 3], [*DEVICES[:3], "CPU:0"]),
            lambda: dtensor.Mesh.from_string("no mesh"),
            lambda: dtensor.Layout.from_string("no layout"),
            lambda: dtensor.Layout(["z"], MESH),
            lambda: dtensor.Layout(["x", "x"], MESH),
            lambda: dtensor.Layout(["x"], 3),
            lambda: MESH.dim_size("z"),
        )
    ]


def configuration() -> Any:
    return [
        dtensor.client_id(),
        dtensor.num_clients(),
        dtensor.job_name(),
        dtensor.full_job_name(),
        dtensor.jobs(),
        dtensor.heartbeat_enabled(),
        dtensor.preferred_device_type(),
        [device.to_string() for device in dtensor.local_devices("CPU")],
        dtensor.num_local_devices("CPU"),
        dtensor.num_global_devices("GPU"),
        failing(lambda: dtensor.local_devices("FPGA")),
        failing(lambda: dtensor.full_job_name(3)),
        dtensor.device_name(),
        dtensor.get_default_mesh(),
        dtensor.MATCH,
        dtensor.UNSHARDED,
    ]


# Tensors.


def texts() -> Any:
    return [
        text
        for one in (
            made("x."),
            made(".."),
            on(3.0, ""),
            on([True, False], "x"),
            on(["a", "b"], "x"),
            on(np.arange(6) / 7.0, "x"),
            on([1e-10, 123456789.0, float("nan"), float("inf")], "x"),
            on(np.arange(24).reshape(2, 3, 4), "x.."),
            on(np.arange(24.0).reshape(2, 3, 4), "x.y"),
            on(np.arange(2000).reshape(40, 50), "xy"),
        )
        for text in (str(one), repr(one))
    ]


def packed() -> Any:
    parts = [[1, 2], [1, 2], [3, 4], [3, 4]]
    pack = dtensor.pack
    return {
        "made": pack(parts, laid("x")),
        "scalars": pack([5.0] * 4, laid("")),
        "again": pack(dtensor.unpack(made("xy")), laid("xy")),
        "devices": [part.device for part in dtensor.unpack(made("xy"))],
        "wrong": [
            failing(lambda: pack(parts[:2], laid("x"))),
            failing(lambda: pack([*parts[:3], [1]], laid("x"))),
            failing(lambda: pack([*parts[:3], [1.0, 2.0]], laid("x"))),
            failing(lambda: pack(parts, laid("x."))),
            failing(lambda: pack([made("x")] * 4, laid("x"))),
            failing(lambda: dtensor.unpack(tf.ones(2))),
        ],
    }


def copies() -> Any:
    a = made("x.")
    return {
        "made": [
            dtensor.copy_to_mesh(tf.ones([4, 2]), laid("xy")),
            dtensor.copy_to_mesh([1, 2], laid("x")),
            dtensor.relayout(a, laid("y.")),
            dtensor.relayout(a, laid(".x")),
            dtensor.relayout(a, laid("..")),
            dtensor.relayout(a, dtensor.Layout([dtensor.MATCH, "y"], MESH)),
            dtensor.relayout_like(made(".."), a),
            dtensor.relayout_like(tf.ones([4, 2]), a),
            dtensor.copy_to_mesh(made(".."), dtensor.Layout.replicated(LINE, 2)),
        ],
        "numbers": [made("..").numpy(), float(on(3.0, "")), bool(on(True, "")), len(a)],
        "wrong": [
            failing(a.numpy),
            failing(lambda: np.asarray(a)),
            failing(lambda: dtensor.check_layout(a, laid(".."))),
            failing(lambda: dtensor.fetch_layout(tf.ones(2))),
            failing(lambda: dtensor.default_mesh(3).__enter__()),
        ],
        "asked": [
            dtensor.is_dtensor(a),
            dtensor.is_dtensor(tf.ones(2)),
            dtensor.is_dtensor(3),
            dtensor.fetch_layout(np.ones(2)),
            dtensor.check_layout(a, laid("x.")),
            a.device,
        ],
    }


def mixed() -> Any:
    a = made("x.")
    return [
        layouts(a * 2, 3 - a, a + 1.5, a + np.float32(2)),
        failing(lambda: a + tf.ones([4, 4])),
        failing(lambda: a + np.ones([4, 4], "f")),
        layouts(tf.reshape(a, tf.constant([16])), tf.gather(a, tf.constant([0, 1]))),
        failing(lambda: a + made("..", mesh=LINE)),
    ]


def scopes() -> Any:
    found = {}
    with dtensor.default_mesh(LINE):
        found["inside"] = [
            dtensor.get_default_mesh(),
            tf.ones([4]),
            tf.zeros([2, 2]),
            tf.constant([1, 2]),
            tf.constant([1, 2]) + 1,
            tf.range(4),
            tf.function(lambda: tf.ones(3))(),
            made("x.") + 1.0,
        ]
    with dtensor.run_on(LINE):
        found["older"] = [tf.ones([4]) + 1]
    found["after"] = [dtensor.get_default_mesh(), tf.ones([2])]
    return found


# Ops.


def products() -> Any:
    found: dict[str, Any] = {}
    pairs = "xy.. x..y .xx. yxx. .x.. ..x. x.x. .x.y x... x..x .x.x yxxy .xxy xy.y yx.y"
    for pair in pairs.split():
        for name, options in (
            ("", {}),
            ("a", {"transpose_a": True}),
            ("b", {"transpose_b": True}),
        ):
            a, b = made(pair[:2]), made(pair[2:])
            contracted = {pair[0] if name == "a" else pair[1], pair[3 if name == "b" else 2]}
            if len(contracted - {"."}) < 2:  # TensorFlow refuses the others
                found[f"{pair} {name}"] = tf.matmul(a, b, **options)
    return found


def batches_of_products() -> Any:
    found: dict[str, Any] = {}
    for pair in ("x..y..", "x..x..", "x.y..y", ".xyx..", "x.....", "..x.xy", ".x...x", "...x.."):
        a, b = made(pair[:3]), made(pair[3:])
        found[pair] = tf.matmul(a, b)
        if pair != "x..y..":
            found[f"einsum {pair}"] = tf.einsum("abc,acd->abd", a, b)
    found["others"] = [
        tf.einsum("abc,cd->abd", made("x.y"), made("y.")),
        tf.einsum("abc,cd->abd", made("x.."), made(".y")),
        tf.einsum("ab->ba", made("xy")),
        tf.tensordot(made("x.y"), made("y."), 1),
        tf.linalg.matvec(made("x."), made(".")),
    ]
    return found


def broadcasts() -> Any:
    pairs = "xy,.. x.,y. x.,.x xy,y. .y,x. x.,x. .x,x. x.,.x xy,yx xy,. xy,y .y,x ..,x x.,x .,xy"
    found: dict[str, Any] = {
        pair: made(pair.split(",")[0]) + made(pair.split(",")[1]) for pair in pairs.split()
    }
    found["of one"] = made("x.") + made(".y", [1, 4])
    found["of ones"] = made("x.", [4, 1]) * made(".y", [1, 4])
    found["where"] = tf.where(made("x.") > 1, made(".y"), made(".."))
    found["compared"] = [made("xy") == made(".."), made("x") != 2]
    return found


TEXTS = ("x.", "xy", ".y")


def elementwise() -> Any:
    return [
        [
            tf.nn.relu(made(t)),
            tf.nn.gelu(made(t)),
            tf.sqrt(made(t)),
            -made(t),
            made(t) ** 2,
            tf.clip_by_value(made(t), 0.0, 1.0),
            tf.cast(made(t), tf.int32),
            tf.zeros_like(made(t)),
            tf.ones_like(made(t)),
            tf.identity(made(t)),
            tf.nn.softmax(made(t)),
            tf.nn.log_softmax(made(t)),
            tf.add_n([made(t), made("..")]),
            tf.nn.bias_add(made(t), made(".")),
        ]
        for t in TEXTS
    ]


def reductions() -> Any:
    return [
        [
            *(
                tf.reduce_sum(made(t), axis, keepdims=kept)
                for axis in (None, 0, 1, [0, 1])
                for kept in (False, True)
            ),
            tf.reduce_mean(made(t), 0),
            tf.reduce_max(made(t), 1),
            tf.argmax(made(t), 0),
            tf.argmax(made(t), 1),
            tf.cumsum(made(t), 0),
            tf.cumsum(made(t), 1),
            tf.reduce_all(made(t) > 1),
            tf.reduce_any(made(t) > 1, 1),
            tf.nn.l2_loss(made(t)),
            list(tf.nn.moments(made(t), [0])),
        ]
        for t in TEXTS
    ]


def shapes() -> Any:
    sizes = ([4, 4], [16], [2, 2, 4], [4, 2, 2], [8, 2], [2, 8], [1, 4, 4], [4, 1, 4])
    found = [
        [
            tf.transpose(made(t)),
            *(tf.expand_dims(made(t), axis) for axis in (0, 1, 2, -1)),
            *(tf.reshape(made(t), size) for size in sizes),
            tf.broadcast_to(made(t), [3, 4, 4]),
            tf.squeeze(made(t + ".", [4, 4, 1]), -1),
            tf.concat([made(t), made("..")], 0),
            tf.concat([made(t), made("..")], 1),
            *(tf.stack([made(t), made(t)], axis) for axis in (0, 1, 2)),
            tf.unstack(made(t)),
            tf.unstack(made(t), axis=1),
            tf.one_hot(made(t, dtype="int32"), 4),
        ]
        for t in TEXTS
    ]
    return [
        *found,
        tf.stack([made("x"), made("x")], 0),
        tf.stack([made("x.y"), made("x.y")], 3),
        tf.split(made(".y"), 2),
        tf.split(made("x."), [2, 2], axis=1),
        tf.tile(made("x."), [1, 2]),
        tf.pad(made("x."), [[0, 0], [2, 2]]),
        tf.transpose(made("xy."), [2, 0, 1]),
        tf.reshape(made("xy", [4, 8]), [2, 2, 2, 4]),
        tf.reshape(made("x.", [2, 6]), [3, 4]),
    ]


def slices() -> Any:
    found: list[Any] = []
    for t in TEXTS:
        a = made(t)
        found += [a[:, 0], a[0], a[1:3], a[:2], a[:, :2], a[..., None], a[:, 0:1], a[0, 1], a[:]]
        found += [
            tf.slice(a, [0, 0], [2, 4]),
            tf.slice(a, [0, 0], [4, 2]),
            tf.gather(a, tf.constant([0, 1])),
            tf.gather(a, tf.constant([0, 1]), axis=1),
            tf.gather(a, tf.constant(1)),
        ]
    b = made("xy.")
    found += [b[0], b[:, 0], b[:, :, 0], b[0, 0], made(".xy")[0], made(".xy")[:, 0]]
    found += [
        list(made("x.")),
        tf.gather(made(".y"), on([0, 1], "x")),
        tf.gather(made("x."), on([[0, 1]], ".y"), axis=1),
        tf.gather(made("xy"), on([0, 1], "x")),
        tf.gather_nd(made("x."), tf.constant([[0], [1]])),
    ]
    return found


def losses() -> Any:
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits
    labels = [0, 1, 2, 1]
    return [
        loss(on(labels, "x"), made("x.")),
        loss(on(labels, "."), made("xy")),
        loss(on(labels, "x"), made("..")),
        tf.nn.softmax_cross_entropy_with_logits(made("x."), made("..")),
        list(tf.math.top_k(made("xy"), 2)),
        tf.nn.conv2d(made("x..."), made("....", [3, 3, 4, 4]), 1, "SAME"),
        tf.nn.max_pool2d(made("x..."), 2, 2, "SAME"),
        tf.math.unsorted_segment_sum(made("xy"), on(labels, "x"), 4),
    ]


# Functions, variables, random numbers.


def functions() -> Any:
    @tf.function
    def several(x: Any) -> Any:
        return x, x + 1, tf.matmul(x, x, transpose_a=True), tf.ones([4, 4]), tf.reduce_sum(x, 0)

    calls = {
        "several": several(made("x.")),
        "several again": several(made("..")),
        "relaid": tf.function(lambda x: dtensor.relayout(x * 2, laid(".y")) + x)(made("..")),
        "like": tf.function(lambda x: dtensor.relayout_like(tf.ones([4]), x))(made("x")),
        "with a number": tf.function(lambda x, y: x + y)(made("x."), 2.0),
        "a condition": tf.function(
            lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x)
        )(made("x.")),
        "a loop": tf.function(
            lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x * 2), [0, x])
        )(made("x.")),
        "without layouts": tf.function(lambda x: x + tf.ones([2]))(tf.ones([2])),
    }
    refused = [
        failing(lambda: tf.function(lambda x, y: x + y)(made("x."), tf.ones([4, 4]))),
        failing(lambda: tf.function(lambda x, y: x + y)(made("x."), made("..", mesh=LINE))),
        failing(lambda: tf.function(dtensor.fetch_layout)(made("x"))),
        failing(lambda: tf.function(dtensor.is_dtensor)(made("x"))),
        failing(lambda: tf.function(dtensor.unpack)(made("x"))),
        failing(lambda: tf.function(lambda x: dtensor.pack([x] * 4, laid("x")))(made("x"))),
    ]
    return [calls, refused]


def variables() -> Any:
    v = dtensor.DVariable(made("x."))
    found = [v + 1, v * made(".y"), tf.matmul(v, v)]
    v.assign(made(".y"))
    found += [v.read_value(), v.layout, v.value()]
    v.assign_add(made(".."))
    v.assign_sub(made("xy"))
    found += [v, isinstance(v, tf.Variable), v.name, v.shape.as_list(), v.trainable]
    whole = dtensor.DVariable(lambda: made(".."), name="whole", trainable=False)
    laid_out = dtensor.DVariable(tf.ones([4]), layout=laid("x"))
    found += [whole, whole.numpy(), whole.name, whole.trainable, laid_out, str(laid_out)]
    refused = [
        failing(lambda: v.assign(tf.ones([4, 4]))),
        failing(lambda: v.assign(made("..", mesh=LINE))),
        failing(v.numpy),
        failing(lambda: dtensor.DVariable(tf.ones([4]))),
        failing(lambda: dtensor.DVariable(made("x"), layout=laid("y"))),
    ]
    return [found, refused]


def gradients() -> Any:
    w, b = dtensor.DVariable(made(".y")), dtensor.DVariable(made("y"))

    @tf.function
    def inside(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.relu(tf.matmul(x, w) + b))
        return [*tape.gradient(loss, [w, b]), loss]

    @tf.function
    def loss_of(x: Any) -> Any:
        return tf.reduce_sum(tf.matmul(x, w) + b)

    x = made("x.")
    with tf.GradientTape() as tape:
        loss = loss_of(x)
    return [inside(x), tape.gradient(loss, [w, b])]


def training() -> Any:
    w1, w2 = dtensor.DVariable(made(".y")), dtensor.DVariable(made("y."))

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.reduce_sum(losses)
        for one, gradient in zip([w1, w2], tape.gradient(loss, [w1, w2]), strict=True):
            one.assign_sub(0.001 * gradient)
        right = tf.argmax(logits, axis=-1, output_type=tf.int64) == y
        return loss / len(x), tf.reduce_sum(tf.cast(right, tf.float32)) / x.shape[0]

    y = on(np.array([0, 1, 2, 3]), "x")
    found = [step(made("x."), y) for _ in range(3)]
    return [found, w1, w2]


def made_with_layouts() -> Any:
    call = dtensor.call_with_layout
    return [
        call(tf.ones, laid("xy"), shape=(6, 4)),
        call(tf.zeros, laid("x"), [10]),
        call(tf.function(tf.ones), laid("xy"), shape=(6, 4)),
        call(tf.function(lambda: tf.ones([4, 4]) * 2), laid("xy")),
        call(tf.ones, None, shape=(2,)),
        tf.zeros([4, 2], layout=laid("x.")),
        tf.ones([4, 2], layout=laid(".y")),
    ]


def random_numbers() -> Any:
    def drawn(function: Any, text: str, shape: Any, mesh: Any = MESH, **options: Any) -> Any:
        layout = laid(text, mesh)
        return dtensor.call_with_layout(tf.function(function), layout, shape, **options)

    normal, uniform = tf.random.stateless_normal, tf.random.stateless_uniform
    integers = {"seed": [1, 2], "minval": None, "maxval": None, "dtype": tf.int32}
    return [
        drawn(normal, "x", [4], seed=[1, 2]),
        drawn(normal, "..", [4, 2], seed=[1, 2]),
        drawn(normal, "xy", [4, 4], seed=[3, 4], mean=1.0, stddev=2.0),
        drawn(uniform, ".x", [4, 4], seed=[1, 2]),
        drawn(uniform, "yx", [4, 4], **integers),
        drawn(uniform, "ca", [2, 4], CUBE, **integers),
        drawn(uniform, "abc", [2, 2, 2], CUBE, **integers),
        drawn(uniform, "x", [8], seed=[5, -9], minval=0, maxval=100, dtype=tf.int32),
        uniform([4, 4], on([1, 2], ".")),
    ]


def datasets() -> Any:
    numbers = tf.data.Dataset.range(16)
    line = dtensor.create_mesh([("x", 8)], devices=DEVICES)
    layout = dtensor.Layout(["x"], line)
    whole = dtensor.DTensorDataset(
        numbers, mesh=line, layouts=layout, global_batch_size=8, batch_dim="x"
    )

    def made_of(data: Any, layouts: Any, **options: Any) -> Any:
        return dtensor.DTensorDataset(
            data, mesh=line, layouts=layouts, global_batch_size=8, batch_dim="x", **options
        )

    return [
        list(whole),
        str(whole.element_spec),
        failing(lambda: made_of(numbers, dtensor.Layout(["x", U], line))),
        failing(lambda: made_of(numbers, dtensor.Layout([U], line))),
        failing(lambda: made_of(numbers.batch(3), layout, dataset_already_batched=True)),
        failing(lambda: made_of(numbers, (layout, layout))),
    ]


def files() -> Any:
    path = f"{FOLDER}/checkpoint"
    v = dtensor.DVariable(made("x."))
    w = dtensor.DVariable(made(".y") * 3.0)
    saved = tf.train.Checkpoint(v=v, w=w).write(path)
    expected = [v.read_value(), w.read_value()]
    v.assign(made("..") * 0.0)
    other = dtensor.DVariable(made("..") * 0.0)
    tf.train.Checkpoint(v=v, w=other).read(saved).assert_consumed()
    return [expected, v, other]


PROGRAMS = {
    "meshes and layouts": meshes,
    "meshes and layouts that are refused": wrong_meshes,
    "configuration": configuration,
    "texts": texts,
    "parts": packed,
    "copies": copies,
    "tensors without layouts": mixed,
    "a mesh for a block": scopes,
    "products": products,
    "batches of products": batches_of_products,
    "broadcasts": broadcasts,
    "element by element": elementwise,
    "reductions": reductions,
    "shapes": shapes,
    "slices": slices,
    "losses": losses,
    "functions": functions,
    "variables": variables,
    "gradients": gradients,
    "training": training,
    "made with layouts": made_with_layouts,
    "random numbers": random_numbers,
    "files": files,
    # The last: where TensorFlow's iterator ends, it cancels what comes after.
    "datasets": datasets,
}

if __name__ == "__main__":
    print(json.dumps({name: outcome(program) for name, program in PROGRAMS.items()}))
