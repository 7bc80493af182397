"""Public functions about whole programs; their first call imports what they need."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ._core.dispatch import load
from ._core.kinds import check_arguments
from ._core.typing import Array, Nest, Seed
from ._random.stream import as_key

if TYPE_CHECKING:
    from ._diverge.report import Report
    from .graph import Graph


def trace(
    fn: Callable[..., Any],
    /,
    *args: Any,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
) -> "Graph":
    """The graph of what `fn(*args)` computes: every call and operator on arrays, in order.

    Arrays among the arguments become inputs; dicts and Containers of arrays, and the variables and
    buffers of modules that `fn` uses, become variables of the graph by their key paths. Numbers,
    shapes and everything else that is not an array are fixed as in this call. A program that
    depends on values (`if x.sum() > 0:`) or passes an array to a framework's own function raises.

    `graph.to_source("torch")` writes the program as plain code of a framework, `graph.draw()` as a
    picture, `graph.count()` counts its operations, parameters, memory and FLOPs.

    `dynamic={"x": {0: "batch"}}` leaves sizes of inputs open, by the names of the parameters of
    `fn`: the source of the graph then works for every size. The program is traced with several.

    >>> import numpy as np, trellis
    >>> graph = trellis.trace(lambda x: trellis.tanh(x) * 2, np.ones((2, 3), "float32"))
    >>> [node.op.__name__ for node in graph.nodes]
    ['tanh', 'mul']
    """
    from .graph.tracing import traced

    check_arguments(trace, locals())
    return traced(fn, args, dynamic)


def diverge(
    fn: Callable[..., Any],
    args: Any = (),
    foreign_args: Any = None,
    /,
    *,
    backends: Sequence[str] | None = None,
    mode: str = "accumulated",
    gradients: bool = False,
    compiled: bool = False,
    tolerance: float | None = None,
) -> "Report":
    """The first call in which two runs of a program differ, and all others.

    `diverge(fn, args, backends=("torch", "jax"))` runs `fn(*args)` on each framework, with the
    arguments and the variables of its modules moved there, and compares each call with that of the
    first one: value, data type, shape, the places of nan, and with `gradients` the gradients of the
    call by its inputs, for the same upstream gradients everywhere. With
    `mode="accumulated"` each framework continues with its own values; with `mode="local"` each call
    gets the inputs of the first framework, which shows the call that causes a difference. Without
    `backends`, the framework of the arguments is compared with all others that are imported.

    `diverge(fn, args, backends=("torch",), compiled=True)` compares the compiled program with the
    eager one: once with all values kept, and once with the outputs only, which lets the compiler
    fuse.
    `diverge(torch_module, port, args)` compares a model of torch with its conversion, node by node,
    or with a Trellis module whose attributes have the same names, module by module.

    `tolerance` is the allowed difference, relative to the largest number of a result; the default
    depends on the data type.

    >>> import numpy as np, trellis
    >>> report = trellis.diverge(trellis.exp, (np.ones(3),), backends=("numpy", "numpy"))
    >>> report.is_same, report.count
    (True, 1)
    """
    check_arguments(diverge, locals())
    from ._diverge.finding import find

    return find(fn, args, foreign_args, backends, mode, gradients, compiled, tolerance)


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
    then one step, compiled once, is used for every token. For a model with an encoder, pass the
    encoder's output as `memory`: then the cache, `model.init_cache(batch, length, memory=memory)`,
    also holds the keys and values of the memory.

    Prompts are lists of tokens, which may have different lengths, or an array (batch, T) with a
    `prompt_mask` that is False at padding. A single prompt gives tokens without a batch axis.

    By default, each step takes the most likely token. With `temperature` it is drawn from the
    distribution, from the `top_k` most likely tokens, or from the fewest whose probabilities sum to
    `top_p`: the same `seed` gives the same tokens on every framework. With `num_beams`, beam search
    looks for the most likely sequence; `length_penalty` and `early_stopping` are those of the
    transformers library. `repetition_penalty` above 1 makes tokens that occurred before less
    likely. A sequence ends at one of the `stop_tokens` and is padded with `pad_token` (by default
    the first stop token, else 0).

    `on_token` is called with the new tokens (batch,) of each step, as a NumPy array; if it returns
    False, generation stops. A `cache_length` longer than this call needs lets longer calls share
    its compiled step. With `return_scores` the result of a beam search is
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
    from .generation.beams import Beams
    from .generation.prompts import as_prompts
    from .generation.running import (
        Run,
        as_result,
        check_beams,
        choice_of,
        home_of,
        own_seed,
        stops_of,
        whole,
    )

    stops = stops_of(stop_tokens)
    pad = (stops[0] if stops else 0) if pad_token is None else whole("pad_token", pad_token, 0)
    count = whole("max_new_tokens", max_new_tokens, 1)
    choice = choice_of(
        temperature, top_k, top_p, repetition_penalty, whole("num_beams", num_beams, 1), stops
    )
    check_beams(choice, early_stopping, return_scores, on_token)
    given = as_prompts(prompts, prompt_mask, pad)
    needed = given.tokens.shape[1] + count
    length = needed if cache_length is None else whole("cache_length", cache_length, needed)
    backend, device = home_of(model, prompts)
    xp = load(backend)
    numbers: dict[str, Any] = {}
    if choice.is_sampled:
        numbers["key"] = as_key(own_seed(seed), xp, device)
        numbers["temperature"] = xp.asarray(temperature, dtype="float32", device=device)
    if choice.is_nucleus:
        numbers["top_p"] = xp.asarray(top_p, dtype="float32", device=device)
    if choice.is_penalised:
        numbers["penalty"] = xp.asarray(repetition_penalty, dtype="float32", device=device)
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    try:
        run = Run(model, xp, backend, device, choice, numbers, given, length, memory, compile)
        if choice.beams == 1:
            tokens = run.one_by_one(count, stops, pad, on_token)
            return as_result(xp, device, tokens, given)
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
        result = as_result(xp, device, tokens, given)
        return (result, as_result(xp, device, scores, given)) if return_scores else result
    finally:
        if was_training:
            model.train()
