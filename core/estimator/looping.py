"""The loop over steps, with hooks around each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.estimator.global_step import global_step_is
from pinnace.estimator.hooks import SessionRunArgs, SessionRunContext, SessionRunValues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinnace.estimator.building import BuiltModel
    from pinnace.estimator.hooks import SessionRunHook
    from pinnace.estimator.inputs import Batches


def stepped(
    model: BuiltModel, batches: Batches, hooks: Iterable[SessionRunHook], steps: int | None
) -> Iterator[dict[str, Any]]:
    """The results of each step, until the batches end, the steps are done or a hook stops it.

    Args:
        model: the model to step; its variables have their values.
        batches: one per step.
        hooks: the hooks that are notified.
        steps: number of steps, at most; None for all batches.
    """
    told = list(hooks)
    with global_step_is(model.global_step):
        for hook in told:
            hook.begin()
    for hook in told:
        hook.after_create_session(None, None)
    for done, (features, labels) in enumerate(batches if steps != 0 else (), 1):
        results, stop = _one(model, told, features, labels)
        yield results
        if stop or done == steps:
            break
    for hook in told:
        hook.end(None)


def _one(
    model: BuiltModel, hooks: list[SessionRunHook], features: Any, labels: Any
) -> tuple[dict[str, Any], bool]:
    if not hooks:
        return model.step(features, labels)[0], False
    context = SessionRunContext(SessionRunArgs(model.spec.loss))
    wanted = [hook.before_run(context) for hook in hooks]
    fetches = [args.fetches if isinstance(args, SessionRunArgs) else args for args in wanted]
    results, values = model.step(features, labels, fetches)
    for hook, found in zip(hooks, values, strict=True):
        hook.after_run(context, SessionRunValues(found))
    return results, context.stop_requested
