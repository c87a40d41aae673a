"""How strategies treat values and variables, as JSON: the same program for both libraries."""

import importlib
import json
import sys

tf = importlib.import_module(sys.argv[1])
count = int(sys.argv[2])
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
)
distribute = tf.distribute
strategy = distribute.MirroredStrategy([f"/CPU:{i}" for i in range(count)])
found = {}


def plain(value):
    """Tensors, variables and PerReplica values as lists of numbers, structures kept."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, distribute.DistributedValues):
        return {"replicas": [plain(one) for one in strategy.experimental_local_results(value)]}
    if hasattr(value, "numpy"):
        return value.numpy().tolist()
    return value


def case(name):
    def decorate(function):
        try:
            found[name] = plain(function())
        except Exception as error:
            found[name] = f"raises {type(error).__name__}"
        return function

    return decorate


def number():
    return tf.cast(distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def rows():
    i = distribute.get_replica_context().replica_id_in_sync_group
    return tf.ones([i + 1, 2]) * tf.cast(i + 1, tf.float32)


uneven = strategy.run(rows)
vectors = strategy.run(lambda: tf.stack([number(), number() * 2]))
whole = strategy.run(lambda: tf.range(3) + tf.cast(number(), tf.int32))
case("run")(lambda: strategy.run(number))
case("nested")(lambda: strategy.run(lambda: {"a": [number()], "b": (1, None)}))
case("arguments")(
    lambda: strategy.run(lambda x, y: x["v"] + y, args=({"v": vectors},), kwargs={"y": 1.0})
)
for op in ("SUM", "MEAN"):
    case(f"reduce {op}")(lambda op=op: strategy.reduce(op, vectors, axis=None))
    case(f"reduce {op} over rows")(lambda op=op: strategy.reduce(op, uneven, axis=0))
    case(f"reduce {op} over all")(lambda op=op: strategy.reduce(op, uneven, axis=(0, 1)))
    case(f"reduce {op} of integers")(lambda op=op: strategy.reduce(op, whole, axis=None))
    case(f"reduce {op} of integers over rows")(lambda op=op: strategy.reduce(op, whole, axis=0))
    case(f"reduce {op} of one value")(lambda op=op: strategy.reduce(op, tf.constant(2.0), None))
    case(f"reduce {op} of one value over rows")(
        lambda op=op: strategy.reduce(op, tf.constant([2.0, 4.0]), axis=0)
    )
    case(f"reduce {op} in a structure")(lambda op=op: strategy.reduce(op, {"a": vectors}, None))
case("reduce of unequal shapes")(lambda: strategy.reduce("SUM", uneven, axis=None))
case("gather")(lambda: strategy.gather(uneven, axis=0))
case("gather of scalars")(lambda: strategy.gather(strategy.run(number), axis=0))
case("values from a function")(
    lambda: strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant(10.0 * c.num_replicas_in_sync + c.replica_id_in_sync_group)
    )
)
case("a value outside")(lambda: tf.add(vectors, 1.0))


def context():
    return distribute.get_replica_context()


def reduced_gradient(op):
    def step():
        x = tf.constant(2.0) + number()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = context().all_reduce(op, x * x) * (number() + 1)
        return y, tape.gradient(y, x)

    return step


def gathered_gradient():
    x = rows()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = context().all_gather(x, 0)
        z = tf.reduce_sum(y * y * (number() + 1.0))
    return y, tape.gradient(z, x)


for op in ("SUM", "MEAN"):
    case(f"all_reduce {op}")(lambda op=op: strategy.run(reduced_gradient(op)))
    case(f"all_reduce {op} traced")(
        lambda op=op: tf.function(lambda: strategy.run(reduced_gradient(op)))()
    )
case("all_gather")(lambda: strategy.run(gathered_gradient))
case("all_reduce in a structure")(
    lambda: strategy.run(lambda: context().all_reduce("SUM", {"a": number(), "b": [rows()[:1]]}))
)


@case("all_reduce of slices")
def _():
    def step():
        i = tf.reshape(context().replica_id_in_sync_group, [1])
        slices = tf.IndexedSlices(tf.ones([1, 2]) * (number() + 1), i, tf.constant([4, 2]))
        return tf.convert_to_tensor(context().all_reduce("SUM", slices))

    return strategy.run(step)


@case("merge_call")
def _():
    def merge(strategy, x, y):
        return strategy.reduce("SUM", x, axis=None) + y

    return strategy.run(lambda: context().merge_call(merge, args=(number(), 5.0)))


Aggregation, Synchronization = tf.VariableAggregation, tf.VariableSynchronization
for synchronization in ("ON_WRITE", "ON_READ"):
    for aggregation in ("SUM", "MEAN", "ONLY_FIRST_REPLICA", "NONE"):
        for method in ("assign", "assign_add", "assign_sub"):
            for traced in (False, True):
                with strategy.scope():
                    v = tf.Variable(
                        1.5,
                        trainable=False,
                        synchronization=getattr(Synchronization, synchronization),
                        aggregation=getattr(Aggregation, aggregation),
                    )
                name = f"{synchronization} {aggregation} {method}{' traced' if traced else ''}"

                def step(v=v, method=method):
                    getattr(v, method)(number() + 2.0)
                    return v + 0.0

                def steps(step=step):
                    return strategy.run(step)

                case(name)(tf.function(steps) if traced else steps)
                case(f"{name}: read")(lambda v=v: [v.read_value(), v + 0.0, list(v.values)])

                def outside(v=v, method=method):
                    getattr(v, method)(3.0)
                    return [v.read_value(), list(v.values)]

                case(f"{name}: outside")(outside)

                def inside(v=v, method=method):
                    with strategy.scope():
                        getattr(v, method)(4.0)
                    return [v.read_value(), list(v.values)]

                case(f"{name}: in the scope")(inside)

for aggregation in ("SUM", "ONLY_FIRST_REPLICA", "NONE"):
    for method in ("scatter_add", "scatter_update", "scatter_max"):
        with strategy.scope():
            v = tf.Variable(tf.zeros([3]), aggregation=getattr(Aggregation, aggregation))

        def step(v=v, method=method):
            values = tf.reshape(number() + 1.0, [1])
            getattr(v, method)(tf.IndexedSlices(values, tf.constant([1])))

        case(f"{method} {aggregation}")(lambda step=step: strategy.run(step))
        case(f"{method} {aggregation}: copies")(lambda v=v: list(v.values))


@case("a variable that replicas make")
def _():
    made = []

    def step():
        made.append(tf.Variable(number() + 5.0))
        return made[-1] + 0.0

    return strategy.run(step), len({id(v) for v in made}), list(made[0].values)


@case("update")
def _():
    with strategy.scope():
        v = tf.Variable(1.0)

    def merge(strategy, gradient):
        total = strategy.extended.reduce_to("SUM", gradient, v)
        strategy.extended.update(v, lambda copy, g: copy.assign_sub(g), args=(total,))

    def step():
        context().merge_call(merge, args=(number() + 1.0,))
        return v + 0.0

    return strategy.run(step)


@case("generators")
def _():
    with strategy.scope():
        generator = tf.random.Generator.from_seed(7)
    draws = [strategy.run(lambda: generator.normal([2])) for _ in range(2)]
    return draws, generator.state.read_value()


@case("the same of a loop")
def _():
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=Aggregation.SUM)

    @tf.function
    def train(x):
        for _ in tf.range(3):
            strategy.run(lambda y: (v.assign_add(y), None)[1], args=(x,))
        return v.read_value()

    return train(strategy.run(number))


@case("gradients in float64")
def _():
    x = tf.reshape(tf.range(8 * 3, dtype=tf.float64), [8, 3]) / 7.0
    with strategy.scope():
        w = tf.Variable(tf.ones([3, 2], tf.float64) / 3.0)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(x @ w)) / 8.0
        return context().all_reduce("SUM", tape.gradient(loss, w))

    dataset = tf.data.Dataset.from_tensor_slices(x).batch(8)
    batch = next(iter(strategy.experimental_distribute_dataset(dataset)))
    return strategy.run(step, args=(batch,))


one = distribute.OneDeviceStrategy("/CPU:0")
case("one device")(lambda: [one.run(number), one.reduce("SUM", tf.constant(1.0), None)])
central = distribute.experimental.CentralStorageStrategy(
    [f"/CPU:{i}" for i in range(count)], "/CPU:0"
)


@case("central storage")
def _():
    with central.scope():
        v = tf.Variable(1.0, aggregation=Aggregation.MEAN)
    central.run(lambda: (v.assign_add(number()), None)[1])
    return v.read_value(), central.num_replicas_in_sync


print(json.dumps(found))
