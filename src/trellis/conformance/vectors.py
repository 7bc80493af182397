"""The stored numbers of the contract: reading them, calling what they describe, comparing.

`vectors.jsonl` holds one JSON object per line.
"""

import builtins
import json
from pathlib import Path

import numpy as np

import trellis
from trellis import Container, testing

PATH = Path(__file__).parent / "vectors.jsonl"
ALL = [json.loads(line) for line in PATH.read_text().splitlines()]
SPECIAL = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
TRANSFORMS = ("grad", "value_and_grad", "jac", "hessian", "vmap")
# Lists under these names, and at these positions of convolutions, are not arrays.
PLAIN_KEYWORDS = frozenset(
    "strides padding dilations x_dilations output_shape shape noise_shape axis argnums in_axes"
    " out_axes xs_grad_idxs ret_grad_idxs".split()
)

# (rtol, atol relative to the largest expected element): what the contract asks for.
TOLERANCE = {"float32": (1e-5, 1e-6), "float64": (1e-10, 1e-11)}


def of(row):
    """The vectors of one row of the contract."""
    found = [v for v in ALL if v["id"].rpartition("-")[0] in (row, f"module_{row}")]
    assert found, f"there are no vectors for {row}"
    return found


def decode(value, xp, dtype, shared=None):
    """JSON to arrays, Containers and pytrees of one backend."""
    if isinstance(value, list):
        return array(value, xp, dtype)
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    if not isinstance(value, dict):
        return value
    if "$list" in value:
        return [decode(item, xp, dtype, shared) for item in value["$list"]]
    if "$tuple" in value:
        return tuple(decode(item, xp, dtype, shared) for item in value["$tuple"])
    if "$shared" in value:
        return shared[value["$shared"]]
    if "$full" in value:
        shape, fill = value["$full"]
        return xp.asarray(np.full(shape, fill), dtype=dtype)
    return Container({key: decode(item, xp, dtype, shared) for key, item in value.items()})


def array(values, xp, dtype):
    flat = [SPECIAL.get(x, x) if isinstance(x, str) else x for x in _flat(values)]
    if flat and all(isinstance(x, bool) for x in flat):
        return xp.asarray(np.array(values, dtype=bool))
    if flat and all(isinstance(x, int) for x in flat):
        return xp.asarray(values)
    return xp.asarray(_numbers(values), dtype=dtype)


def _flat(values):
    if isinstance(values, list):
        return [x for item in values for x in _flat(item)]
    return [values]


def _numbers(values):
    def turn(x):
        return (
            [turn(item) for item in x]
            if isinstance(x, list)
            else SPECIAL.get(x, x)
            if isinstance(x, str)
            else x
        )

    return np.array(turn(values), dtype=np.float64)


def arguments(vector, xp, dtype):
    """Positional and keyword arguments of a vector, decoded."""
    shared = {name: array(v, xp, dtype) for name, v in vector.get("shared", {}).items()}
    is_conv = vector["fn"].startswith(("conv", "depthwise"))
    args = [
        _plain(a) if is_conv and i in (2, 3) else decode(a, xp, dtype, shared)
        for i, a in enumerate(vector.get("args", []))
    ]
    kw = {
        name: _plain(a) if name in PLAIN_KEYWORDS else decode(a, xp, dtype, shared)
        for name, a in vector.get("kw", {}).items()
    }
    return args, kw


def _plain(value):
    return [_plain(item) for item in value] if isinstance(value, list) else value


def call(vector, xp, dtype):
    """Run what the vector describes and return the result."""
    args, kw = arguments(vector, xp, dtype)
    name = vector["fn"]
    if "func" not in vector:
        return getattr(trellis, name)(*args, **kw)
    names = {"xp": xp, "tr": trellis}
    func = eval(vector["func"], names)
    if name in TRANSFORMS:
        return getattr(trellis, name)(func, **kw)(*args)
    if name == "execute_with_gradients":
        return trellis.execute_with_gradients(func, *args, **kw)
    if name == "vjp":
        out, pull = trellis.vjp(func, *args)
        return out, pull(decode(vector["cotangent"], xp, dtype))
    if name == "jvp":
        return trellis.jvp(func, tuple(args), decode(vector["tangents"], xp, dtype))
    assert name == "bind_custom_gradient_function", name
    bound = trellis.bind_custom_gradient_function(func, eval(vector["custom"], names))
    outer = eval(vector["outer"], names)
    return trellis.value_and_grad(lambda x: outer(bound(x)))(*args)


def assert_matches(actual, expected, dtype, rtol=None):
    """Compare a result, by its own structure, with the JSON of what is expected."""
    if isinstance(actual, dict):
        assert set(actual) == set(expected)
        for key in actual:
            assert_matches(actual[key], expected[key], dtype, rtol)
        return
    if isinstance(actual, (list, tuple)):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            assert_matches(a, e, dtype, rtol)
        return
    wanted = np.asarray(_numbers(expected))
    got = np.asarray(trellis.to_numpy(actual) if hasattr(actual, "dtype") else actual)
    assert got.shape == wanted.shape, f"shape {got.shape}, expected {wanted.shape}"
    relative, absolute = TOLERANCE[dtype]
    finite = wanted[np.isfinite(wanted)]
    floor = absolute * float(np.max(np.abs(finite), initial=0.0))
    np.testing.assert_allclose(got, wanted, rtol=rtol or relative, atol=floor)
    testing.report(actual, wanted)


def check(vector, xp, dtype):
    """One vector with an expected result or an expected error, in one dtype."""
    if "raises" in vector:
        builtin = getattr(builtins, vector["raises"])
        try:
            call(vector, xp, dtype)
        except trellis.errors.TrellisError as error:
            assert isinstance(error, builtin), f"{vector['id']}: {type(error).__mro__}"
            return
        raise AssertionError(f"{vector['id']} did not raise")
    rtol = vector.get("rtol32") if dtype == "float32" else None
    result = call(vector, xp, dtype)
    assert_matches(result, vector["out"], dtype, rtol)
    if "vjp" in vector:
        check_vjp(vector, xp, dtype)


def check_vjp(vector, xp, dtype):
    """The gradients of sum(cot * first output) by the named arguments."""
    args, kw = arguments(vector, xp, dtype)
    names = list(vector["vjp"])
    picked = [args[int(n)] if n.isdigit() else kw[n] for n in names]

    def first_output(*arrays):
        full, keywords = list(args), dict(kw)
        for name, x in zip(names, arrays, strict=True):
            if name.isdigit():
                full[int(name)] = x
            else:
                keywords[name] = x
        out = getattr(trellis, vector["fn"])(*full, **keywords)
        return out[0] if isinstance(out, tuple) else out

    out, pull = trellis.vjp(first_output, *picked)
    count = int(np.prod(out.shape))
    cot = (((7 * np.arange(count)) % 11 - 5) / 4).reshape(out.shape)
    gradients = pull(xp.asarray(cot, dtype=out.dtype))
    for name, gradient in zip(names, gradients, strict=True):
        assert_matches(
            gradient,
            vector["vjp"][name],
            dtype,
            vector.get("rtol32") if dtype == "float32" else None,
        )


def run_steps(vector):
    """A "steps" vector: a list of calls whose results are compared with `out`."""
    results = []
    for name, args, kw in vector["steps"]:
        try:
            results.append(getattr(trellis, name)(*args, **kw))
        except trellis.errors.TrellisError as error:
            results.append(error)
    return results
