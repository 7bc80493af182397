"""tensorly's backends as one class over Trellis: NumPy, JAX, PyTorch and TensorFlow.

    import tensorly
    import tensorly_backend

    tensorly_backend.install()
    tensorly.set_backend("pytorch")  # its functions now run by way of Trellis

tensorly 0.9 and 0.10 register the functions of a framework under NumPy's names. Here they are those
of Trellis, under the names and with the arguments that tensorly uses.
"""

import importlib
import types
from typing import Any

import numpy as np
from tensorly.backend import BackendManager
from tensorly.backend.core import Backend

import trellis

FRAMEWORKS = {"numpy": "numpy", "jax": "jax", "pytorch": "torch", "tensorflow": "tensorflow"}
# tensorly's name: ours. Functions of one array, of an array and an axis, and of several arrays.
CURVES = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
ELEMENTWISE = {name: name for name in ("exp", "log", "log2", "sqrt", "abs", "sign", *CURVES)}
ELEMENTWISE |= {f"arc{name}": f"a{name}" for name in CURVES}
ELEMENTWISE |= {"conj": "conj", "zeros_like": "zeros_like"}
REDUCTIONS = {name: name for name in ("all", "any", "max", "min", "mean", "sum", "prod")}
REDUCTIONS |= {name: name for name in ("argmax", "argmin", "count_nonzero", "flip", "logsumexp")}
REDUCTIONS |= {"cumsum": "cumulative_sum"}
SEVERAL = {name: name for name in ("matmul", "maximum", "minimum", "kron", "moveaxis")}
TYPES = ("int32", "int64", "float32", "float64", "complex64", "complex128")
CONSTANTS = {"pi": trellis.pi, "e": trellis.e, "inf": trellis.inf, "nan": trellis.nan}


class TrellisBackend(Backend, backend_name="trellis"):
    """One framework of tensorly, by way of Trellis; subclasses say which."""

    framework = "numpy"

    def __init__(self) -> None:
        self.xp = trellis.namespace(self.framework)

    def __getattribute__(self, name: str) -> Any:
        if name in TYPES:  # the framework's own
            return getattr(object.__getattribute__(self, "xp"), name)
        return CONSTANTS[name] if name in CONSTANTS else object.__getattribute__(self, name)

    # Tensors and what they are --------------------------------------------------------------------

    def tensor(self, data: Any, dtype: Any = None, device: Any = None, **_: Any) -> Any:
        if not trellis.is_array(data):
            data = np.array([_number(x) for x in data] if _has_arrays(data) else data)
        elif trellis.backend_of(data) != self.framework:
            data = trellis.to_numpy(trellis.stop_gradient(data))
        return self.xp.asarray(data, dtype=self._own(dtype), device=device, copy=True)

    def _own(self, dtype: Any) -> Any:
        """TensorFlow's users of tensorly pass NumPy's types."""
        return getattr(self.xp, np.dtype(dtype).name) if isinstance(dtype, type) else dtype

    def context(self, tensor: Any) -> dict[str, Any]:
        return {"dtype": tensor.dtype, "device": trellis.device(tensor)}

    def is_tensor(self, obj: Any) -> bool:
        return trellis.is_array(obj) and trellis.backend_of(obj) == self.framework

    def to_numpy(self, tensor: Any) -> Any:
        if not trellis.is_array(tensor):
            return np.asarray(tensor)
        return np.array(trellis.to_numpy(trellis.stop_gradient(tensor)))

    def shape(self, tensor: Any) -> tuple[int, ...]:
        return tuple(tensor.shape)

    def ndim(self, tensor: Any) -> int:
        return len(tensor.shape)

    def copy(self, tensor: Any) -> Any:
        return self.xp.asarray(tensor, copy=True)

    def finfo(self, dtype: Any) -> Any:
        return trellis.finfo(dtype)

    def _array(self, x: Any) -> Any:
        return x if trellis.is_array(x) else self.tensor(x)

    # Tensors from nothing -------------------------------------------------------------------------

    def _like(self, dtype: Any, context: dict[str, Any]) -> dict[str, Any]:
        # tensorly's own default is NumPy's.
        own = self.float64 if dtype is None else self._own(dtype)
        return {"dtype": own, "device": context.get("device")}

    def zeros(self, shape: Any, dtype: Any = None, **context: Any) -> Any:
        return self.xp.zeros(shape, **self._like(dtype, context))

    def ones(self, shape: Any, dtype: Any = None, **context: Any) -> Any:
        return self.xp.ones(shape, **self._like(dtype, context))

    def eye(self, N: int, M: int | None = None, dtype: Any = None, **context: Any) -> Any:
        return self.xp.eye(N, M, **self._like(dtype, context))

    def arange(self, start: Any = 0, stop: Any = None, step: Any = 1, **context: Any) -> Any:
        start, stop = (0, start) if stop is None else (start, stop)
        return self.xp.arange(start, stop, 1 if step is None else step, **context)

    # Shapes and order -----------------------------------------------------------------------------

    def reshape(self, tensor: Any, newshape: Any) -> Any:
        shape = (newshape,) if isinstance(newshape, int) else newshape
        return trellis.reshape(self._array(tensor), tuple([int(n) for n in shape]))

    def transpose(self, tensor: Any, axes: Any = None) -> Any:
        order = tuple(range(len(tensor.shape)))[::-1] if axes is None else tuple(axes)
        return trellis.permute_dims(tensor, order)

    def concatenate(self, tensors: Any, axis: int = 0) -> Any:
        return trellis.concat([self._array(x) for x in tensors], axis=axis)

    def stack(self, arrays: Any, axis: int = 0) -> Any:
        return trellis.stack([self._array(x) for x in arrays], axis=axis)

    def sort(self, tensor: Any, axis: Any = -1) -> Any:
        flat = trellis.reshape(tensor, (-1,)) if axis is None else tensor
        return trellis.sort(flat, axis=-1 if axis is None else axis)

    def argsort(self, tensor: Any, axis: Any = -1) -> Any:
        flat = trellis.reshape(tensor, (-1,)) if axis is None else tensor
        return trellis.argsort(flat, axis=-1 if axis is None else axis)

    def clip(self, tensor: Any, a_min: Any = None, a_max: Any = None, **_: Any) -> Any:
        return trellis.clip(tensor, a_min, a_max)

    def where(self, condition: Any, *values: Any) -> Any:
        return trellis.where(condition, *values) if values else trellis.nonzero(condition)

    def index_update(self, tensor: Any, indices: Any, values: Any) -> Any:
        return trellis.at(tensor, indices).set(values)

    # Linear algebra -------------------------------------------------------------------------------

    def dot(self, a: Any, b: Any) -> Any:
        a, b = self._array(a), self._array(b)
        if not a.shape or not b.shape:
            return a * b
        if len(a.shape) > 2 and len(b.shape) > 2:
            return trellis.tensordot(a, b, axes=((-1,), (-2,)))
        return trellis.matmul(a, b)

    def tensordot(self, a: Any, b: Any, axes: Any = 2, **_: Any) -> Any:
        if not isinstance(axes, int):
            axes = tuple([(x,) if isinstance(x, int) else tuple(x) for x in axes])
        return trellis.tensordot(a, b, axes=axes)

    def einsum(self, subscripts: str, *operands: Any) -> Any:
        return trellis.einsum(subscripts, *operands)

    def diag(self, tensor: Any, k: int = 0) -> Any:
        return trellis.diag(tensor, k=k)

    def trace(self, tensor: Any) -> Any:
        return trellis.linalg.trace(tensor)

    def solve(self, a: Any, b: Any) -> Any:
        return trellis.linalg.solve(a, b)

    def lstsq(self, a: Any, b: Any, rcond: Any = None, **_: Any) -> Any:
        x = trellis.matmul(trellis.linalg.pinv(a, rtol=rcond), b)
        if int(trellis.linalg.matrix_rank(a)) < a.shape[1]:  # as in NumPy: then there are none
            return x, self.tensor([], **self.context(a))
        return x, trellis.sum(trellis.square(trellis.matmul(a, x) - b), axis=0)

    def qr(self, a: Any, mode: Any = "reduced") -> Any:
        return tuple(trellis.linalg.qr(a, mode=mode))

    def svd(self, matrix: Any, full_matrices: bool = True) -> Any:
        return tuple(trellis.linalg.svd(matrix, full_matrices=full_matrices))

    def eigh(self, matrix: Any) -> Any:
        return tuple(trellis.linalg.eigh(matrix))


def _has_arrays(data: Any) -> bool:
    return isinstance(data, list | tuple) and any([trellis.is_array(x) for x in data])


def _number(x: Any) -> Any:
    return trellis.to_numpy(trellis.stop_gradient(x)) if trellis.is_array(x) else x


def _elementwise(fn: Any) -> Any:
    return lambda self, x, *_, **context: fn(self._array(x))


def _reduction(fn: Any) -> Any:
    def reduce(self: Any, tensor: Any, axis: Any = None, **options: Any) -> Any:
        axis = tuple(axis) if isinstance(axis, list) else axis
        return fn(self._array(tensor), axis=axis, **options)

    return reduce


def _several(fn: Any) -> Any:
    return lambda self, *xs: fn(*xs)


for _table, _made in ((ELEMENTWISE, _elementwise), (REDUCTIONS, _reduction), (SEVERAL, _several)):
    for _name, _ours in _table.items():
        setattr(TrellisBackend, _name, _made(getattr(trellis, _ours)))


def install() -> list[type[TrellisBackend]]:
    """Replace tensorly's backends for the frameworks that are installed; returns ours."""
    made = []
    for name, framework in FRAMEWORKS.items():
        if not trellis.backends(framework).is_installed:
            continue
        if framework == "tensorflow":  # tensorly's own backend changes TensorFlow in this way, too
            numpy_like = importlib.import_module("tensorflow.experimental.numpy")
            numpy_like.experimental_enable_numpy_behavior()
        cls = types.new_class(f"{name}_over_trellis", (TrellisBackend,), {"backend_name": name})
        cls.framework = framework
        made.append(cls)
        BackendManager._loaded_backends.pop(name, None)
    BackendManager.set_backend(BackendManager.get_backend())
    return made
