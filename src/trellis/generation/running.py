"""One run of `trellis.generate`: what was asked for, and the tokens one after another."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.interchange import to_numpy
from .._core import tree
from .._core.dispatch import current_backend, name_of, xp_of
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.typing import Backend, Device, Seed
from .._random.stream import key_words
from ..functional._arguments import whole_number
from .beams import Beams
from .caches import rows_of, with_starts
from .choosing import Choice
from .prompts import Prompts
from .steps import state_of, step_of


class Run:
    """One generation: the model's cache, and what is passed from step to step."""

    def __init__(
        self,
        model: Any,
        xp: Backend,
        backend: str,
        device: Device,
        choice: Choice,
        numbers: dict[str, Any],
        given: Prompts,
        length: int,
        memory: Any,
        is_compiled: bool,
    ):
        self._xp, self._device = xp, device
        self._choice, self._numbers, self._given = choice, numbers, given
        self._step = step_of(model, backend, choice, is_compiled)
        self._state = state_of(model)
        batch = given.tokens.shape[0]
        more = {} if memory is None else {"memory": memory}
        cache = model.init_cache(batch, length, **more)
        cache, told = with_starts(xp, cache, given.starts, device)
        if told == 0 and given.starts.any():
            raise ArgumentError(
                "generate() got prompts of different lengths, and the cache of this "
                f"{type(model).__name__} has no KVCache that could mask the padding. Give prompts "
                "of one length, or one after another."
            )
        self._cache, self._seen = cache, None

    def _array(self, values: Any) -> Any:
        return self._xp.asarray(values, device=self._device)

    def _advance(self, tokens: Any, is_real: Any, rows: Any, number: int) -> Any:
        numbers = dict(self._numbers)
        if self._choice.is_sampled:
            numbers["step"] = self._array(np.asarray(number, np.int32))
        chosen, self._seen, self._cache = self._step(
            self._state,
            self._cache,
            self._array(tokens),
            self._array(is_real),
            self._seen,
            numbers,
            rows,
        )
        return chosen

    def _prompt(self) -> tuple[Any, Any]:
        tokens, starts = self._given.tokens, self._given.starts
        return tokens, np.arange(tokens.shape[1]) >= starts[:, None]

    def one_by_one(
        self, count: int, stops: Any, pad: int, on_token: Callable[..., Any] | None
    ) -> Any:
        tokens, is_real = self._prompt()
        is_over = np.zeros(tokens.shape[0], bool)
        found: list[Any] = []
        for number in range(count):
            chosen = np.asarray(to_numpy(self._advance(tokens, is_real, None, number)))
            chosen = np.where(is_over, np.int32(pad), chosen)
            is_over = is_over | np.isin(chosen, stops)
            found.append(chosen)
            answer = None if on_token is None else on_token(chosen.copy())
            if is_over.all() or (isinstance(answer, (bool, np.bool_)) and not answer):
                break
            tokens, is_real = chosen[:, None], np.ones((tokens.shape[0], 1), bool)
        return np.stack(found, axis=1)

    def by_beams(self, beams: Beams) -> tuple[Any, Any]:
        xp, many = self._xp, self._choice.beams
        tokens, is_real = self._prompt()
        batch = tokens.shape[0]
        rows: Any = None
        number, is_over = 0, False
        while not is_over:
            self._numbers["scores"] = self._array(beams.scores)
            found = self._advance(tokens, is_real, rows, number)
            if number == 0:
                spread = self._array(np.repeat(np.arange(batch, dtype=np.int32), many))
                self._cache = rows_of(xp, self._cache, spread)
                self._seen = None if self._seen is None else xp.take(self._seen, spread, axis=0)
            chosen, order = beams.advance(*[np.asarray(to_numpy(x)) for x in found])
            tokens, rows = chosen[:, None], self._array(order)
            is_real = np.ones((batch * many, 1), bool)
            number, is_over = number + 1, beams.is_over
        return beams.result()


def whole(what: str, value: object, least: int) -> int:
    return whole_number("generate", what, value, least)


def stops_of(given: int | Sequence[int]) -> tuple[int, ...]:
    several = given if isinstance(given, (list, tuple)) else [given]
    return tuple([whole("stop_tokens", token, 0) for token in several])


def choice_of(temperature: float | None, top_k: int | None, top_p: float | None, penalty: float,
            beams: int, stops: tuple[int, ...]) -> Choice:  # fmt: skip
    if temperature is None and (top_k is not None or top_p is not None):
        raise ArgumentError(
            "generate() draws with a temperature only, top_k and top_p say among which tokens. "
            "Write temperature=1.0."
        )
    if temperature is not None and temperature <= 0:
        raise ArgumentError(
            f"generate() expects a temperature above 0, got {temperature}. Without one, the "
            "likeliest token is taken."
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ArgumentError(f"generate() expects top_p above 0 and at most 1, got {top_p}.")
    if penalty <= 0:
        raise ArgumentError(f"generate() expects a repetition_penalty above 0, got {penalty}.")
    if beams > 1 and temperature is not None:
        raise ArgumentError(
            "generate() either draws tokens, with a temperature, or looks for the likeliest ones, "
            "with num_beams; it got both."
        )
    return Choice(
        is_sampled=temperature is not None,
        top_k=None if top_k is None else whole("top_k", top_k, 1),
        is_nucleus=top_p is not None and top_p < 1,
        is_penalised=penalty != 1,
        beams=beams,
        candidates=0 if beams == 1 else max(2, 1 + len(stops)) * beams,
    )


def check_beams(choice: Choice, early_stopping: bool | str, return_scores: bool,
                 on_token: Callable[..., Any] | None) -> None:  # fmt: skip
    if early_stopping not in (True, False, "never"):
        raise ArgumentError(
            f"generate() expects True, False or 'never' for early_stopping, got {early_stopping!r}."
        )
    if choice.beams == 1 and return_scores:
        raise ArgumentError("generate() has scores for beams only: write num_beams=2 or more.")
    if choice.beams > 1 and on_token is not None:
        raise ArgumentError(
            "generate() knows the tokens of a beam search at its end: on_token and num_beams "
            "exclude each other."
        )


def home_of(model: Any, prompts: Any) -> tuple[str, Any]:
    """The framework and device of the model: of its variables, or else of the prompts."""
    if not callable(model) or not hasattr(model, "init_cache"):
        raise ArgumentTypeError(
            f"generate() expects a model with a method init_cache(batch, length), got a "
            f"{type(model).__name__}."
        )
    arrays = [x for x in tree.leaves(state_of(model)) if hasattr(x, "dtype")]
    arrays += [prompts] if hasattr(prompts, "dtype") else []
    if not arrays:
        return current_backend(), None
    xp = xp_of(arrays[0])
    return name_of(xp), xp.device(arrays[0])


def own_seed(seed: Seed) -> Any:
    """A key of any framework as one that every backend takes."""
    return key_words(seed) if hasattr(seed, "dtype") else seed


def as_result(xp: Backend, device: Device, values: Any, given: Prompts) -> Any:
    return xp.asarray(values[0] if given.is_single else values, device=device)
