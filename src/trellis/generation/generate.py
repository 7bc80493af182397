"""`generate`: a language model continues its prompts, token by token."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from .._array.interchange import to_numpy
from .._core import tree
from .._core.dispatch import current_backend, load, xp_of
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.kinds import check_arguments
from .._core.typing import Array, Nest, Seed
from .._random.stream import as_key, key_words
from ..functional._arguments import whole_number
from .beams import Beams
from .caches import rows_of, with_starts
from .choosing import Choice
from .prompts import Prompts, as_prompts
from .steps import state_of, step_of


def generate(
    model: Any,
    prompts: Any,
    /,
    *,
    max_new_tokens: int,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: Seed = None,
    num_beams: int = 1,
    length_penalty: float = 1.0,
    early_stopping: bool | Literal["never"] = False,
    repetition_penalty: float = 1.0,
    stop_tokens: int | Sequence[int] = (),
    pad_token: int | None = None,
    prompt_mask: Array | None = None,
    memory: Nest = None,
    on_token: Callable[[Any], Any] | None = None,
    cache_length: int | None = None,
    return_scores: bool = False,
    compile: bool = True,
) -> Any:
    """The tokens that a language model generates after each prompt, as int32 (batch, at most
    `max_new_tokens`).

    A language model is anything with these two: `model.init_cache(batch, length)`, a pytree of
    arrays whose first axis is the batch, and `logits, cache = model(tokens, cache=cache)`, with
    tokens (batch, T) of int32 and logits (batch, T, vocabulary). The prompt is read in one call;
    then one step, compiled once, serves every token. For a model with an encoder, pass the
    encoder's output as `memory`: the cache is then `model.init_cache(batch, length,
    memory=memory)`, in which
    it keeps the keys and values of the memory.

    Prompts are lists of tokens, of different lengths if need be, or an array (batch, T) with a
    `prompt_mask` that is False at padding. One prompt alone gives its tokens without a batch.

    Without more, the most likely token is taken at each step. With `temperature` it is drawn, of
    the `top_k` most likely ones, or of the fewest that have a probability of `top_p` together: the
    same `seed` gives the same tokens on every framework. With `num_beams` the likeliest sequence is
    looked for among so many at a time; `length_penalty` and `early_stopping` count as in the
    transformers library. `repetition_penalty` above 1 makes tokens less likely that were there
    before. A row ends with one of the `stop_tokens`, and is filled up with `pad_token` (the first
    stop token unless given, else 0).

    `on_token` is called with the new tokens (batch,) of each step, as an array of NumPy; if it
    returns False, that is the end. `cache_length` allows for more tokens than this call needs,
    so that longer ones share its compiled step. With `return_scores` the result of a beam search is
    (tokens, scores).

    >>> import numpy as np, trellis
    >>> class Counting:
    ...     "After n comes n + 1."
    ...     def init_cache(self, batch, length):
    ...         return {}
    ...     def __call__(self, tokens, cache):
    ...         return trellis.one_hot((tokens + 1) % 10, 10), cache
    >>> trellis.generate(Counting(), [[3], [6]], max_new_tokens=4, stop_tokens=9)
    array([[4, 5, 6, 7],
           [7, 8, 9, 9]], dtype=int32)
    """
    check_arguments(generate, locals())
    stops = _stop_tokens(stop_tokens)
    pad = (stops[0] if stops else 0) if pad_token is None else whole("pad_token", pad_token, 0)
    count = whole("max_new_tokens", max_new_tokens, 1)
    choice = _choice(
        temperature, top_k, top_p, repetition_penalty, whole("num_beams", num_beams, 1), stops
    )
    _check_beams(choice, early_stopping, return_scores, on_token)
    given = as_prompts(prompts, prompt_mask, pad)
    needed = given.tokens.shape[1] + count
    length = needed if cache_length is None else whole("cache_length", cache_length, needed)
    backend, device = _home(model, prompts)
    xp = load(backend)
    numbers: dict[str, Any] = {}
    if choice.is_sampled:
        numbers["key"] = as_key(_own(seed), xp, device)
        numbers["temperature"] = xp.asarray(temperature, dtype="float32", device=device)
    if choice.is_nucleus:
        numbers["top_p"] = xp.asarray(top_p, dtype="float32", device=device)
    if choice.is_penalised:
        numbers["penalty"] = xp.asarray(repetition_penalty, dtype="float32", device=device)
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    try:
        run = _Run(model, xp, backend, device, choice, numbers, given, length, memory, compile)
        if choice.beams == 1:
            tokens = run.one_by_one(count, stops, pad, on_token)
            return _as_result(xp, device, tokens, given)
        beams = Beams(
            given.tokens.shape[0],
            choice.beams,
            count,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
            stop_tokens=stops,
            pad_token=pad,
        )
        tokens, scores = run.by_beams(beams)
        result = _as_result(xp, device, tokens, given)
        return (result, _as_result(xp, device, scores, given)) if return_scores else result
    finally:
        if was_training:
            model.train()


class _Run:
    """One generation: the model's cache, and what is passed from step to step."""

    def __init__(
        self,
        model: Any,
        xp: Any,
        backend: str,
        device: Any,
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

    def one_by_one(self, count: int, stops: Any, pad: int, on_token: Any) -> Any:
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


def whole(what: str, value: Any, least: int) -> int:
    return whole_number("generate", what, value, least)


def _stop_tokens(given: int | Sequence[int]) -> tuple[int, ...]:
    several = given if isinstance(given, (list, tuple)) else [given]
    return tuple([whole("stop_tokens", token, 0) for token in several])


def _choice(
    temperature: Any, top_k: Any, top_p: Any, penalty: float, beams: int, stops: tuple[int, ...]
) -> Choice:
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


def _check_beams(choice: Choice, early_stopping: Any, return_scores: bool, on_token: Any) -> None:
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


def _home(model: Any, prompts: Any) -> tuple[str, Any]:
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
    return xp.__name__.rpartition(".")[2], xp.device(arrays[0])


def _own(seed: Any) -> Any:
    """A key of any framework as one that every backend takes."""
    return key_words(seed) if hasattr(seed, "dtype") else seed


def _as_result(xp: Any, device: Any, values: Any, given: Prompts) -> Any:
    return xp.asarray(values[0] if given.is_single else values, device=device)
