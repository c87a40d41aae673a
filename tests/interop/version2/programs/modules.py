"""tf.Module and plain functions: roots, signatures and objects that programs save."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from casebook import case, integers, numbers, texts
from tensorflow.core.protobuf import saved_model_pb2

FLOATS = tf.TensorSpec([None, 3], tf.float32, "x")


def make_root(folder: Path, name: str) -> None:
    """Make the root's child of that name the root, as TensorFlow 2.0 to 2.3 wrote functions."""
    path = folder / "saved_model.pb"
    message = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    nodes = message.meta_graphs[0].object_graph_def.nodes
    (number,) = [one.node_id for one in nodes[0].children if one.local_name == name]
    (signatures,) = [one for one in nodes[0].children if one.local_name == "signatures"]
    nodes[0].ClearField("user_object")
    kept = type(signatures)(node_id=signatures.node_id, local_name="signatures")
    nodes[0].CopyFrom(nodes[number])
    nodes[0].children.append(kept)
    path.write_bytes(message.SerializeToString())
    path.with_name("fingerprint.pb").unlink(missing_ok=True)  # it belongs to the previous graph


@case("bare function")
def function_root(folder: Path) -> Any:
    class Holder(tf.Module):
        @tf.function(input_signature=[FLOATS])
        def double(self, x: Any) -> Any:
            return {"y": x * 2.0}

    model = Holder()
    tf.saved_model.save(model, str(folder), signatures=model.double)
    make_root(folder, "double")
    return [("serving_default", {"x": numbers(2, 3)})]


@case("bare function")
def function_root_with_traces(folder: Path) -> Any:
    class Holder(tf.Module):
        @tf.function
        def grow(self, x: Any, times: int = 2) -> Any:
            return {"y": x * times + 1.0}

    model = Holder()
    model.grow(tf.zeros([2, 3]))
    tf.saved_model.save(
        model, str(folder), signatures={"three": model.grow.get_concrete_function(FLOATS, 3)}
    )
    make_root(folder, "grow")
    return [("three", {"x": numbers(2, 3)})]


@case("bare function")
def concrete_root(folder: Path) -> Any:
    model = tf.Module()

    @tf.function(input_signature=[FLOATS])
    def project(x: Any) -> Any:
        return {"y": x @ tf.constant(numbers(3, 2))}

    model.only = project.get_concrete_function()
    tf.saved_model.save(model, str(folder), signatures={"only": model.only})
    make_root(folder, "only")
    return [("only", {"x": numbers(2, 3)})]


@case("composite")
def ragged_input(folder: Path) -> Any:
    class Sum(tf.Module):
        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32, 1, tf.int64)])
        def total(self, x: Any) -> Any:
            return {"sum": tf.reduce_sum(x, 1), "rows": x * 2.0}

    model = Sum()
    tf.saved_model.save(model, str(folder), signatures=model.total)
    # TensorFlow gives the components of a ragged input separate names.
    return [("serving_default", {"x": numbers(3), "x_1": np.int64([0, 1, 1, 3])})]


@case("composite")
def ragged_words(folder: Path) -> Any:
    class Lengths(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
        def split(self, text: Any) -> Any:
            words = tf.strings.split(text)
            return {"words": words, "lengths": words.row_lengths()}

    model = Lengths()
    tf.saved_model.save(model, str(folder), signatures=model.split)
    return [("serving_default", {"text": texts("a b c", "", "d e")})]


@case("composite")
def sparse_input(folder: Path) -> Any:
    class Product(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(numbers(4, 2))

        @tf.function(input_signature=[tf.SparseTensorSpec([None, 4], tf.float32)])
        def product(self, x: Any) -> Any:
            return {"y": tf.sparse.sparse_dense_matmul(x, self.w)}

    model = Product()
    tf.saved_model.save(model, str(folder), signatures=model.product)
    parts = {"x": np.int64([[0, 1], [2, 3]]), "x_1": numbers(2), "x_2": np.int64([3, 4])}
    return [("serving_default", parts)]


@case("composite")
def sparse_output(folder: Path) -> Any:
    class Sparse(tf.Module):
        @tf.function(input_signature=[FLOATS])
        def keep(self, x: Any) -> Any:
            return {"kept": tf.sparse.from_dense(tf.nn.relu(x))}

    model = Sparse()
    tf.saved_model.save(model, str(folder), signatures=model.keep)
    return [("serving_default", {"x": numbers(2, 3)})]


@case("examples")
def parsed_examples(folder: Path) -> Any:
    columns = {
        "age": tf.io.FixedLenFeature([1], tf.float32, [0.5]),
        "words": tf.io.VarLenFeature(tf.string),
        "codes": tf.io.RaggedFeature(tf.int64),
    }

    class Parse(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable([[2.0]])

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "examples")])
        def parse(self, examples: Any) -> Any:
            found = tf.io.parse_example(examples, columns)
            lengths = tf.sparse.map_values(tf.strings.length, found["words"])
            return {
                "score": found["age"] @ self.w,
                "count": tf.sparse.reduce_sum(lengths, 1),
                "codes": found["codes"].to_tensor(),
            }

    model = Parse()
    tf.saved_model.save(model, str(folder), signatures=model.parse)
    return [("serving_default", {"examples": np.array([example(1.5), example(None)], object)})]


def example(age: float | None) -> bytes:
    feature = {
        "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"one", b"three"])),
        "codes": tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 5, 6])),
    }
    if age is not None:
        feature["age"] = tf.train.Feature(float_list=tf.train.FloatList(value=[age]))
    return bytes(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


@case("examples")
def parsed_sequences(folder: Path) -> Any:
    class Parse(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "examples")])
        def parse(self, examples: Any) -> Any:
            context, steps, _ = tf.io.parse_sequence_example(
                examples,
                {"id": tf.io.FixedLenFeature([], tf.int64, -1)},
                {"x": tf.io.FixedLenSequenceFeature([2], tf.float32)},
            )
            return {"id": context["id"], "x": steps["x"]}

    model = Parse()
    tf.saved_model.save(model, str(folder), signatures=model.parse)
    lists = [tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])) for i in range(3)]
    message = tf.train.SequenceExample(
        context=tf.train.Features(
            feature={"id": tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))}
        ),
        feature_lists=tf.train.FeatureLists(
            feature_list={"x": tf.train.FeatureList(feature=lists)}
        ),
    )
    both = np.array([message.SerializeToString(), b""], object)
    return [("serving_default", {"examples": both[:1]})]


@case("containers")
def lists_with_holes(folder: Path) -> Any:
    class Many(tf.Module):
        def __init__(self) -> None:
            self.parts = [tf.Variable([1.0]), None, 3, "text", tf.Variable([2.0])]
            self.named = {"a": tf.Variable([3.0]), "b": None, "c": 4.0}
            self.pair = (tf.Variable([4.0]), None, [tf.Variable([5.0]), None])
            self.plain = [1, 2, 3]
            self.nested = [[None, tf.Variable([6.0])], {"x": (None, tf.Variable([7.0]))}]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def total(self, x: Any) -> Any:
            parts = [self.parts[0], self.parts[4], self.named["a"], self.pair[0], self.pair[2][0]]
            parts += [self.nested[0][1], self.nested[1]["x"][1]]
            return {"y": x + sum(parts)}

    model = Many()
    tf.saved_model.save(model, str(folder), signatures=model.total)
    return [("serving_default", {"x": numbers(4)})]


@case("containers")
def shared_containers(folder: Path) -> Any:
    class Shared(tf.Module):
        def __init__(self) -> None:
            self.layers = [tf.Module(), tf.Module()]
            for index, layer in enumerate(self.layers):
                layer.w = tf.Variable(numbers(3, 3) * (index + 1))
            self.again = {"first": self.layers[0], "all": self.layers}
            self.both = (self.layers, self.again)

        @tf.function(input_signature=[FLOATS])
        def apply(self, x: Any) -> Any:
            for layer in self.layers:
                x = tf.nn.relu(x @ layer.w)
            return {"y": x}

    model = Shared()
    tf.saved_model.save(model, str(folder), signatures=model.apply)
    return [("serving_default", {"x": numbers(2, 3)})]


@case("tables")
def table_from_lists(folder: Path) -> Any:
    class Look(tf.Module):
        def __init__(self) -> None:
            pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
            self.table = tf.lookup.StaticHashTable(pairs, -1)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words")])
        def find(self, words: Any) -> Any:
            return {"ids": self.table.lookup(words)}

    model = Look()
    model.bare = model.find.get_concrete_function()
    tf.saved_model.save(model, str(folder), signatures=model.find)
    return [("serving_default", {"words": texts("b", "z", "a")})]


@case("tables")
def table_from_file(folder: Path) -> Any:
    os.chdir(folder.parent)  # the name of the file is in the model
    words = Path("words.txt")
    words.write_text("red\ngreen\nblue\n")

    class Look(tf.Module):
        def __init__(self) -> None:
            index = tf.lookup.TextFileInitializer(
                str(words),
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            )
            self.tables = {"a": tf.lookup.StaticVocabularyTable(index, 3)}
            names = tf.lookup.TextFileInitializer(
                str(words),
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
            )
            self.back = [None, tf.lookup.StaticHashTable(names, "?")]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words")])
        def find(self, words: Any) -> Any:
            ids = self.tables["a"].lookup(words)
            return {"ids": ids, "again": self.back[1].lookup(ids)}

    model = Look()
    tf.saved_model.save(model, str(folder), signatures=model.find)
    return [("serving_default", {"words": texts("blue", "z", "red")})]


@case("tables")
def table_that_grows(folder: Path) -> Any:
    class Count(tf.Module):
        def __init__(self) -> None:
            self.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
            self.table.insert(tf.constant(["a", "b"]), tf.constant([10, 20], tf.int64))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words")])
        def add(self, words: Any) -> Any:
            found = self.table.lookup(words)
            self.table.insert(words, found + 1)
            return {"before": found}

    model = Count()
    tf.saved_model.save(model, str(folder), signatures=model.add)
    return [("serving_default", {"words": texts("a", "z", "b")})] * 2


@case("tables")
def dense_table(folder: Path) -> Any:
    class Look(tf.Module):
        def __init__(self) -> None:
            self.table = tf.lookup.experimental.DenseHashTable(
                tf.int64, tf.int64, -1, empty_key=-1, deleted_key=-2, initial_num_buckets=16
            )
            self.table.insert(tf.constant([5, 21], tf.int64), tf.constant([50, 60], tf.int64))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, "keys")])
        def find(self, keys: Any) -> Any:
            return {"found": self.table.lookup(keys)}

    model = Look()
    tf.saved_model.save(model, str(folder), signatures=model.find)
    return [("serving_default", {"keys": np.int64([5, 6, 21])})]


@case("recommenders")
def brute_force(folder: Path) -> Any:
    class Index(tf.Module):
        def __init__(self) -> None:
            self.names = tf.Variable([b"red", b"green", b"blue", b"grey"])
            self.vectors = tf.Variable(numbers(4, 3))
            users = tf.lookup.KeyValueTensorInitializer(["ann", "bo"], tf.constant([1, 2]))
            self.users = tf.lookup.StaticHashTable(users, 0)
            self.embedding = tf.Variable(numbers(3, 3))
            self.query = self.best.get_concrete_function()

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "user")])
        def best(self, user: Any) -> Any:
            wanted = tf.gather(self.embedding, self.users.lookup(user))
            scores, where = tf.math.top_k(wanted @ tf.transpose(self.vectors), 2)
            return {"scores": scores, "names": tf.gather(self.names, where)}

    model = Index()
    tf.saved_model.save(model, str(folder), signatures=model.best)
    return [("serving_default", {"user": texts("bo", "nobody", "ann")})]


@case("images")
def encoded_image(folder: Path) -> Any:
    class Look(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(numbers(3, 2))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "bytes")])
        def classify(self, data: Any) -> Any:
            def decode(one: Any) -> Any:
                image = tf.io.decode_png(one, 3)
                return tf.image.resize(tf.image.convert_image_dtype(image, tf.float32), [4, 4])

            images = tf.map_fn(decode, data, fn_output_signature=tf.float32)
            return {"scores": tf.nn.softmax(tf.reduce_mean(images, [1, 2]) @ self.w)}

    model = Look()
    tf.saved_model.save(model, str(folder), signatures=model.classify)
    pictures = [tf.io.encode_png(integers(255, 5, 6, 3).astype("uint8") // n) for n in (1, 2)]
    return [("serving_default", {"bytes": np.array([one.numpy() for one in pictures], object)})]


@case("images")
def base64_image(folder: Path) -> Any:
    class Look(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.string, "text")])
        def shape(self, text: Any) -> Any:
            image = tf.io.decode_image(tf.io.decode_base64(text), 1, expand_animations=False)
            return {"mean": tf.reduce_mean(tf.cast(image, tf.float32)), "shape": tf.shape(image)}

    model = Look()
    tf.saved_model.save(model, str(folder), signatures=model.shape)
    picture = tf.io.encode_png(integers(255, 5, 6, 1).astype("uint8"))
    return [("serving_default", {"text": tf.io.encode_base64(picture).numpy()})]


@case("modules")
def several_functions(folder: Path) -> Any:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(numbers(3, 2), name="w")
            self.steps = tf.Variable(0, dtype=tf.int64, trainable=False)

        @tf.function(input_signature=[FLOATS])
        def predict(self, x: Any) -> Any:
            return {"y": x @ self.w}

        @tf.function(input_signature=[FLOATS, tf.TensorSpec([None, 2], tf.float32, "y")])
        def train(self, x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ self.w - y) ** 2)
            self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
            self.steps.assign_add(1)
            return {"loss": loss, "steps": self.steps.read_value()}

    model = Model()
    tf.saved_model.save(
        model, str(folder), signatures={"predict": model.predict, "train": model.train}
    )
    feeds = {"x": numbers(4, 3), "y": numbers(4, 2)}
    return [("train", feeds), ("train", feeds), ("predict", {"x": numbers(2, 3)})]


@case("modules")
def control_flow(folder: Path) -> Any:
    class Loop(tf.Module):
        @tf.function(
            input_signature=[
                tf.TensorSpec([None], tf.float32, "x"),
                tf.TensorSpec([], tf.int32, "n"),
            ]
        )
        def run(self, x: Any, n: Any) -> Any:
            found = tf.TensorArray(tf.float32, 0, dynamic_size=True)
            for i in tf.range(n):
                x = tf.cond(tf.reduce_sum(x) > 4.0, lambda x=x: x * 0.5, lambda x=x: x + 1.0)
                found = found.write(i, x)
            return {"all": found.stack(), "last": x}

    model = Loop()
    tf.saved_model.save(model, str(folder), signatures=model.run)
    return [("serving_default", {"x": numbers(3), "n": np.int32(n)}) for n in (1, 4)]


@case("modules")
def random_numbers(folder: Path) -> Any:
    class Draw(tf.Module):
        def __init__(self) -> None:
            self.generator = tf.random.Generator.from_seed(3)

        @tf.function(input_signature=[tf.TensorSpec([2], tf.int32, "shape")])
        def draw(self, shape: Any) -> Any:
            return {
                "normal": self.generator.normal(shape),
                "uniform": tf.random.stateless_uniform(shape, [1, 2]),
            }

    model = Draw()
    tf.saved_model.save(model, str(folder), signatures=model.draw)
    return [("serving_default", {"shape": np.int32([2, 3])})] * 2


@case("modules")
def dataset_inside(folder: Path) -> Any:
    class Inside(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, "x")])
        def total(self, x: Any) -> Any:
            rows = tf.data.Dataset.from_tensor_slices(x).map(lambda one: one * 2).batch(2)
            return {"sum": rows.reduce(np.int64(0), lambda a, one: a + tf.reduce_sum(one))}

    model = Inside()
    tf.saved_model.save(model, str(folder), signatures=model.total)
    return [("serving_default", {"x": integers(9, 5)})]


@case("modules")
def custom_gradient(folder: Path) -> Any:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return tf.tanh(x), lambda dy: tf.clip_by_value(dy, -0.1, 0.1)

    class Model(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(numbers(3, 3))

        @tf.function(input_signature=[FLOATS])
        def call(self, x: Any) -> Any:
            return {"y": clipped(x @ self.w)}

    model = Model()
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(model, str(folder), signatures=model.call, options=options)
    return [("serving_default", {"x": numbers(2, 3)})]


@case("modules")
def partitioned_names(folder: Path) -> Any:
    class Model(tf.Module):
        def __init__(self) -> None:
            with tf.name_scope("outer"):
                self._w = tf.Variable(numbers(3, 2), name="weights/part_0")
            self.v = tf.Variable([[0.5, 0.5]], name="a.b")

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "in-put")])
        def f(self, x: Any) -> Any:
            return {"out put": x @ self._w + self.v}

    model = Model()
    tf.saved_model.save(model, str(folder), signatures=model.f)
    loaded = tf.saved_model.load(str(folder))
    (key,) = loaded.signatures["serving_default"].structured_input_signature[1]
    return [("serving_default", {key: numbers(2, 3)})]
