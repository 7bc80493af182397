"""torch's samples of an op, its own answer and derivative, and what Trellis makes of them."""

import inspect
import random
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..allowed import reason_for
from ..call import Call, Given
from ..comparing import Difference, differences_from
from ..running import Answer, Leaf
from . import layer_rules as layer_rules
from .rules import RULES, BesideError

# The test base class of torch's own suite comes from a package that nothing here needs.
STAND_IN = "expecttest"


def op_db() -> dict[str, list[Any]]:
    """The OpInfos that have a rule, by name; one name may have several variants."""
    if STAND_IN not in sys.modules:
        module = types.ModuleType(STAND_IN)
        module.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules[STAND_IN] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db as all_ops
    found: dict[str, list[Any]] = {}
    for op in all_ops:
        if op.name in RULES:
            found.setdefault(op.name, []).append(op)
    return found


def calls(op: Any, dtype: str, counts: Counter[str], seed: int = 0) -> Iterator[tuple[Call, Any]]:
    """The samples of an OpInfo as calls, each with what computes torch's own result.

    `counts` says how many samples were left out, and why.
    """
    import torch

    native = getattr(torch, dtype)
    if native not in op.dtypes:
        return
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(op.sample_inputs("cpu", native, requires_grad=False))
    for sample in samples:
        arguments = (sample.input, *sample.args)
        try:
            args, kwargs = _given((arguments, sample.kwargs))
            inspect.signature(RULES[op.name]).bind(*args, **kwargs)
        except TypeError as error:
            counts[f"{op.name}: {str(error)[:60]}"] += 1
            continue
        floor = FLOORS.get(op.name, 0.0)
        call = Call(
            f"torch:{op.name}", args, kwargs, invoke=RULES[op.name], units=UNITS, floor=floor
        )
        yield call, (op, arguments, sample.kwargs)


DTYPES = ("float64", "float32", "complex64", "int64", "bfloat16")


def search(
    op: Any, dtype: str, seed: int, most: int, known: set[Any], used: set[Any], counts: Counter[str]
) -> Iterator[Difference]:
    """What is found with some of the samples of one op, each fault once."""
    chosen = list(calls(op, dtype, counts, seed))
    random.Random(seed).shuffle(chosen)
    for call, torchs in chosen[:most]:
        for mode in ("eager", "gradient") if dtype.startswith("float") else ("eager",):
            counts["compared"] += 1
            for found in compared(call, torchs, mode, counts):
                if found.key not in known and reason_for(found, used) is None:
                    known.add(found.key)
                    yield found


# torch's own float32 results carry some of its rounding too; decompositions carry much more.
UNITS = 2048.0
# torch's queries are large: all weight lies on one key, and derivatives of size 1 cancel.
FLOORS = {"nn.functional.scaled_dot_product_attention": 1.0}


def _given(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        if value.is_sparse or value.is_nested:
            raise TypeError("a sparse or nested tensor")
        return Given(_numpy(value))
    if isinstance(value, dict):
        return {key: _given(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        plain = [_given(item) for item in value]
        return tuple(plain) if isinstance(value, tuple) else plain
    if isinstance(value, (torch.dtype, torch.device)):
        raise TypeError(f"{value} among the arguments")
    return value


def _numpy(tensor: Any) -> np.ndarray:
    import trellis

    return np.array(trellis.to_numpy(tensor.detach().resolve_conj().resolve_neg()))


def compared(call: Call, torchs: Any, mode: str, counts: Counter[str]) -> list[Difference]:
    """How the four differ from torch's own op, and from each other."""
    reference = _reference(torchs, mode)
    if reference is None:
        counts[f"{call.op}: torch has no answer"] += 1
        return []
    found, refusals = differences_from(call, mode, ("torch's own", reference))
    for refusal in refusals:
        if isinstance(refusal.error, BesideError):
            counts[f"{call.op}: {refusal.error}"] += 1
            return []
    if len(refusals) == 4:
        counts[f"{call.op}: refused, {refusals[0]}"] += 1
    return found


def _reference(torchs: Any, mode: str) -> Answer | None:
    import torch

    op, arguments, kwargs = torchs
    floats = [x for x in _tensors((arguments, kwargs)) if x.is_floating_point()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if mode != "gradient":
                return _answer(_tensors(op(*arguments, **kwargs)))
            leaves = [x.detach().clone().requires_grad_() for x in floats]
            remaining = list(leaves)
            moved = _with((arguments, kwargs), remaining)
            total = _weighted(_tensors(op(*moved[0], **moved[1])))
            if not total.requires_grad:
                return None
            grads = torch.autograd.grad(total, leaves, allow_unused=True)
            return _answer([torch.zeros_like(x) if g is None else g for x, g in zip(leaves, grads)])
    except (RuntimeError, ValueError, TypeError, IndexError):
        return None


def _with(value: Any, leaves: list[Any]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return leaves.pop(0) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: _with(item, leaves) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_with(item, leaves) for item in value])
    return value


def _tensors(value: Any) -> list[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [x for item in value for x in _tensors(item)] if isinstance(value, (list, tuple)) else []


def _weighted(tensors: list[Any]) -> Any:
    """The same weighted sum as that of `running`."""
    import torch

    total = torch.zeros(())
    for x in tensors:
        if not (x.is_floating_point() or x.is_complex()):
            continue
        for part in [x.real, x.imag] if x.is_complex() else [x]:
            weights = ((np.arange(part.numel()) * 3) % 7 + 1).reshape(tuple(part.shape)) / 4
            total = total + (part * torch.as_tensor(weights, dtype=part.dtype)).sum()
    return total


def _answer(tensors: list[Any]) -> Answer:
    return Answer([Leaf(_numpy(x), "", "") for x in tensors], "")
