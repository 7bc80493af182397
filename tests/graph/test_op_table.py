"""The op table: a backend, its ejected source, and that source read again compute the same values
and derivatives, at ordinary points and in corner cases.
"""

import numpy as np
import pytest

import trellis
from conftest import BACKENDS
from trellis import convert
from trellis._backends.interface import Backend
from trellis._core import lazy
from trellis._ops import TABLE
from trellis._ops.elementwise import OPS
from trellis._ops.record import COMPARISON, EQUALITY, FLOAT_PAIR, FRAMEWORKS, LOGICAL, PROMOTED
from trellis.graph.calls import signature_of

INF, NAN = np.inf, np.nan
ORDINARY = np.array([-2.5, -1.0, -0.75, -0.3, 0.2, 0.6, 1.0, 1.7, 3.2], "float32")
# Zeros of both signs, the limits of the type, nan, large and small numbers.
CORNERS = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 1e30, -1e30, 1e-30, INF, -INF, NAN], "float32")
# Every pair of some corner cases: ties, zeros with zeros, infinities with infinities.
_SOME = np.array([0.0, -0.0, 1.0, -1.0, 2.5, 1e30, INF, -INF, NAN], "float32")
PAIRS = [np.ascontiguousarray(x.ravel()) for x in np.meshgrid(_SOME, _SOME)]
WHOLE = [np.array([-7, -1, 1, 2, 5, 7], "int32"), np.array([2, 3, 1, 2, 3, 7], "int32")]

BITS = [op.key for op in OPS if op.key.startswith("bitwise")]
UNARY = [op.key for op in OPS if [*signature_of(op.key).parameters] == ["x"] and op.key not in BITS]
BINARY = [
    op.key for op in OPS if [*signature_of(op.key).parameters] == ["x1", "x2"]
    and op.key not in BITS
]  # fmt: skip
# Where derivatives are compared: not of step functions, which have none, nor of bool results.
SMOOTH = [
    *[name for name in UNARY if TABLE[name].kind.name in ("floats", "like the argument", "part")],
    *[name for name in BINARY if TABLE[name].kind in (PROMOTED, FLOAT_PAIR)],
    *["maximum", "minimum"],
]
STEPS = ("ceil", "floor", "round", "sign", "trunc", "floor_divide", "truncate_divide")
# Derivatives at corners in which two frameworks differ: their own formulas overflow beside 1e30
# (hypot, logaddexp), there is no limit (atan2 and pow at 0, infinity over infinity, the sides of a
# pole), or ties of infinities are shared or not.
DIFFERENT = {
    "jax": ("divide", "hypot", "logaddexp", "pow", "rsqrt"),
    "torch": ("atan2", "copysign", "logaddexp", "pow", "remainder"),
    "tensorflow": ("maximum", "minimum"),
}


# Functions of the interface that no program calls: they work on functions, lists or the host.
NOT_OPERATIONS = {
    *{"as_dtype", "check_leaving", "checkpoint", "compile_function", "connect_ranks"},
    *{
        "callback",
        "custom_jvp",
        "custom_vjp",
        "device",
        "dtype_name",
        "for_many_calls",
        "foreach_add",
        "foreach_addcdiv",
    },
    *{"foreach_addcmul", "foreach_cast", "foreach_detach", "foreach_div", "foreach_lerp"},
    *{"foreach_maximum", "foreach_mul", "foreach_norm", "foreach_sqrt", "from_numpy"},
    *{"is_concrete", "is_tracing", "jacobian", "jvp", "laid_like", "laid_out_filters", "lasts"},
    *{"layer_types", "to_device", "to_numpy", "value_and_grad", "vjp", "vmap"},
}


def program_of(names):
    """All these operations in one program, which is read once."""
    return lambda *args: [getattr(trellis, name)(*args) for name in names]


def ejected(names, backend, args):
    with np.errstate(all="ignore"):
        source = trellis.trace(program_of(names), *args).to_source(backend)
    space = {}
    exec(compile(source, f"<{backend}>", "exec"), space)
    return space["forward"], source


def read_back(forward, backend, args):
    """The framework's own program of the ejected function, read again and run on NumPy."""
    if backend == "torch":
        import torch

        class OfOne(torch.nn.Module):
            def forward(self, x):
                return tuple(forward(x))

        class OfTwo(torch.nn.Module):
            def forward(self, x, y):
                return tuple(forward(x, y))

        program = OfOne() if len(args) == 1 else OfTwo()
        return convert.from_torch(program, args, to="numpy", verify=False)
    if backend == "jax":
        return convert.from_jax(forward, args, to="numpy", variables=(), verify=False)
    import tensorflow as tf

    return convert.from_tensorflow(tf.function(forward), args, to="numpy", verify=False)


def values_of(fn, args):
    with np.errstate(all="ignore"):
        return [np.asarray(trellis.to_numpy(y)) for y in fn(*args)]


def derivatives_of(fn, args, places):
    """The derivatives of the sums of single outputs by every argument; nan where the value is."""
    found, values = [], values_of(fn, args)
    for place in places:
        with np.errstate(all="ignore"):
            gradients = trellis.grad(
                lambda *xs: trellis.sum(fn(*xs)[place]), argnums=tuple(range(len(args)))
            )(*args)
        gradients = [np.asarray(trellis.to_numpy(g)) for g in gradients]
        # Outside its domain a function has no derivative, and frameworks return different values.
        is_outside = np.isnan(values[place])
        found.append([np.where(is_outside, np.float32(NAN), g) for g in gradients])
    return found


def check_same(names, found, expected, args, rtol, what, atol=1e-37):
    wrong = []
    for name, x, wanted in zip(names, found, expected, strict=True):
        for y, w in zip(np.atleast_2d(x), np.atleast_2d(wanted), strict=True):
            near = np.isclose(y, w, rtol=rtol, atol=atol, equal_nan=True)
            if y.dtype != w.dtype:
                wrong.append(f"{name}: {y.dtype} for {w.dtype}")
            elif not near.all():
                at = int(np.argmin(near))
                point = [float(np.ravel(a)[at]) for a in args]
                wrong.append(f"{name}{tuple(point)}: {y[at]} for {w[at]}")
    assert wrong == [], f"{what}:\n" + "\n".join(wrong)


CASES = {
    "one, ordinary": (UNARY, [ORDINARY]),
    "one, corners": (UNARY, [CORNERS]),
    "two, ordinary": (BINARY, [ORDINARY, ORDINARY[::-1].copy()]),
    "two, corners": (BINARY, PAIRS),
    "two, whole": ([*BITS[:1], *BITS[2:], "add", "subtract", "multiply", "maximum", "minimum",
                    "floor_divide", "remainder", "fmod", "truncate_divide", "less"], WHOLE),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_ejected_source_is_the_backend(case, backend):
    names, arrays = CASES[case]
    args = [trellis.to_backend(x, backend) for x in arrays]
    forward, _ = ejected(names, backend, args)
    expected = values_of(program_of(names), args)
    # One framework's kernels on both sides; some formulas differ in their last digit.
    check_same(names, values_of(forward, args), expected, arrays, 5e-7, "values")
    smooth = [i for i, name in enumerate(names) if name in SMOOTH and name not in STEPS]
    if arrays[0].dtype.kind == "f" and backend != "numpy":  # whose programs have no derivatives
        check_same(
            [names[i] for i in smooth],
            derivatives_of(forward, args, smooth),
            derivatives_of(program_of(names), args, smooth),
            arrays,
            2e-6,  # as above, in quotients of two such
            "derivatives",
        )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("framework", BACKENDS[1:])
def test_ejected_source_is_read_back(case, framework):
    names, arrays = CASES[case]
    trellis.namespace(framework)
    args = [trellis.to_backend(x, framework) for x in arrays]
    forward, _ = ejected(names, framework, args)
    model = read_back(forward, framework, args)
    expected = values_of(program_of(names), args)
    # Two frameworks' kernels in float32: a few units in the last place.
    check_same(names, values_of(model, arrays), expected, arrays, 5e-6, "values")
    if arrays[0].dtype.kind == "f":
        smooth = [
            i for i, name in enumerate(names)
            if name in SMOOTH and name not in STEPS
            and ("corners" not in case or name not in DIFFERENT[framework])
            # TensorFlow's derivative by the exponent of a negative number is 0, that of others nan.
            and (framework, name) != ("tensorflow", "pow")
        ]  # fmt: skip
        check_same(
            [names[i] for i in smooth],
            derivatives_of(model, arrays, smooth),
            derivatives_of(program_of(names), args, smooth),
            arrays,
            2e-5,  # as above, in quotients of two such
            "derivatives",
            1e-29,  # with 1e30, some formulas underflow to 0
        )


def test_the_table_has_every_function_of_the_interface_that_programs_call():
    rooms = {"linalg", "fft", "random"}
    names = {name for name in dir(Backend) if name[0].islower() and name not in rooms}
    beyond = names - {key for key in TABLE if "." not in key}
    assert beyond == NOT_OPERATIONS


def test_records_speak_of_frameworks_and_parameters_that_exist():
    for key, op in TABLE.items():
        assert set(op.reads) <= {*FRAMEWORKS, "onnx"}, key
        assert set(op.arrays_only) <= set(FRAMEWORKS), key
        if op.apart:
            assert set(op.apart) <= set(signature_of(key).parameters), key
        if op.kind in (EQUALITY, COMPARISON, LOGICAL):
            assert op.numpy, key


def test_a_name_of_a_reader_belongs_to_one_record():
    for source in (*FRAMEWORKS, "onnx"):
        names = [name for op in TABLE.values() for name in op.reads.get(source, "").split()]
        assert len(names) == len(set(names)), source


@pytest.mark.parametrize(
    "theirs, ours",
    [("cat", "trellis.concat"), ("concatenate", "trellis.concat"), ("clamp", "trellis.clip"),
     ("cumsum", "trellis.cumulative_sum"), ("softmax", "trellis.functional.softmax"),
     ("arccos", "trellis.acos"), ("reduce_sum", "trellis.sum"),
     ("unsqueeze", "trellis.expand_dims")],
)  # fmt: skip
def test_names_of_other_libraries_get_a_hint(theirs, ours):
    with pytest.raises(AttributeError, match=f"Did you mean {ours}"):
        lazy.enter(theirs)


def test_a_name_that_nobody_has_gets_none():
    with pytest.raises(AttributeError) as raised:
        lazy.enter("nothing_at_all")
    assert "mean" not in str(raised.value)
