"""One step of a generation as a pure function, compiled once for each model and way of choosing.

The same function reads the prompt and then each new token: it is compiled for the two shapes.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._array.compilation import Compiled
from .._core.dispatch import load
from .._core.typing import Array
from ..nn.module.module import Module
from .caches import rows_of
from .choosing import Choice, best_of_beams, next_tokens, with_seen

# The compiled steps of each model live as long as the model: calls of the same kind share them.
_kept: "weakref.WeakKeyDictionary[Any, dict[Any, Any]]" = weakref.WeakKeyDictionary()


def step_of(model: Module, backend: str, choice: Choice, is_compiled: bool) -> Callable[..., Any]:
    """`step(state, cache, tokens, is_real, seen, numbers, rows) -> (chosen, seen, cache)`.

    `state` is what `state_of(model)` gave. `rows`, if not None, are the rows of the last step that
    the tokens go on from. With beams `chosen` is (scores, indices), see `best_of_beams`.
    """
    reference: Any
    try:
        steps, reference = _kept.setdefault(model, {}), weakref.ref(model)
    except TypeError:  # an object that cannot be referred to: compiled for this call alone
        steps, reference = {}, _Strong(model)
    if not is_compiled:
        return _plain(reference, backend, choice)
    if (backend, choice) not in steps:
        options: dict[str, Any] = {"static_argnums": (), "static_argnames": (), "strict": False}
        if choice.beams == 1:  # with beams all rows move, and there is no memory to use again
            options["carry"] = 1
        steps[backend, choice] = Compiled(_plain(reference, backend, choice), options)
    kept: Callable[..., Any] = steps[backend, choice]
    return kept


class _Strong:
    """A reference that keeps its object."""

    def __init__(self, model: Module):
        self._model = model

    def __call__(self) -> Any:
        return self._model


def state_of(model: Module) -> dict[str, Any]:
    """The variables and buffers of a model, to pass to its step; a function has none."""
    if not isinstance(model, Module):
        return {}
    state = {"v": model.v}
    if len(model.buffers) > 0:
        state["buffers"] = model.buffers
    return state


def _plain(model: Module, backend: str, choice: Choice) -> Callable[..., Any]:
    # A reference that does not keep the model: compiled functions would keep it alive.
    xp = load(backend)
    # Of a prompt only the last logits count; a model that can leave the others out says so.
    more = {"last_only": True} if getattr(model(), "has_last_only", False) else {}

    def step(state: dict[str, Any], cache: Sequence[Any], tokens: Array, is_real: Array,
             seen: Array, numbers: Mapping[str, Any], rows: Array) -> Any:  # fmt: skip
        if rows is not None:
            cache = rows_of(xp, cache, rows)
            seen = None if seen is None else xp.take(seen, rows, axis=0)
        logits, cache = model()(tokens, cache=cache, **state, **more)
        logits = xp.astype(logits[:, -1, :], "float32", copy=False)
        seen = with_seen(xp, choice, seen, tokens, is_real, logits.shape[-1])
        if choice.beams == 1:
            return next_tokens(xp, choice, logits, seen, numbers), seen, cache
        found = best_of_beams(xp, choice, logits, seen, numbers["scores"], numbers)
        return found, seen, cache

    return step
