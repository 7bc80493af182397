"""What an ndarray has, an array that is being differentiated on NumPy has too.

Every public name of ndarray, and every operator, stands in one of the tables below: its value and
derivative are those of the plain array, or it is refused with our error.
"""

import copy
import inspect
import operator
import pickle

import numpy as np
import pytest

import trellis
from traced_checks import check_gradient, parts, total
from trellis.errors import NotSupportedError, ShapeError, TracingError

# Distinct, irregular, positive, none at a bound used below.
X = np.array([[0.31, 1.27, 0.74], [1.63, 0.52, 1.11]])
Z = np.array([0.7, -1.3])
Y = np.array([[0.5, -1.5, 2.0]])


# Names of ndarray ---------------------------------------------------------------------------------

DIFFERENTIABLE = {
    "T": lambda x: x.T,
    "astype": lambda x: x.astype("float64") * x.astype(np.complex128, copy=False).real,
    "clip": lambda x: [x.clip(0.6, 1.2), x.clip(0.6), x.clip(max=1.2)],
    "compress": lambda x: [x.compress([True, False, True], axis=1), x.compress([0, 1, 1])],
    "conj": lambda x: (x * (1 + 2j)).conj(),
    "conjugate": lambda x: (x * (1 + 2j)).conjugate(),
    "copy": lambda x: x.copy() * x,
    "cumprod": lambda x: [x.cumprod(), x.cumprod(1)],
    "cumsum": lambda x: [x.cumsum(), x.cumsum(0)],
    "diagonal": lambda x: [x.diagonal(), x.diagonal(1)],
    "dot": lambda x: [x.dot(Y[0]), x.dot(x.T)],
    "flat": lambda x: [x.flat[2:4], *list(x.flat)],
    "flatten": lambda x: [x.flatten(), x.flatten("F")],
    "imag": lambda x: (x * (1 + 2j)).imag,
    "mT": lambda x: x.mT,
    "max": lambda x: [x.max(), x.max(0), x.max(1, keepdims=True), x.max(initial=9.0)],
    "mean": lambda x: [x.mean(), x.mean(0), x.mean(1, None, None, True), x.mean(where=X > 1)],
    "min": lambda x: [x.min(), x.min(0), x.min(1, keepdims=True), x.min(initial=1.0)],
    "prod": lambda x: [x.prod(), x.prod(0), x.prod(where=X > 1, initial=2.0)],
    "ravel": lambda x: [x.ravel(), x.ravel("F"), x.T.ravel("A"), x.T.ravel("K"), x.ravel("K")],
    "real": lambda x: (x * (2 + 2j)).real,
    "repeat": lambda x: [x.repeat(2), x.repeat([1, 2, 0], axis=1)],
    "reshape": lambda x: [x.reshape(3, 2), x.reshape((-1,)), x.reshape(3, -1, order="F"),
                          x.T.reshape((6,), order="A"), x.reshape(6, order="F")],
    "squeeze": lambda x: x[:, None].squeeze(),
    "std": lambda x: [x.std(), x.std(0), x.std(1, ddof=1), x.std(1, None, None, 1, True)],
    "sum": lambda x: [x.sum(), x.sum(0), x.sum(-1, None, None, True), x.sum(where=X > 1),
                      x.sum((0, 1), initial=3.0)],
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: [x.take([0, 5, -1, 0]), x.take([2, 2], axis=1)],
    "to_device": lambda x: x.to_device("cpu") * 2,
    "trace": lambda x: [x.trace(), x.trace(1), x.trace(0, 1, 0)],
    "transpose": lambda x: [x.transpose(), x.transpose(1, 0), x.transpose((1, 0))],
    "var": lambda x: [x.var(), x.var(0), x.var(1, ddof=1), x.var(1, None, None, 1, True)],
    "view": lambda x: x.view() * 2,
}  # fmt: skip

# No derivative, or 0 almost everywhere: plain results, the same as of the plain array.
PLAIN = {
    "all": lambda x: x.all(axis=0),
    "any": lambda x: x.any(axis=0),
    "argmax": lambda x: x.argmax(axis=1),
    "argmin": lambda x: x.argmin(axis=1),
    "argpartition": lambda x: x.argpartition(1, axis=1),
    "argsort": lambda x: x.argsort(axis=1),
    "base": lambda x: x.base is None,
    "device": lambda x: x.device,
    "dtype": lambda x: x.dtype,
    "flags": lambda x: (x.flags.c_contiguous, x.T.flags.c_contiguous),
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "ndim": lambda x: x.ndim,
    "nonzero": lambda x: x.nonzero(),
    "round": lambda x: x.round(1),
    "searchsorted": lambda x: x[0].searchsorted([0.5, 1.0], sorter=[0, 2, 1]),
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
    "strides": lambda x: (x.strides, x.T.strides),
}

OURS = (NotSupportedError, TracingError)
REFUSED = {
    "byteswap": lambda x: x.byteswap(),
    "choose": lambda x: x.choose([1, 2, 3]),
    "ctypes": lambda x: x.ctypes,
    "data": lambda x: x.data,
    "dump": lambda x: x.dump("never_written"),
    "dumps": lambda x: x.dumps(),
    "fill": lambda x: x.fill(0.0),
    "getfield": lambda x: x.getfield("float32"),
    "item": lambda x: x.item(0),
    "partition": lambda x: x.partition(1),
    "put": lambda x: x.put([0], 1.0),
    "resize": lambda x: x.resize((3, 2)),
    "setfield": lambda x: x.setfield(1.0, "float64"),
    "setflags": lambda x: x.setflags(write=False),
    "sort": lambda x: x.sort(),
    "tobytes": lambda x: x.tobytes(),
    "tofile": lambda x: x.tofile("never_written"),
    "tolist": lambda x: x.tolist(),
    "tostring": lambda x: x.tostring(),  # until NumPy 2.2
}

# Arguments and assignments that would lose the gradient, or that the rules do not know.
REFUSED_FORMS = {
    "array": lambda x: np.array(x),
    "asarray": lambda x: np.asarray(x),
    "array of a list": lambda x: np.array([x[0, 0], x[0, 1]]),
    "float": lambda x: float(x[0, 0]),
    # NumPy asks only the first argument of these two.
    "full": lambda x: np.full((2, 2), x[0, 0]),
    "full_like": lambda x: np.full_like(X, x[0, 0]),
    "int": lambda x: int(x[0, 0]),
    "complex": lambda x: complex(x[0, 0]),
    "slice of a plain array": lambda x: operator.setitem(np.zeros(3), slice(None), x[0]),
    "delitem": lambda x: operator.delitem(x, 0),
    "shape=": lambda x: setattr(x, "shape", (3, 2)),
    "dtype=": lambda x: setattr(x, "dtype", "float32"),
    "strides=": lambda x: setattr(x, "strides", (8, 8)),
    "real=": lambda x: setattr(x, "real", 0.0),
    "imag=": lambda x: setattr(x, "imag", 0.0),
    "flat=": lambda x: setattr(x, "flat", 0.0),
    "view of a type": lambda x: x.view("int64"),
    "pickle": lambda x: pickle.dumps(x),
    "dlpack": lambda x: np.from_dlpack(x),
    "into a plain array": lambda x: operator.iadd(np.zeros((2, 3)), x),
    "ufunc out=": lambda x: np.exp(x, out=np.zeros((2, 3))),
    "ufunc where=": lambda x: np.exp(x, where=X > 1),
    "ufunc dtype=": lambda x: np.exp(x, dtype="float32"),
    "ufunc reduce": lambda x: np.add.reduce(x),
    "ufunc at": lambda x: np.add.at(np.zeros(3), [0, 1, 2], x[0]),
    "sum out=": lambda x: x.sum(0, out=np.zeros(3)),
    "mean out=": lambda x: x.mean(0, out=np.zeros(3)),
    "std out=": lambda x: x.std(0, out=np.zeros(3)),
    "max out=": lambda x: x.max(0, out=np.zeros(3)),
    "prod out, by position": lambda x: x.prod(0, None, np.zeros(3)),
    "cumsum out=": lambda x: x.cumsum(0, out=np.zeros((2, 3))),
    "take out=": lambda x: x.take([0], out=np.zeros(1)),
    "compress out=": lambda x: x.compress([1, 1], 0, np.zeros((2, 3))),
    "clip out=": lambda x: x.clip(0.0, 1.0, out=np.zeros((2, 3))),
    "clip out, by position": lambda x: x.clip(0.0, 1.0, np.zeros((2, 3))),
    "dot out=": lambda x: x.dot(Y[0], out=np.zeros(2)),
    "einsum out=": lambda x: np.einsum("ij->i", x, out=np.zeros(2)),
    "einsum of lists": lambda x: np.einsum(x, [0, 1], [0]),
    "concatenate out=": lambda x: np.concatenate((x, x), out=np.zeros((4, 3))),
    "take mode=": lambda x: x.take([7], mode="wrap"),
    "var where=": lambda x: x.var(where=X > 1),
    "K of a view that is not contiguous": lambda x: x[:, ::2].ravel("K"),
}


def public_names():
    # Names that NumPy has taken away are still listed by NumPy 2.2, and raise.
    return {name for name in dir(np.ndarray) if not name.startswith("_") and hasattr(X, name)}


def test_every_name_of_ndarray_is_in_one_table():
    tables = [set(DIFFERENTIABLE), set(PLAIN), set(REFUSED)]
    assert sum([len(table) for table in tables]) == len(set.union(*tables))
    assert public_names() <= set.union(*tables)


def inside_gradient(fn, x=X):
    """The result of `fn` inside a gradient, stored outside."""
    seen = []

    def loss(x):
        seen.append(fn(x))
        return np.sum(x)

    trellis.grad(loss)(x)
    return seen[0]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_differentiable(name):
    check_gradient(DIFFERENTIABLE[name], X)


@pytest.mark.parametrize("name", PLAIN)
def test_plain(name):
    found, expected = inside_gradient(PLAIN[name]), PLAIN[name](X.copy())
    assert type(found) is type(expected)
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(OURS, match="differentiated"):
        inside_gradient(REFUSED[name])


@pytest.mark.parametrize("form", REFUSED_FORMS)
def test_refused_forms(form):
    with pytest.raises((*OURS,)):
        inside_gradient(REFUSED_FORMS[form])


# Operators ----------------------------------------------------------------------------------------

BINARY = ["add", "sub", "mul", "truediv", "pow", "mod"]
INTEGER_ONLY = ["and", "or", "xor", "lshift", "rshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
OTHER_SPECIAL = {
    "abs", "array", "array_function", "array_namespace", "array_ufunc", "bool", "complex",
    "contains", "copy", "deepcopy", "delitem", "dlpack", "dlpack_device", "float", "format",
    "getitem", "int", "invert", "iter", "len", "neg", "pos", "repr", "setitem", "str",
}  # fmt: skip
# Of Python's objects, of NumPy's pickles and views, or of memory that a traced array does not show.
NOT_ASKED = {
    "array_finalize", "array_interface", "array_priority", "array_struct", "array_wrap", "buffer",
    "class", "class_getitem", "delattr", "dir", "doc", "getattribute", "getstate", "hash", "index",
    "init", "init_subclass", "new", "reduce", "reduce_ex", "release_buffer", "setattr", "setstate",
    "sizeof", "subclasshook",
}  # fmt: skip


def test_every_operator_of_ndarray_is_tried():
    tried = {"divmod", "rdivmod"} | OTHER_SPECIAL | set(COMPARISONS)
    for name in [*BINARY, *INTEGER_ONLY, "floordiv", "matmul"]:
        tried |= {name, f"r{name}", f"i{name}"}
    special = {name[2:-2] for name in dir(np.ndarray) if name.startswith("__")}
    assert special - NOT_ASKED <= tried
    for name in tried:
        assert hasattr(np.ndarray, f"__{name}__") <= hasattr(traced_type(), f"__{name}__")


def traced_type():
    return type(inside_gradient(lambda x: x))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    act, rebind = getattr(operator, name), getattr(operator, f"i{name}")
    check_gradient(lambda x: [act(x, 2), act(2.5, x), act(x, x.T[:1].T)], X)
    check_gradient(lambda x: [act(x, np.abs(Y)), act(np.abs(Y), x)], X)
    check_gradient(lambda x: rebind(rebind(x * 1.0, 2), np.abs(Y)), X)


def test_floordiv_and_divmod():
    check_gradient(lambda x: [x % 0.4, divmod(x, 0.4)[1], divmod(2.0, x)[1]], X)
    for act in (lambda x: x // 0.4, lambda x: 2.0 // x, lambda x: divmod(x, 0.4)[0]):
        np.testing.assert_array_equal(inside_gradient(act), act(X))


def test_matmul():
    check_gradient(lambda x: [x @ Y[0], Z @ x, x @ x.T, x.T @ x], X)
    check_gradient(lambda x: operator.imatmul(x, np.eye(3) * 2), X)


def test_unary():
    check_gradient(lambda x: [-x, +x, abs(x - 1)], X)


@pytest.mark.parametrize("name", INTEGER_ONLY)
def test_operators_of_integers(name):
    """Floats have none: NumPy's own error, with a plain array and with a traced one."""
    act = getattr(operator, f"{name}_" if name in ("and", "or") else name)
    for x, y in ((X, 1), (1, X)):
        with pytest.raises(TypeError):
            act(x, y)
    for call in (lambda x: act(x, 1), lambda x: act(1, x), lambda x: ~x):
        with pytest.raises(TypeError):
            inside_gradient(call)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name):
    act = getattr(operator, name)
    for call in (lambda x: act(x, 1.11), lambda x: act(1.11, x), lambda x: act(x, Y)):
        found = inside_gradient(call)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, call(X))


def test_in_place_keeps_type_and_shape():
    """As of ndarrays, though the name gets a new array: another name keeps the old one."""

    def both(x):
        y = x
        y += X  # float64
        return x, y

    x, y = inside_gradient(both, X.astype("float32"))
    assert y.dtype == "float32"
    np.testing.assert_array_equal(trellis.stop_gradient(x), X.astype("float32"))
    with pytest.raises(ShapeError):
        inside_gradient(lambda x: operator.iadd(x, np.ones((4, 2, 3))))
    with pytest.raises(TypeError):
        inside_gradient(lambda x: operator.iadd(x, 1j))


def test_python_protocols():
    assert inside_gradient(len) == 2
    assert inside_gradient(lambda x: (1.27 in x, 9.0 in x)) == (True, False)
    assert inside_gradient(lambda x: (bool(x[0, 0]), bool(x[0, 0] * 0))) == (True, False)
    with pytest.raises(ValueError, match="ambiguous"):
        inside_gradient(bool)
    assert inside_gradient(lambda x: f"{x[0, 0]:.1f}") == "0.3"
    assert "1.27" in inside_gradient(str) and "1.27" in inside_gradient(repr)
    assert inside_gradient(lambda x: x.__dlpack_device__()) == X.__dlpack_device__()
    xp = inside_gradient(lambda x: x.__array_namespace__())
    check_gradient(lambda x: xp.matmul(xp.tanh(x), xp.permute_dims(x, (1, 0))), X)
    check_gradient(lambda x: list(x), X)
    check_gradient(lambda x: [copy.copy(x), copy.deepcopy(x) * x], X)
    check_gradient(lambda x: [x[0], x[..., ::-1], x[[1, 1]], x[X > 1], x[:, None]], X)


# NumPy's functions --------------------------------------------------------------------------------

FUNCTIONS = {
    "abs": lambda x: np.abs(x - 1),
    "amax": lambda x: np.amax(x, axis=0),
    "append": lambda x: np.append(x, x),
    "atleast_2d": lambda x: [np.atleast_2d(x[0]), np.atleast_2d(x)],
    "average": lambda x: [np.average(x), np.average(x, axis=1, weights=[1.0, 2.0, 3.0])],
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "clip": lambda x: [np.clip(x, 0.6, 1.2), np.clip(x, a_min=0.6, a_max=1.2),
                       np.clip(x, min=0.6, max=None)],
    "column_stack": lambda x: np.column_stack((x[0], x[1])),
    "concatenate": lambda x: [np.concatenate((x, X, x)), np.concatenate([x, x], axis=None)],
    "copy": lambda x: np.copy(x) * x,
    "cov": lambda x: np.cov(x),
    "cross": lambda x: np.cross(x, Y),
    "cumsum": lambda x: np.cumsum(x, 1),
    "diag": lambda x: [np.diag(x), np.diag(x[0]), np.diag(x[0], 1), np.diag(x[0], -2)],
    "diff": lambda x: [np.diff(x), np.diff(x, 1, 0), np.diff(x, prepend=0.0), np.diff(x, 2)],
    "dot": lambda x: [np.dot(Z, x), np.dot(x, 2.0), np.dot(x, [1.0, 2.0, 3.0])],
    "einsum": lambda x: [np.einsum("ij,kj->ik", x, x), np.einsum("ij->", x),
                         np.einsum("...j,j", x, Y[0], optimize=True)],
    "exp": lambda x: np.exp(x),
    "expand_dims": lambda x: np.expand_dims(x, (0, 2)),
    "flip": lambda x: [np.flip(x), np.fliplr(x), np.flipud(x)],
    "full_like": lambda x: [x + np.full_like(x, 2.0) + np.zeros_like(x) + np.ones_like(x),
                            np.full_like(x, x[0], shape=(4, 3))],
    "gradient": lambda x: np.gradient(x, axis=1),
    "hstack": lambda x: [np.hstack((x, X)), np.hstack([x[0], x[1]])],
    "hypot": lambda x: np.hypot(x, 2.0),
    "inner": lambda x: [np.inner(x, Y[0]), np.inner(2.0, x)],
    "insert": lambda x: np.insert(x, 1, 0.0, axis=1),
    "interp": lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 3.0, 4.0]),
    "isclose": lambda x: x * np.isclose(x, 1.27),
    "kron": lambda x: np.kron(x, Y),
    "linalg.det": lambda x: np.linalg.det(x @ x.T),
    "linalg.inv": lambda x: np.linalg.inv(x @ x.T),
    "linalg.norm": lambda x: [np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x, 1),
                              np.linalg.norm(x, "fro", (0, 1), True), np.linalg.norm(x[0], 3),
                              np.linalg.norm(x, np.inf, axis=0, keepdims=True),
                              np.linalg.norm(x, "nuc"), np.linalg.norm(x, 2, (1, 0), True)],
    "linalg.pinv": lambda x: [np.linalg.pinv(x), np.linalg.pinv(x, 1e-9)],
    "linalg.solve": lambda x: np.linalg.solve(x @ x.T, x),
    "linalg.svd": lambda x: np.linalg.svd(x, compute_uv=False),
    "log": lambda x: [np.log(x), np.log1p(x), np.log2(x)],
    "logaddexp": lambda x: np.logaddexp(x, 1.0),
    "matmul": lambda x: np.matmul(x, x.T),
    "max": lambda x: [np.max(x), np.max(x, 1, None, True), np.max(x, initial=1.0, where=X < 1.2)],
    "maximum": lambda x: np.maximum(x, 1.0),
    "mean": lambda x: [np.mean(x), np.mean(x, 0, "float64"), np.mean(x, axis=1, keepdims=True)],
    "median": lambda x: [np.median(x), np.median(x, axis=1)],
    "meshgrid": lambda x: np.meshgrid(x[0], x[1]),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "nan_to_num": lambda x: np.nan_to_num(x, True, 0.0),
    "nanmean": lambda x: np.nanmean(x, axis=0),
    "nansum": lambda x: np.nansum(x, axis=0),
    "outer": lambda x: np.outer(x, Z),
    "pad": lambda x: [np.pad(x, 1), np.pad(x, (1, 2)), np.pad(x, ((0, 1), (2, 0)), "edge")],
    "partition": lambda x: np.partition(x, 1),
    "percentile": lambda x: np.percentile(x, 30),
    "power": lambda x: np.power(x, 3),
    "prod": lambda x: np.prod(x, 1),
    "ptp": lambda x: [np.ptp(x), np.ptp(x, axis=1)],
    "quantile": lambda x: np.quantile(x, 0.3, axis=1),
    "ravel": lambda x: np.ravel(x, "F"),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "reshape": lambda x: [np.reshape(x, (3, 2), "F"), np.reshape(x, -1)],
    "roll": lambda x: [np.roll(x, 1), np.roll(x, 1, axis=1)],
    "rot90": lambda x: [np.rot90(x, k) for k in range(-1, 4)] + [np.rot90(x[None], axes=(2, 1))],
    "select": lambda x: np.select([X > 1, X > 0.5], [x, x**2]),
    "sinc": lambda x: [np.sinc(x), np.sinc(x - X)],
    "sort": lambda x: [np.sort(x), np.sort(x, axis=None), np.sort(x, 0, "stable")],
    "split": lambda x: [*np.split(x, 3, axis=1), *np.array_split(x[0], 2), *np.split(x, [1])],
    "sqrt": lambda x: np.sqrt(x),
    "square": lambda x: np.square(x),
    "stack": lambda x: [np.stack((x, X), axis=1), np.stack([x[0], [1.0, 2.0, 3.0]])],
    "std": lambda x: np.std(x, axis=1, ddof=1),
    "sum": lambda x: [np.sum(x), np.sum(x, 0), np.sum(x, where=[True, False, True])],
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[0], [2]]), axis=1),
    "tanh": lambda x: np.tanh(x),
    "tensordot": lambda x: [np.tensordot(x, X.T, 1), np.tensordot(x, x, ([0, 1], [0, 1]))],
    "tile": lambda x: [np.tile(x, 2), np.tile(x, reps=(2, 1)), np.tile(x, np.int64(2))],
    "trace": lambda x: np.trace(x, axis1=1, axis2=0),
    "transpose": lambda x: np.transpose(x, axes=(1, 0)),
    "trapezoid": lambda x: [np.trapezoid(x, axis=1), np.trapezoid(x, x**2),
                            np.trapezoid(Y[0], x[0])],
    "tril": lambda x: [np.tril(x), np.triu(x, 1)],
    "unique": lambda x: [np.unique(x), np.unique_values(x), np.unique_all(x).values,
                         np.unique(x, return_index=True, return_counts=True)[0],
                         np.unique_counts(x).values, np.unique_inverse(x).values],
    "unwrap": lambda x: np.unwrap(x),
    "var": lambda x: [np.var(x), np.var(x, 0, None, None, 1)],
    "vdot": lambda x: np.vdot(x, x),
    "vstack": lambda x: [np.vstack((x, X)), np.vstack([x[0], x[1]])],
    "where": lambda x: np.where(X > 1, x, x**2),
    "angle": lambda x: np.angle(x * (1 + 2j) + 1),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "degrees": lambda x: [np.degrees(x), np.rad2deg(x), np.radians(x), np.deg2rad(x)],
    "fmax": lambda x: [np.fmax(x, 1.0), np.fmin(1.0, x)],
    "fmin": lambda x: [np.fmin(x, X[::-1]), np.fmax(x, np.where(X > 1, np.nan, 0.0))],
    "fft2": lambda x: [np.fft.fft2(x), np.fft.ifft2(x), np.fft.rfft2(x), np.fft.irfft2(x)],
    "linalg.eig": lambda x: np.linalg.eig(x @ x.T)[0],
    "linalg.eig, vectors": lambda x: np.abs(np.linalg.eig(x[:, :2])[1]),
    "linspace": lambda x: [np.linspace(x[0], x[1], 4), np.linspace(x[0], x[1], 4, axis=1),
                           np.linspace(x, 2.0, 3, False),
                           *np.linspace(x[0], 1.0, 5, retstep=True)],
    "logaddexp2": lambda x: np.logaddexp2(x, 1.0),
    "real_if_close": lambda x: np.real_if_close(x),
    "rollaxis": lambda x: np.rollaxis(x, 1),
    "splits": lambda x: [*np.hsplit(x, 3), *np.vsplit(x, 2), *np.dsplit(x[None], 3)],
}  # fmt: skip

# What has no rule yet: refused by our sentence, never answered without a gradient.
WITHOUT_RULE = {"cov", "gradient", "insert", "interp", "percentile", "quantile", "unwrap"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    if name in WITHOUT_RULE:
        with pytest.raises(NotSupportedError, match="no derivative rule"):
            inside_gradient(FUNCTIONS[name])
    else:
        check_gradient(FUNCTIONS[name], X)


SUPPORTED = {f"np.{name}": fn for name, fn in FUNCTIONS.items() if name not in WITHOUT_RULE}
SUPPORTED.update({f"x.{name}": fn for name, fn in DIFFERENTIABLE.items()})


@pytest.mark.parametrize("name", SUPPORTED)
def test_float32_gives_the_types_of_plain_arrays(name):
    fn, x, types = SUPPORTED[name], X.astype("float32"), []

    def loss(x):
        result = fn(x)
        types.extend([part.dtype for part in parts(result)])
        return total(result)

    assert trellis.grad(loss)(x).dtype == x.dtype
    assert types == [part.dtype for part in parts(fn(x))]


def test_arguments_of_rules():
    """A rule takes its arguments in NumPy's order and swallows none that it does not know."""
    from trellis._backends.numpy._tape import RULES

    checked = 0
    for function, rule in RULES.items():
        if isinstance(function, (str, np.ufunc)) or hasattr(rule, "makers"):
            continue  # the function itself, recorded: it gets all arguments as they are
        ours = list(inspect.signature(rule).parameters.values())
        if rule.__qualname__.startswith("constant."):
            continue  # these hand all of it to NumPy
        assert not [p for p in ours if p.kind is p.VAR_KEYWORD], function
        try:
            theirs = list(inspect.signature(function).parameters.values())
        except ValueError:  # written in C, and says nothing
            continue
        checked += 1
        for mine, other in zip(ours, theirs):
            if mine.kind is not mine.POSITIONAL_OR_KEYWORD or other.kind is other.KEYWORD_ONLY:
                break
            if mine.default is not mine.empty:
                assert mine.name == other.name, function
    assert checked > 50


def test_element_of_a_plain_array():
    """NumPy puts an error of its own before ours, which tells why."""
    with pytest.raises(ValueError, match="setting an array element") as caught:
        inside_gradient(lambda x: operator.setitem(np.zeros(3), 0, x[0, 0]))
    assert isinstance(caught.value.__cause__, TracingError)


def test_where_of_one_argument():
    np.testing.assert_equal(inside_gradient(lambda x: np.where(x > 1)), np.where(X > 1))
    np.testing.assert_equal(inside_gradient(lambda x: np.where(x)), np.where(X))
