"""RunConfig: how often and where an estimator writes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

_UNSET: Any = object()
_EVERY_S = 600


@dataclass(frozen=True)
class RunConfig:
    """The settings for an Estimator's runs.

    Attributes:
        model_dir: folder of checkpoints and summaries.
        tf_random_seed: seed of what the model function draws; None leaves it open.
        save_summary_steps: steps between summaries of the loss; None or 0 writes none.
        save_checkpoints_steps: steps between checkpoints.
        save_checkpoints_secs: seconds between checkpoints; 600 if neither is given; None for both
            saves at the beginning and at the end only.
        session_config: accepted for TensorFlow's sake.
        keep_checkpoint_max: how many checkpoints are kept; None or 0 keeps all.
        keep_checkpoint_every_n_hours: keep one for good each time this has passed.
        log_step_count_steps: steps between log lines; None or 0 logs none.
        train_distribute: must be None: there is one replica.
        device_fn: accepted for TensorFlow's sake.
        protocol: accepted for TensorFlow's sake.
        eval_distribute: must be None.
        experimental_distribute: must be None.
        experimental_max_worker_delay_secs: accepted for TensorFlow's sake.
        session_creation_timeout_secs: accepted for TensorFlow's sake.
        checkpoint_save_graph_def: accepted for TensorFlow's sake.

    Raises:
        ValueError: steps and seconds between checkpoints at once; a number below its least.
        NotImplementedError: a distribution.
    """

    model_dir: str | None = None
    tf_random_seed: int | None = None
    save_summary_steps: int | None = 100
    save_checkpoints_steps: int | None = _UNSET
    save_checkpoints_secs: float | None = _UNSET
    session_config: Any = None
    keep_checkpoint_max: int | None = 5
    keep_checkpoint_every_n_hours: float | None = 10000
    log_step_count_steps: int | None = 100
    train_distribute: Any = None
    device_fn: Any = None
    protocol: Any = None
    eval_distribute: Any = None
    experimental_distribute: Any = None
    experimental_max_worker_delay_secs: float | None = None
    session_creation_timeout_secs: float = 7200
    checkpoint_save_graph_def: bool = True

    def __post_init__(self) -> None:
        steps, seconds = self.save_checkpoints_steps, self.save_checkpoints_secs
        if None not in (steps, seconds) and _UNSET not in (steps, seconds):
            raise ValueError(
                "RunConfig: only one of save_checkpoints_steps and save_checkpoints_secs may be "
                f"given, got {steps} and {seconds}"
            )
        if seconds is _UNSET:
            object.__setattr__(self, "save_checkpoints_secs", _EVERY_S if steps is _UNSET else None)
        if steps is _UNSET:
            object.__setattr__(self, "save_checkpoints_steps", None)
        for name in ("save_checkpoints_steps", "save_checkpoints_secs"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"RunConfig: {name} must be above 0 or None, got {value}")
        for name in ("save_summary_steps", "log_step_count_steps", "keep_checkpoint_max"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"RunConfig: {name} must be at least 0 or None, got {value}")
        for name in ("train_distribute", "eval_distribute", "experimental_distribute"):
            if getattr(self, name) is not None:
                raise NotImplementedError(
                    f"RunConfig: {name} must be None: an estimator trains one replica here"
                )

    def replace(self, **kwargs: Any) -> Self:
        """A copy with some fields changed.

        Raises:
            ValueError: a field that does not exist.
        """
        known = {field.name for field in dataclasses.fields(self)}
        unknown = sorted(set(kwargs) - known)
        if unknown:
            raise ValueError(f"RunConfig.replace: unknown fields {', '.join(unknown)}")
        if kwargs.get("save_checkpoints_steps") is not None:
            kwargs.setdefault("save_checkpoints_secs", None)
        elif kwargs.get("save_checkpoints_secs") is not None:
            kwargs.setdefault("save_checkpoints_steps", None)
        return dataclasses.replace(self, **kwargs)
