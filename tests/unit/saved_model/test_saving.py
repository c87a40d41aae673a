"""`save`: the objects and functions that it writes, their names, and its refusals."""

import gc
import shutil
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.autodiff.tape import GradientTape
from pinnace.checkpoint import list_variables
from pinnace.framework import structure
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.containers import DictWrapper, ListWrapper, TupleWrapper
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import FailedPreconditionError, NotFoundError
from pinnace.framework.module import Module
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.ops.array import constants
from pinnace.ops.math import exponents, reduction, trigonometry
from pinnace.proto.saved_model_pb2 import MetaGraphDef, SavedModel
from pinnace.saved_model import reading
from pinnace.storage.bundle import BundleReader
from support.changed_models import write_changed

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Scale(Module):
    """x * factor + shift, where only the factor is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = Variable([1.0, 2.0, 3.0], name="factor")
        self.shift = Variable(0.5, name="shift", trainable=False)

    @function(input_signature=[TensorSpec([None, 3], "float32", name="x")])
    def __call__(self, x: Tensor) -> Tensor:
        return x * self.factor + self.shift

    @function
    def polynomial(self, x: Tensor, power: int = 2, *, negate: bool = False) -> dict[str, Any]:
        y = exponents.pow(x, float(power))
        return {"y": -y if negate else y, "nest": [x, (reduction.reduce_sum(y), None)]}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def written(folder: Path) -> MetaGraphDef:
    (meta,) = SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs
    return meta


def saved(obj: Trackable, folder: Path, **options: Any) -> Any:
    saved_model.save(obj, folder / "model", **options)
    return saved_model.load(folder / "model")


def numbers(value: Any) -> list[Any]:
    return [
        leaf.numpy().tolist() if isinstance(leaf, Tensor) else leaf
        for leaf in structure.flatten(value)
    ]


def test_a_module_comes_back_with_its_variables_and_functions(tmp_path: Path) -> None:
    module = Scale()
    wanted = numbers(module(X))
    loaded = saved(module, tmp_path)
    assert numbers(loaded(convert_to_tensor(X))) == wanted
    assert loaded.factor.numpy().tolist() == [1.0, 2.0, 3.0]
    assert (loaded.factor.trainable, loaded.shift.trainable) == (True, False)
    assert loaded.factor.name == "factor:0"


def test_every_trace_comes_back_with_python_arguments(tmp_path: Path) -> None:
    module = Scale()
    x = convert_to_tensor(X)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x,), {}),
        ((x, 3), {}),
        ((x,), {"power": 3, "negate": True}),
        ((convert_to_tensor(X[:1]),), {}),
    ]
    wanted = [numbers(module.polynomial(*args, **kwargs)) for args, kwargs in calls]
    loaded = saved(module, tmp_path)
    for (args, kwargs), answer in zip(calls, wanted, strict=True):
        result = loaded.polynomial(*args, **kwargs)
        assert numbers(result) == answer
        assert isinstance(result["nest"][1], tuple)
    assert str(loaded.polynomial._signature) == "(x, power=2, *, negate=False)"
    with pytest.raises(ValueError, match="no saved trace fits"):
        loaded.polynomial(x, 5)


def test_a_function_with_an_input_signature_is_the_signature(tmp_path: Path) -> None:
    loaded = saved(Scale(), tmp_path)
    serve = loaded.signatures["serving_default"]
    assert serve.structured_input_signature == ((), {"x": TensorSpec([None, 3], "float32", "x")})
    assert list(serve.structured_outputs) == ["output_0"]
    assert serve.run_arrays({"x": X})["output_0"].tolist() == (X * [1, 2, 3] + 0.5).tolist()


def test_a_function_that_gives_nothing_is_no_signature(tmp_path: Path) -> None:
    """The guide of TensorFlow asserts that `mutate` changes a variable."""

    class Changing(Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = Variable(1.0)

        @function(input_signature=[TensorSpec([], name="new")])
        def mutate(self, new: Tensor) -> None:
            self.v.assign(new)

    loaded = saved(Changing(), tmp_path)
    assert len(loaded.signatures) == 0
    loaded.mutate(2.0)
    assert float(loaded.v) == 2.0


def test_signatures_are_sorted_by_name_whatever_the_order_of_arguments(tmp_path: Path) -> None:
    @function(input_signature=[TensorSpec([], name="z"), TensorSpec([], name="a")])
    def divide(z: Tensor, a: Tensor) -> dict[str, Tensor]:
        return {"quotient": z / a, "difference": z - a}

    loaded = saved(Module(), tmp_path, signatures={"divide": divide})
    found = loaded.signatures["divide"](z=6.0, a=3.0)
    assert {name: float(y) for name, y in found.items()} == {"quotient": 2.0, "difference": 3.0}
    info = written(tmp_path / "model").signature_def["divide"]
    assert sorted(info.inputs) == ["a", "z"]


def test_inputs_have_names_that_tensorflow_can_bind(tmp_path: Path) -> None:
    @function(input_signature=[TensorSpec([], name="Rows-IN"), TensorSpec([], name="2nd")])
    def add(a: Tensor, b: Tensor) -> Tensor:
        return a - b

    loaded = saved(Module(), tmp_path, signatures=add)
    serve = loaded.signatures["serving_default"]
    # TensorFlow writes both: keywords for the function, names for clients of a server.
    assert float(serve(Rows_IN=3.0, arg_2nd=1.0)["output_0"]) == 2.0
    assert float(serve(**{"Rows-IN": 3.0, "2nd": 1.0})["output_0"]) == 2.0
    meta = written(tmp_path / "model")
    assert sorted(meta.signature_def["serving_default"].inputs) == ["2nd", "Rows-IN"]
    (wrapper,) = [
        one.bare_concrete_function
        for one in meta.object_graph_def.nodes
        if one.WhichOneof("kind") == "bare_concrete_function"
        and "wrapper" in one.bare_concrete_function.concrete_function_name
    ]
    assert list(wrapper.argument_keywords) == ["Rows-IN", "2nd"]
    with pytest.raises(TypeError, match="missing 2nd; unknown third"):
        serve(Rows_IN=3.0, third=1.0)


def test_a_signature_may_be_a_concrete_function(tmp_path: Path) -> None:
    module = Scale()
    concrete = module.polynomial.get_concrete_function(TensorSpec([None, 3]), power=1)
    with pytest.raises(ValueError, match="must give a tensor, a sequence of tensors or a dict"):
        saved(module, tmp_path, signatures=concrete)
    flat = function(lambda x: (x, -x)).get_concrete_function(TensorSpec([2], name="v"))
    loaded = saved(module, tmp_path, signatures={"pair": flat})
    assert numbers(loaded.signatures["pair"](v=[1.0, 2.0])) == [[1.0, 2.0], [-1.0, -2.0]]


@pytest.mark.parametrize("wrong", [lambda x: x, function(lambda x: x), 3])
def test_what_cannot_be_a_signature_is_refused(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(
        ValueError, match=r"Expected a TensorFlow function .* for signature 'serving_default'"
    ):
        saved(Module(), tmp_path, signatures=wrong)
    assert not (tmp_path / "model").exists()


def test_only_objects_with_children_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected a Module, a model or another Trackable, got int"):
        saved_model.save(3, tmp_path / "model")  # type: ignore[arg-type]


def test_an_object_that_two_have_is_saved_once(tmp_path: Path) -> None:
    module = Module()
    module.a, module.b = Scale(), Module()  # type: ignore[attr-defined]
    module.b.other = module.a  # type: ignore[attr-defined]
    module.b.parent = module  # type: ignore[attr-defined]
    loaded = saved(module, tmp_path)
    assert loaded.b.other is loaded.a
    assert loaded.b.parent is loaded
    keys = [name for name, _ in list_variables(str(tmp_path / "model/variables/variables"))]
    assert keys == [
        "_CHECKPOINTABLE_OBJECT_GRAPH",
        "a/factor/.ATTRIBUTES/VARIABLE_VALUE",
        "a/shift/.ATTRIBUTES/VARIABLE_VALUE",
    ]


def test_containers_come_back_as_containers(tmp_path: Path) -> None:
    module = AutoTrackable()
    module.items = [Variable(1), {"a.b/c": Variable(2)}, (Variable(3), (Variable(4),))]  # type: ignore[attr-defined]
    loaded = saved(module, tmp_path)
    assert isinstance(loaded.items, ListWrapper)
    assert isinstance(loaded.items[1], DictWrapper)
    assert isinstance(loaded.items[2], TupleWrapper)
    assert int(loaded.items[1]["a.b/c"]) == 2
    assert int(loaded.items[2][1][0]) == 4


def test_captured_tensors_are_constants(tmp_path: Path) -> None:
    module = Module()
    big, text = constants.constant(X), constants.constant(["a", "b"])

    @function(input_signature=[])
    def both() -> tuple[Tensor, Tensor]:
        return big + 1.0, text

    module.both = both  # type: ignore[attr-defined]
    loaded = saved(module, tmp_path)
    assert numbers(loaded.both()) == [(X + 1).tolist(), [b"a", b"b"]]
    consts = [node for node in written(tmp_path / "model").graph_def.node if node.op == "Const"]
    assert len([node for node in consts if node.name.startswith("Const")]) == 2


def test_effects_happen_in_the_order_they_were_written(tmp_path: Path) -> None:
    module = Module()
    module.count = count = Variable(1.0)  # type: ignore[attr-defined]

    @function(input_signature=[TensorSpec([])])
    def step(x: Tensor) -> Tensor:
        before = count.read_value()
        count.assign(count * x)
        count.assign_add(1.0)
        return before

    module.step = step  # type: ignore[attr-defined]
    loaded = saved(module, tmp_path)
    assert [float(loaded.step(3.0)) for _ in range(3)] == [1.0, 4.0, 13.0]
    assert float(loaded.count) == 40.0
    assert float(count) == 1.0


def test_a_loaded_function_has_a_gradient(tmp_path: Path) -> None:
    module = Scale()
    module(X)
    loaded = saved(module, tmp_path)
    x = convert_to_tensor(X)
    with GradientTape() as tape:
        y = reduction.reduce_sum(loaded(x))
    (found,) = tape.gradient(y, [loaded.factor])
    assert found.numpy().tolist() == X.sum(axis=0).tolist()


def test_a_loaded_model_can_be_saved_again_with_its_signatures(tmp_path: Path) -> None:
    loaded = saved(Scale(), tmp_path / "first")
    loaded.factor.assign([3.0, 2.0, 1.0])
    again = saved(loaded, tmp_path / "second")
    assert list(again.signatures) == ["serving_default"]
    assert (
        again.signatures["serving_default"].run_arrays({"x": X})["output_0"].tolist()
        == (X * [3, 2, 1] + 0.5).tolist()
    )
    assert numbers(again(convert_to_tensor(X))) == numbers(loaded(convert_to_tensor(X)))


def test_two_loaded_models_can_be_saved_as_one(tmp_path: Path) -> None:
    both = Module()
    both.a = saved(Scale(), tmp_path / "a")  # type: ignore[attr-defined]
    both.b = saved(Scale(), tmp_path / "b")  # type: ignore[attr-defined]
    both.b.factor.assign([0.0, 0.0, 0.0])  # type: ignore[attr-defined]
    loaded = saved(both, tmp_path / "both")
    x = convert_to_tensor(X)
    assert numbers(loaded.a(x)) != numbers(loaded.b(x))
    assert numbers(loaded.b(x)) == [np.full((2, 3), 0.5).tolist()]


def test_a_variable_that_nobody_has_is_refused_by_name(tmp_path: Path) -> None:
    module = Module()
    lost = Variable(1.0, name="lost")
    module.f = function(lambda: lost + 1.0, input_signature=[])  # type: ignore[attr-defined]
    with pytest.raises(
        FailedPreconditionError, match="uses variable 'lost', which no saved object"
    ):
        saved(module, tmp_path)


def test_a_trace_with_arguments_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    module = Scale()
    module.polynomial(convert_to_tensor(X), 1)

    class Odd:
        def __float__(self) -> float:
            return 2.0

    module.polynomial(convert_to_tensor(X), Odd())  # type: ignore[arg-type]
    loaded = saved(module, tmp_path)
    assert len(loaded.polynomial.concrete_functions) == 1


def test_a_method_that_was_never_called_says_so(tmp_path: Path) -> None:
    loaded = saved(Scale(), tmp_path)
    with pytest.raises(ValueError, match="saved without traces, since it was never called"):
        loaded.polynomial(convert_to_tensor(X))


def test_an_override_that_is_no_function_hides_the_inherited_one(tmp_path: Path) -> None:
    class Plain(Scale):
        def polynomial(self, x: Tensor) -> Tensor:  # type: ignore[override]
            return x

    assert not hasattr(saved(Plain(), tmp_path), "polynomial")


def test_a_function_given_by_hook_is_asked_for_once(tmp_path: Path) -> None:
    class Hooked(Module):
        asked = 0

        def _functions_for_saving(self) -> dict[str, Any]:
            self.asked += 1
            f = function(lambda x: trigonometry.tanh(x))
            f.get_concrete_function(TensorSpec([]))
            return {"__call__": f, "extra": ListWrapper([Variable(7)])}

    module = Hooked()
    loaded = saved(module, tmp_path)
    assert module.asked == 1
    assert float(loaded(0.0)) == 0.0
    assert int(loaded.extra[0]) == 7


def test_the_folder_is_exchanged_as_a_whole(tmp_path: Path) -> None:
    module = Scale()
    saved(module, tmp_path)
    (tmp_path / "model" / "stray").write_text("old")
    old = saved_model.load(tmp_path / "model")
    module.factor.assign([9.0, 9.0, 9.0])
    loaded = saved(module, tmp_path)
    assert names_in(tmp_path) == ["model"]
    assert names_in(tmp_path / "model") == ["fingerprint.pb", "saved_model.pb", "variables"]
    assert loaded.factor.numpy().tolist() == [9.0, 9.0, 9.0]
    # Models that were loaded before keep their files.
    assert old.factor.numpy().tolist() == [1.0, 2.0, 3.0]


def test_a_folder_exchanged_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = Module(), Module()
    old.v, new.w = Variable([1.0, 2.0]), Variable(3.0)  # type: ignore[attr-defined]
    saved_model.save(old, tmp_path / "model")
    read, calls = reading.read_messages, []

    def read_and_exchange(folder: Path, *, whole: bool) -> SavedModel:
        message = read(folder, whole=whole)
        if not calls:
            saved_model.save(new, tmp_path / "model")
        calls.append(folder)
        return message

    monkeypatch.setattr(reading, "read_messages", read_and_exchange)
    assert float(saved_model.load(tmp_path / "model").w) == 3.0
    assert len(calls) == 2


def test_a_failed_save_leaves_the_old_model(tmp_path: Path) -> None:
    module = Scale()
    saved(module, tmp_path)
    module.broken = Variable.uninitialized(module.factor.dtype, module.factor.shape, "b", True)  # type: ignore[attr-defined]
    with pytest.raises(FailedPreconditionError, match="variable 'b' has no value yet"):
        saved(module, tmp_path)
    assert names_in(tmp_path) == ["model"]
    assert saved_model.load(tmp_path / "model").factor.numpy().tolist() == [1.0, 2.0, 3.0]


def test_variables_lie_on_boundaries_and_in_several_files_if_asked(tmp_path: Path) -> None:
    module = Module()
    module.v = [Variable(np.full(100, n, np.float32)) for n in range(4)]  # type: ignore[attr-defined]
    options = saved_model.SaveOptions(max_shard_bytes=900)
    loaded = saved(module, tmp_path, options=options)
    names = names_in(tmp_path / "model" / "variables")
    assert len([name for name in names if ".data-" in name]) == 3
    reader = BundleReader(tmp_path / "model" / "variables" / "variables")
    assert all(reader.entry(key).offset % 64 == 0 for key in reader.keys() if key[0] == "v")  # noqa: SIM118
    assert loaded.v[3].numpy()[0] == 3


def test_a_model_without_variables_has_a_checkpoint_all_the_same(tmp_path: Path) -> None:
    saved(Module(), tmp_path)
    assert (tmp_path / "model" / "variables" / "variables.index").is_file()


def test_what_is_written_says_who_wrote_it_and_what_it_needs(tmp_path: Path) -> None:
    saved(Scale(), tmp_path)
    meta = written(tmp_path / "model")
    assert list(meta.meta_info_def.tags) == ["serve"]
    assert meta.meta_info_def.tensorflow_git_version == "pinnace"
    assert meta.graph_def.versions.min_consumer == 12
    assert meta.saver_def.version == 2
    handles = [node for node in meta.graph_def.node if node.op == "VarHandleOp"]
    assert len({node.attr["shared_name"].s for node in handles}) == len(handles) == 2
    assert meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name


def test_aliases_and_tags(tmp_path: Path) -> None:
    module = Scale()
    options = saved_model.SaveOptions(
        function_aliases={"mine": module.__call__}, extra_tags=["gpu"]
    )
    saved_model.save(module, tmp_path / "model", options=options)
    loaded = saved_model.load(
        tmp_path / "model",
        tags={"serve", "gpu"},
        options=saved_model.LoadOptions(experimental_load_function_aliases=True),
    )
    assert set(loaded.function_aliases) == {"mine"}


def test_an_asset_is_copied_and_found_where_the_model_is(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb\n")
    module = Module()
    module.words = saved_model.Asset(tmp_path / "words.txt")  # type: ignore[attr-defined]
    path = module.words.asset_path  # type: ignore[attr-defined]
    module.where = function(lambda: path, input_signature=[])  # type: ignore[attr-defined]
    loaded = saved(module, tmp_path)
    (tmp_path / "words.txt").unlink()
    assert Path(loaded.words).read_text() == "a\nb\n"
    assert loaded.where().numpy().decode() == str(tmp_path / "model" / "assets" / "words.txt")
    with pytest.raises(NotFoundError, match=r"asset .*words.txt is not a file"):
        saved(module, tmp_path / "again")


def test_saving_inside_a_trace_saves_what_is_there(tmp_path: Path) -> None:
    module = Scale()

    @function
    def outer(x: Tensor) -> Tensor:
        saved_model.save(module, tmp_path / "model")
        return x

    outer(1.0)
    assert saved_model.load(tmp_path / "model").factor.shape == [3]


def test_a_loaded_model_that_nobody_has_is_gone(tmp_path: Path) -> None:
    loaded = saved(Scale(), tmp_path)
    loaded(convert_to_tensor(X))
    gone = weakref.ref(loaded.factor)
    del loaded
    gc.collect()
    assert gone() is None


def test_options_to_load_without_values(tmp_path: Path) -> None:
    saved(Scale(), tmp_path)
    options = saved_model.LoadOptions(experimental_skip_checkpoint=True)
    loaded = saved_model.load(tmp_path / "model", options=options)
    assert not loaded.factor.is_initialized()


def test_a_keras_model_comes_back_with_what_training_needs(tmp_path: Path) -> None:
    import pinnace as tf

    layers = tf.keras.layers
    penalty = tf.keras.regularizers.L2(0.1)
    model = tf.keras.Sequential(
        [layers.Dense(4, kernel_regularizer=penalty), layers.BatchNormalization(), layers.Dense(2)]
    )
    x = tf.constant(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
    wanted = model(x)
    saved_model.save(model, tmp_path / "m")
    loaded = saved_model.load(tmp_path / "m")
    # A function's tables sum in another order than eager ops.
    np.testing.assert_allclose(loaded.call(x), wanted, rtol=1e-6, atol=1e-6)
    for name in ("variables", "trainable_variables", "non_trainable_variables"):
        own = [one.numpy().tolist() for one in getattr(model, name)]
        assert [one.numpy().tolist() for one in getattr(loaded, name)] == own
    (loss,) = loaded.losses
    before = float(loss())
    assert before == pytest.approx(float(model.losses[0]), rel=1e-6)
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(loaded(x, training=True) ** 2) + loss()
    gradients = tape.gradient(value, list(loaded.trainable_variables))
    assert all(one is not None for one in gradients)
    loaded.trainable_variables[0].assign(loaded.trainable_variables[0] * 2)
    assert float(loss()) == pytest.approx(4 * before, rel=1e-6)


def test_ops_of_nobodys_standard_are_written_if_they_are_allowed(tmp_path: Path) -> None:
    golden = Path(__file__).parents[2] / "golden" / "saved_models" / "keras_mlp" / "model"
    shutil.copytree(golden, tmp_path / "m")
    path = tmp_path / "m" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for one in message.meta_graphs[0].graph_def.library.function:
        for node in one.node_def:
            if node.op == "Relu":
                node.op = "Mine>Relu"
    write_changed(path, message)
    loaded = saved_model.load(tmp_path / "m")
    for allowed in (None, ["Other", "Mine"]):
        options = saved_model.SaveOptions(namespace_whitelist=allowed)
        saved_model.save(loaded, tmp_path / "again", options=options)
    for allowed in ([], ["Min", "mine"]):
        options = saved_model.SaveOptions(namespace_whitelist=allowed)
        with pytest.raises(ValueError, match="ops Mine>Relu are in namespaces"):
            saved_model.save(loaded, tmp_path / "no", options=options)
    assert not (tmp_path / "no").exists()
