"""Bad arguments of every function: a clear error, and the same on all four.

One call of each function, out of its first row, is spoilt in one argument at a time. What must happen is
one of two things, on all four alike: an error of ours (or Python's own about the signature), or an answer
where there is one to give.
"""

import inspect
import operator
import warnings

import numpy as np

import trellis
from cases import all_cases
from conftest import BACKENDS

FIRST = {}
for _, _row in all_cases():
    if _row.call is None and not _row.op.startswith("optim."):
        FIRST.setdefault(_row.op, _row)

# What stands in place of an argument that was good. An array of strings or objects is no framework's.
MISTAKES = {
    "None": lambda x: None,
    "a text": lambda x: "text",
    "an object": lambda x: object(),
    "a list of texts": lambda x: ["a", "b"],
    "a set": lambda x: {1, 2},
    "a function": lambda x: len,
}
FOR_ARRAYS = {
    "one axis more": lambda x: np.stack([x, x]),
    "no axis": lambda x: x.ravel()[0:1].reshape(()) if x.size else np.zeros((), x.dtype),
    "another length": lambda x: np.concatenate([x.ravel(), x.ravel(), np.ones(1, x.dtype)]),
    "empty": lambda x: np.zeros((0, *x.shape[1:]), x.dtype) if x.ndim else np.zeros(0, x.dtype),
    "texts": lambda x: np.full(x.shape, "a"),
}
FOR_NUMBERS = {
    "huge": lambda x: 10**30,
    "negative and far": lambda x: -99,
    "a fraction": lambda x: 1.5,
    "nan": lambda x: float("nan"),
}


def signature_of(op):
    return inspect.signature(operator.attrgetter(op)(trellis))


def slots_of(row):
    """The arguments that can be spoilt: positions, and options with the values they have in the row."""
    slots = [(i, value) for i, value in enumerate(row.args)]
    for name, parameter in signature_of(row.op).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            slots.append((name, row.kwargs.get(name, parameter.default)))
    return slots


def spoilt_calls(row):
    """(what is wrong, args, kwargs), with NumPy arrays still in place of those of a backend."""
    for slot, value in slots_of(row):
        mistakes = dict(MISTAKES)
        if isinstance(value, np.ndarray):
            mistakes |= FOR_ARRAYS
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            mistakes |= FOR_NUMBERS
        elif value is None and slot in ("axis", "axes", "shape", "k", "n"):
            mistakes |= FOR_NUMBERS
        for what, mistake in mistakes.items():
            if what == "None" and (value is None or may_be_none(row.op, slot)):
                continue
            args, kwargs = list(row.args), dict(row.kwargs)
            if isinstance(slot, int):
                args[slot] = mistake(value)
            else:
                kwargs[slot] = mistake(value)
            yield f"{slot} is {what}", args, kwargs
    yield "an unknown option", list(row.args), {**row.kwargs, "no_such_option": 1}


def may_be_none(op, slot):
    parameters = signature_of(op).parameters
    if slot in parameters:
        return parameters[slot].default is None
    names = list(parameters)
    return isinstance(slot, int) and slot < len(names) and parameters[names[slot]].default is None


def as_arrays(value, backend):
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        if value.dtype == np.float64:
            value = value.astype("float32")
        if value.dtype == np.complex128:
            value = value.astype("complex64")
        if value.dtype == np.int64:
            value = value.astype("int32")
        return trellis.namespace(backend).from_numpy(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)([as_arrays(v, backend) for v in value])
    return value


CLEAR_SIGNATURE = (
    "unexpected keyword",
    "positional",
    "required",
    "multiple values",
    "did you mean",
)


def outcome(op, args, kwargs, backend):
    """ "answered", "clear", or the raw error."""
    fn = operator.attrgetter(op)(trellis)
    args = [as_arrays(a, backend) for a in args]
    kwargs = {k: as_arrays(v, backend) for k, v in kwargs.items()}
    with warnings.catch_warnings(), trellis.using_backend(backend), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what a spoilt call warns of is not what is asked here
        try:
            fn(*args, **kwargs)
        except trellis.TrellisError:
            return "clear"
        except TypeError as error:
            if any(word in str(error) for word in CLEAR_SIGNATURE):
                return "clear"
            return f"{type(error).__name__}: {str(error)[:100]}"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:100]}"
    return "answered"


def sweep(op, backends=BACKENDS):
    """{what is wrong: {backend: outcome}} of one function."""
    return {
        what: {backend: outcome(op, args, kwargs, backend) for backend in backends}
        for what, args, kwargs in spoilt_calls(FIRST[op])
    }
