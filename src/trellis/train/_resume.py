"""The state of a run in a checkpoint, and the run from it."""

import json
import os
from typing import Any

import numpy as np

from .._core.container import Container
from .._core.errors import ArgumentError
from .._random.stream import key_words
from ._history import History
from ._trainable import keeps_average
from .checkpoint import load_checkpoint, read_checkpoint, read_extra


def state_of(run: Any) -> Container:
    """All arrays that a run carries from step to step."""
    key = run._xp.random.make_key(*run._words, run._target.device)
    state = Container(
        v=run.v,
        buffers=run.buffers,
        optimizer=run.state,
        scale=run._scale,
        key=key,
        step=run.step,
        metrics=run._statistics.packed(),
    )
    if keeps_average(run.optimizer):
        state.averaged = run.shown  # for who wants the model alone; a run goes on from `v`
    kept = {name: callback.state(run) for name, callback in stateful(run).items()}
    if kept:
        state.callbacks = kept
    return state


def stateful(run: Any) -> dict[str, Any]:
    """The callbacks that keep arrays, by a name."""
    found = [each for each in run.callbacks if each.has_state]
    return {f"{i}_{type(each).__name__}": each for i, each in enumerate(found)}


def snapshot(run: Any) -> tuple[Container, dict[str, Any]]:
    """The arrays, and what JSON holds beside them."""
    extra = {
        "epoch": run.epoch,
        "position": run._position,
        "metrics": list(run._metrics),
        "history": run.history.as_dict(),
        "data": run.data_state(),
        "accumulate": run.accumulate,
        "steps_per_epoch": run.steps_per_epoch,
    }
    # A copy: the lists of the history grow, and a checkpoint may be written in the background.
    copied: dict[str, Any] = json.loads(json.dumps(extra))
    return state_of(run), copied


def load_run(run: Any, path: str | os.PathLike[str]) -> None:
    """Continue from a checkpoint that `save` of a run wrote."""
    extra, like = read_extra(path), state_of(run)
    if not isinstance(extra, dict) or "position" not in extra:
        raise ArgumentError(
            f"{os.fspath(path)} was not written by fit(); read it with load_checkpoint()."
        )
    if "averaged" in like and "averaged" not in read_checkpoint(path):
        del like["averaged"]  # of Trellis 0.2 or before
    if "metrics" in extra:
        # How much of them there is depends on the batches so far.
        written = read_checkpoint(path)
        like.metrics = written.metrics
        if "skipped" in like.scale and "skipped" not in written.scale:
            del like.scale["skipped"]  # of Trellis 0.2 or before
    else:
        del like["metrics"]
        extra = _of_today(extra)
    state = load_checkpoint(path, like)
    if extra["position"] and extra["metrics"] != list(run._metrics):
        raise ArgumentError(
            f"{os.fspath(path)} was written in the middle of an epoch with the metrics "
            f"{extra['metrics']}, this call has {list(run._metrics)}: they could not be exact "
            "over the epoch. Pass the same ones."
        )
    if extra["position"] and extra["metrics"] and "metrics" not in state:
        raise ArgumentError(
            f"{os.fspath(path)} was written in the middle of an epoch by Trellis 0.2, which "
            "kept sums of the means of batches: the metrics could not be exact over the epoch. "
            "Resume from the end of an epoch, or without metrics."
        )
    accumulated = extra.get("accumulate", 1)
    if extra["position"] and accumulated != run.accumulate:
        raise ArgumentError(
            f"{os.fspath(path)} was written in the middle of an epoch with accumulate="
            f"{accumulated}, this call has {run.accumulate}: updates would be of other batches. "
            "Pass the same one."
        )
    steps = extra.get("steps_per_epoch")
    if steps != run.steps_per_epoch:
        raise ArgumentError(
            f"{os.fspath(path)} was written with steps_per_epoch={steps}, this call has "
            f"{run.steps_per_epoch}: its epochs would be others. Pass the same one."
        )
    if (extra.get("data") is None) != (run._loader is None):
        had = "other data" if extra.get("data") is None else "a trellis.data.Loader"
        raise ArgumentError(
            f"{os.fspath(path)} was written by a run with {had}: its batches cannot be "
            "continued with these data. Pass the data of that run."
        )
    if run._loader is not None:
        run._loader.load(extra["data"], extra["epoch"])
    run.v, run.buffers, run.state, run._scale = (
        state.v,
        state.buffers,
        state.optimizer,
        state.scale,
    )
    if "good_steps" in run._scale and "skipped" not in run._scale:
        zero = run._scale.good_steps * 0
        run._scale = Container(**{**run._scale, "skipped": zero})
    for name, callback in stateful(run).items():
        callback.load_state(state.callbacks[name])
    words = key_words(state.key)
    assert words is not None, "a key from a file has a value"
    run.step = state.step
    run.epoch, run._position = extra["epoch"], extra["position"]
    if extra["position"]:
        packed = state.metrics if "metrics" in state else [extra["loss"]]
        run._statistics.merge_packed(packed, run._target.backend)
    run.history = History(**extra["history"])
    run.set_words(words)


def _of_today(extra: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint of Trellis 0.2 says, in the words of today."""
    sums, count = extra["sums"], extra["count"]
    loss = {"mean": np.asarray(sums["loss"] / count), "count": np.asarray(count)} if count else None
    return {**extra, "metrics": [name for name in sums if name != "loss"], "loss": loss}
