"""Estimator: training, evaluation, prediction and export of a model function."""

from __future__ import annotations

import contextlib
import copy
import logging
import math
import os
import random
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.checkpoint import latest_checkpoint, list_variables, load_variable
from pinnace.estimator.building import BuiltModel, check_model_fn
from pinnace.estimator.exporting import export
from pinnace.estimator.hooks import NanLossDuringTrainingError, SessionRunHook
from pinnace.estimator.inputs import Batches, batches_of
from pinnace.estimator.looping import stepped
from pinnace.estimator.progress import Counting, Progress
from pinnace.estimator.run_config import RunConfig
from pinnace.estimator.saving import Saving
from pinnace.estimator.specs import EstimatorSpec, ModeKeys
from pinnace.framework import structure
from pinnace.ops.random.seeds import set_seed
from pinnace.summary.values import scalar
from pinnace.summary.writer import create_file_writer, create_noop_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.estimator.hooks import CheckpointSaverListener
    from pinnace.summary.writer import SummaryWriter

_log = logging.getLogger("pinnace")


class Estimator:
    """A model function with a folder from which training resumes.

    The model function is called anew by each method, for its mode, and traced: its effects run in
    each step, in program order. So updates of moving averages need no `control_dependencies`.

    Args:
        model_fn: (features, labels, mode, params, config) → EstimatorSpec; it takes features, and
            any of the others by name.
        model_dir: folder of checkpoints and summaries; that of the config, or a temporary one.
        config: a RunConfig.
        params: the `params` of the model function.
        warm_start_from: a checkpoint, or a folder of them, whose values variables of the same name
            begin with when there is nothing to resume.

    Raises:
        TypeError: the model function is no function.
        ValueError: the model function lacks an argument, or two folders are given.

    Source:
        TensorFlow 2.15 `tf.estimator.Estimator`. There are no sessions and no graphs that others
        could write into; `train_op` may be anything.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike[str] | None = None,
        config: RunConfig | None = None,
        params: dict[str, Any] | None = None,
        warm_start_from: str | os.PathLike[str] | None = None,
    ) -> None:
        check_model_fn(model_fn, params is not None)
        config = config or RunConfig()
        if not isinstance(config, RunConfig):
            raise TypeError(f"Estimator: config must be a RunConfig, got {type(config).__name__}")
        given = None if model_dir is None else os.fspath(model_dir)
        if given is not None and config.model_dir not in {None, given}:
            raise ValueError(
                f"Estimator: model_dir is {given!r} here and {config.model_dir!r} in the config"
            )
        folder = given or config.model_dir
        if folder is None:
            folder = tempfile.mkdtemp(prefix="estimator-")
            _log.warning("Estimator: no model_dir was given, using %s", folder)
        self._config = config.replace(model_dir=folder)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params) if params else {}
        self._warm_start = warm_start_from

    @property
    def model_dir(self) -> str:
        """The folder."""
        return self._config.model_dir or ""

    @property
    def config(self) -> RunConfig:
        """The configuration of runs, with `model_dir` filled in."""
        return self._config

    @property
    def params(self) -> dict[str, Any]:
        """A copy of the params of the model function."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function as (features, labels, mode, config) → EstimatorSpec."""

        def call(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            from pinnace.estimator.building import _called

            known = {"mode": mode, "params": self.params, "config": config}
            return _called(self._model_fn, features, labels, known)

        return call

    def _known(self, mode: str) -> dict[str, Any]:
        """Values for optional arguments of the model function and of input functions, by name."""
        return {"mode": mode, "params": self.params, "config": self._config}

    def _build(self, mode: str, batches: Batches) -> BuiltModel:
        return self._built(batches.features, batches.labels, self._known(mode))

    def _built(
        self, features: Any, labels: Any, known: dict[str, Any], exported: bool = False
    ) -> BuiltModel:
        with _seeded(self._config.tf_random_seed):
            return BuiltModel(self._model_fn, features, labels, known, exported)

    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint; None if there is none."""
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """The names in the newest checkpoint.

        Raises:
            ValueError: there is no checkpoint.
        """
        return [name for name, _ in list_variables(self._trained("get_variable_names"))]

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint.

        Raises:
            ValueError: there is no checkpoint.
            NotFoundError: no such variable.
        """
        return load_variable(self._trained("get_variable_value"), name)

    def _trained(self, method: str) -> str:
        path = self.latest_checkpoint()
        if path is None:
            raise ValueError(
                f"Estimator.{method}: there is no checkpoint in {self.model_dir}\n"
                "  Try: train first"
            )
        return path

    # Training.

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Train until the batches end, or for a number of steps; gives itself.

        Args:
            input_fn: takes any of mode, params, config by name; gives a Dataset of
                (features, labels), or one such batch, which then comes again and again.
            hooks: told of each step.
            steps: how many steps from here.
            max_steps: the global step to stop at.
            saving_listeners: told of each checkpoint.

        Raises:
            ValueError: both `steps` and `max_steps`; a number below 1; neither with one batch.
            NanLossDuringTrainingError: the loss is not a number.
        """
        who = "Estimator.train"
        _check_steps(who, steps=steps, max_steps=max_steps)
        if steps is not None and max_steps is not None:
            raise ValueError(f"{who}: only one of steps and max_steps may be given")
        if max_steps is not None and self._step_on_disk() >= max_steps:
            _log.info("%s: step %d is reached already", who, max_steps)
            return self
        told = _checked_hooks(who, hooks)
        batches = batches_of(input_fn, self._known(ModeKeys.TRAIN), who)
        _check_end(who, batches, steps or max_steps)
        model = self._build(ModeKeys.TRAIN, batches)
        saving = Saving(self.model_dir, model, self._config, tuple(saving_listeners or ()))
        if self._warm_start is not None and not saving.resumed:
            source = os.fspath(self._warm_start)
            model.variables.read(latest_checkpoint(source) or source, partial=True)
        if max_steps is not None:
            steps = max_steps - int(model.global_step.numpy())
        with _writer(self.model_dir, self._config.save_summary_steps) as writer:
            saving.begin()
            self._train_steps(model, saving, writer, batches, [*told, *model.spec.hooks()], steps)
        return self

    def _train_steps(
        self,
        model: BuiltModel,
        saving: Saving,
        writer: SummaryWriter,
        batches: Batches,
        hooks: list[SessionRunHook],
        steps: int | None,
    ) -> None:
        progress = Progress(self._config, writer)
        all_hooks = [Counting(model), *hooks]
        for results in stepped(model, batches, all_hooks, steps):
            step = int(model.global_step.numpy())
            loss = float(results["loss"].numpy())
            if math.isnan(loss):
                raise NanLossDuringTrainingError(f"Estimator.train: the loss is NaN at step {step}")
            progress.note(step, loss)
            if saving.after_step():
                break
        saving.end()
        progress.end()

    def _step_on_disk(self) -> int:
        path = self.latest_checkpoint()
        return 0 if path is None else int(load_variable(path, "global_step"))

    # Using what was trained.

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The metrics over the batches.

        Args:
            input_fn: see `train`.
            steps: how many batches; None: all.
            hooks: told of each batch.
            checkpoint_path: the newest if None; without any, the untrained model is evaluated.
            name: ends the name of the folder of its summaries, `eval_<name>`.

        Returns:
            {name: value} of each metric, with `loss` (the mean over the batches) and `global_step`.

        Raises:
            ValueError: a number of steps below 1; no batch at all; one batch without end.
        """
        who = "Estimator.evaluate"
        _check_steps(who, steps=steps)
        told = _checked_hooks(who, hooks)
        batches = batches_of(input_fn, self._known(ModeKeys.EVAL), who)
        _check_end(who, batches, steps)
        model = self._build(ModeKeys.EVAL, batches)
        self._restore(model, checkpoint_path)
        losses: list[float] = []
        updates: dict[str, Any] = {}
        for results in stepped(model, batches, [*told, *model.spec.hooks()], steps):
            losses.append(float(results["loss"].numpy()))
            updates = results.get("updates", {})
        if not losses:
            raise ValueError(f"{who}: input_fn gave no batch")
        found = {key: metric.result().numpy() for key, metric in model.metrics.items()}
        found |= {key: update.numpy() for key, update in updates.items()}
        found["loss"] = np.float32(np.mean(losses))
        found["global_step"] = model.global_step.numpy()
        folder = os.path.join(self.model_dir, f"eval_{name}" if name else "eval")  # noqa: PTH118 (a text)
        with create_file_writer(folder) as writer, writer.as_default():
            for key, value in found.items():
                if np.ndim(value) == 0 and key != "global_step":
                    scalar(key, value, step=int(found["global_step"]))
        return found

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: str | Sequence[str] | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions, one example after another.

        Args:
            input_fn: see `train`; labels, if there are any, are not looked at.
            predict_keys: the wanted keys of a dict of predictions.
            hooks: told of each batch.
            checkpoint_path: the newest if None; without any, the untrained model predicts.
            yield_single_examples: False gives batches.

        Raises:
            ValueError: keys of predictions that are no dict, or none of its keys; predictions of
                different lengths.
        """
        who = "Estimator.predict"
        told = _checked_hooks(who, hooks)
        batches = batches_of(input_fn, self._known(ModeKeys.PREDICT), who)
        batches.drop_labels()
        if batches.endless:
            _log.warning("%s: input_fn gave one batch, not a Dataset: it never ends", who)
        model = self._build(ModeKeys.PREDICT, batches)
        keys = _chosen_keys(who, model.spec.predictions, predict_keys)
        self._restore(model, checkpoint_path)
        for results in stepped(model, batches, [*told, *model.spec.hooks()], None):
            found = results["predictions"]
            if keys is not None:
                found = {key: found[key] for key in keys}
            arrays = structure.map_structure(lambda x: x.numpy(), found)
            if yield_single_examples:
                yield from _single(who, arrays)
            else:
                yield arrays

    def _restore(self, model: BuiltModel, path: str | None) -> None:
        path = path or self.latest_checkpoint()
        if path is None:
            _log.info("Estimator: no checkpoint in %s: the model is untrained", self.model_dir)
        else:
            model.variables.read(path)

    def export_saved_model(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Write a SavedModel that predicts, into a new folder.

        Args:
            export_dir_base: the new folder is in there, named by the time in seconds.
            serving_input_receiver_fn: gives a ServingInputReceiver; see
                `build_raw_serving_input_receiver_fn`.
            assets_extra: place in the folder `assets.extra` -> file to copy there.
            as_text: must be False.
            checkpoint_path: the newest if None.
            experimental_mode: must be PREDICT.

        Returns:
            The path, as bytes.

        Raises:
            ValueError: there is no checkpoint; the mode is unknown; the receiver function is
                invalid.
        """
        if experimental_mode != ModeKeys.PREDICT or as_text:
            raise ValueError(
                "Estimator.export_saved_model: writes binary SavedModels that predict, got "
                f"experimental_mode={experimental_mode!r}, as_text={as_text}"
            )
        path = checkpoint_path or self._trained("export_saved_model")
        known = self._known(ModeKeys.PREDICT)

        def build(features: Any) -> BuiltModel:
            model = self._built(features, None, known, exported=True)
            model.variables.read(path)
            return model

        return export(build, os.fspath(export_dir_base), serving_input_receiver_fn, assets_extra)

    export_savedmodel = export_saved_model

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the summaries of `evaluate`."""
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")  # noqa: PTH118 (a text)


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Sets the seeds of ops and of Keras' initializers inside the block."""
    if seed is None:
        yield
        return
    set_seed(seed)
    saved = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(saved)


def _writer(folder: str, every: int | None) -> SummaryWriter:
    return create_file_writer(folder) if every else create_noop_writer()


def _checked_hooks(who: str, hooks: Sequence[SessionRunHook] | None) -> list[SessionRunHook]:
    found = list(hooks or ())
    for hook in found:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"{who}: hooks must be SessionRunHooks, got {type(hook).__name__}")
    return found


def _check_steps(who: str, **numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise ValueError(f"{who}: {name} must be above 0, got {number}")


def _check_end(who: str, batches: Batches, steps: int | None) -> None:
    if batches.endless and steps is None:
        raise ValueError(
            f"{who}: input_fn gave one batch, which is repeated forever\n"
            "  Try: a Dataset, or a number of steps"
        )


def _chosen_keys(who: str, predictions: Any, wanted: Any) -> list[str] | None:
    if not wanted:
        return None
    keys = [wanted] if isinstance(wanted, str) else list(wanted)
    if not isinstance(predictions, dict):
        raise ValueError(  # noqa: TRY004 (TensorFlow raises it too)
            f"{who}: predict_keys may only be given if predictions are a dict"
        )
    found = [key for key in keys if key in predictions]
    if not found:
        raise ValueError(
            f"{who}: predict_keys must be some of {', '.join(sorted(predictions))}, got {keys}"
        )
    return found


def _single(who: str, arrays: Any) -> Iterator[Any]:
    flat = structure.flatten(arrays)
    lengths = {np.shape(x)[0] if np.ndim(x) else -1 for x in flat}
    if len(lengths) != 1 or -1 in lengths:
        shapes = [list(np.shape(x)) for x in flat]
        raise ValueError(
            f"{who}: all predictions must have the batch as first axis, got shapes {shapes}\n"
            "  Try: yield_single_examples=False"
        )
    for index in range(lengths.pop()):
        yield structure.map_structure(lambda x, i=index: x[i], arrays)
