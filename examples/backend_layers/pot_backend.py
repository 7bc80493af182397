"""POT's backends (`ot.backend`) as one class over Trellis: NumPy, JAX, PyTorch and TensorFlow.

    import pot_backend

    pot_backend.install()  # before arrays are passed to POT
    ot.sinkhorn2(a, b, M, 0.1)

POT 0.9.7 writes each of its functions once more for each framework. Here a method says how POT
calls its arguments, and Trellis runs it where the arrays are. Sparse matrices stay POT's own:
Trellis has none. POT's types without a hint (`type_as=None`) are float64, as in NumPy.
"""

import time
from typing import Any

import numpy as np
import ot
import ot.backend

import trellis
from trellis.errors import PrecisionError, TracingError

# POT's name of a framework, its class, and the framework.
FRAMEWORKS = {
    "numpy": ("NumpyBackend", "numpy"),
    "torch": ("TorchBackend", "torch"),
    "jax": ("JaxBackend", "jax"),
    "tf": ("TensorflowBackend", "tensorflow"),
}
SPARSE = ("coo_matrix", "issparse", "tocsr", "eliminate_zeros", "todense", "sparse_coo_data")
ALIKE = {
    name: name for name in "sign exp log sqrt isnan isinf real imag conj floor isfinite".split()
}
ALIKE |= {"arccos": "acos"}
REDUCED = {name: name for name in ("mean", "median", "std", "argmax", "argmin")}
REDUCED |= {"cumsum": "cumulative_sum", "flip": "flip"}


class TrellisBackend(ot.backend.Backend):
    """One framework of POT, by way of Trellis; subclasses say which."""

    framework = ""

    def __init__(self) -> None:
        self.xp = trellis.namespace(self.framework)
        if self.framework == "numpy":  # what POT looks for is the class's: traced arrays, too
            self.__type__ = np.ndarray
        self.__type_list__ = [self._types(dtype) for dtype in ("float32", "float64")]
        self.__type_list__ = [x for x in self.__type_list__ if x is not None]
        self.seed(42)

    # Between POT and Trellis ----------------------------------------------------------------------

    def _types(self, dtype: str) -> Any:
        try:
            return self.xp.asarray(1, dtype=dtype)
        except PrecisionError:  # JAX without its 64-bit types
            return None

    def _array(self, a: Any) -> Any:
        """POT passes Python's numbers and lists too, where NumPy would take them."""
        a = self.todense(a)
        return a if trellis.is_array(a) else self.xp.asarray(a, dtype=_kind(a))

    def _like(self, type_as: Any) -> dict[str, Any]:
        if type_as is None:
            return {"dtype": trellis.dtype(self.__type_list__[-1])}
        return {"dtype": trellis.dtype(type_as), "device": _device(type_as)}

    def _to_numpy(self, a: Any) -> Any:
        return trellis.to_numpy(trellis.stop_gradient(a)) if trellis.is_array(a) else np.asarray(a)

    def _from_numpy(self, a: Any, type_as: Any = None) -> Any:
        if type_as is None:
            return a if self.framework == "numpy" else self.xp.asarray(np.array(a))
        if self.framework == "numpy" and isinstance(a, float):
            return a
        return self.xp.asarray(np.asarray(a), **self._like(type_as))

    def _detach(self, a: Any) -> Any:
        return trellis.stop_gradient(a)

    def set_gradients(self, val: Any, inputs: Any, grads: Any) -> Any:
        """`val`, with the derivatives `grads` by `inputs`: a term that is 0, but for them."""
        if not any([self._is_followed(x) for x in inputs]):
            return val
        terms = [
            trellis.sum(x * trellis.stop_gradient(g)) for x, g in zip(inputs, grads, strict=True)
        ]
        change = sum(terms[1:], terms[0])
        return trellis.stop_gradient(val) + (change - trellis.stop_gradient(change))

    def _is_followed(self, x: Any) -> bool:
        """Whether something may differentiate by `x`."""
        if not isinstance(x, self.xp.ARRAY_TYPES):
            return trellis.is_array(x) and not isinstance(x, np.generic)  # a variable
        try:
            self.xp.check_leaving(x)
        except TracingError:
            return True
        return not self.xp.lasts(x)

    # Arrays from nothing --------------------------------------------------------------------------

    def zeros(self, shape: Any, type_as: Any = None) -> Any:
        return self.xp.zeros(shape, **self._like(type_as))

    def ones(self, shape: Any, type_as: Any = None) -> Any:
        return self.xp.ones(shape, **self._like(type_as))

    def full(self, shape: Any, fill_value: Any, type_as: Any = None) -> Any:
        return self.xp.full(shape, fill_value, **self._like(type_as))

    def eye(self, N: int, M: int | None = None, type_as: Any = None) -> Any:
        return self.xp.eye(N, M, **self._like(type_as))

    def arange(self, stop: Any, start: Any = 0, step: Any = 1, type_as: Any = None) -> Any:
        device = {} if type_as is None else {"device": _device(type_as)}
        return self.xp.arange(start, stop, step, **device)

    def linspace(self, start: Any, stop: Any, num: int, type_as: Any = None) -> Any:
        return self.xp.linspace(float(start), float(stop), num, **self._like(type_as))

    def seed(self, seed: int | None = None) -> None:
        if seed is not None:
            self.rng_ = trellis.random.key(seed, backend=self.framework)

    def _key(self) -> Any:
        keys = trellis.random.split(self.rng_)
        self.rng_ = keys[0]
        return keys[1]

    def rand(self, *size: int, type_as: Any = None) -> Any:
        return trellis.random.uniform(self._key(), size, self._like(type_as)["dtype"])

    def randn(self, *size: int, type_as: Any = None) -> Any:
        return trellis.random.normal(self._key(), size, self._like(type_as)["dtype"])

    def randperm(self, size: int, type_as: Any = None) -> Any:
        if not isinstance(size, int):
            raise ValueError("size must be an integer")
        return trellis.random.permutation(self._key(), size)

    # Element by element, and reductions; more of them below ---------------------------------------

    def abs(self, a: Any) -> Any:
        return trellis.abs(self._array(a))

    def maximum(self, a: Any, b: Any) -> Any:
        return trellis.maximum(self._array(a), self._array(b))

    def minimum(self, a: Any, b: Any) -> Any:
        return trellis.minimum(self._array(a), self._array(b))

    def power(self, a: Any, exponents: Any) -> Any:
        return trellis.pow(self._array(a), exponents)

    def clip(self, a: Any, a_min: Any = None, a_max: Any = None) -> Any:
        return trellis.clip(self._array(a), a_min, a_max)

    def atan2(self, a: Any, b: Any) -> Any:
        return trellis.atan2(a, b)

    def nan_to_num(
        self, x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
    ) -> Any:
        return trellis.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    def where(self, condition: Any, x: Any = None, y: Any = None) -> Any:
        if x is None and y is None:
            return trellis.nonzero(condition)
        return trellis.where(condition, x, y)

    def sum(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return trellis.sum(self._array(a), axis=axis, keepdims=keepdims)

    def max(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return trellis.max(self._array(a), axis=axis, keepdims=keepdims)

    def min(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return trellis.min(self._array(a), axis=axis, keepdims=keepdims)

    def prod(self, a: Any, axis: Any = 0) -> Any:
        return trellis.prod(a, axis=axis)

    def any(self, a: Any) -> Any:
        return trellis.any(self._array(a))

    def norm(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return trellis.linalg.vector_norm(a, axis=axis, keepdims=keepdims)

    def logsumexp(self, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return trellis.logsumexp(a, axis=axis, keepdims=keepdims)

    def kl_div(
        self, p: Any, q: Any, mass: bool = False, eps: float = 1e-16, axis: Any = None
    ) -> Any:
        value = trellis.sum(p * trellis.log(p / q + eps), axis=axis)
        return value + trellis.sum(q - p, axis=axis) if mass else value

    def allclose(
        self, a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Any:
        a, b = self._array(a), self._array(b)
        return bool(trellis.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))

    def array_equal(self, a: Any, b: Any) -> Any:
        return bool(trellis.array_equal(a, b))

    # Order ----------------------------------------------------------------------------------------

    def sort(self, a: Any, axis: int = -1) -> Any:
        return trellis.sort(a, axis=axis)

    def argsort(self, a: Any, axis: int = -1) -> Any:
        return trellis.argsort(a, axis=axis)

    def sort2(self, a: Any, axis: int = -1) -> Any:
        order = trellis.argsort(a, axis=axis)
        return trellis.take_along_axis(a, order, axis=axis), order

    def searchsorted(self, a: Any, v: Any, side: Any = "left") -> Any:
        return trellis.searchsorted(a, v, side=side)

    def unique(self, a: Any, return_inverse: bool = False) -> Any:
        return trellis.unique_inverse(a) if return_inverse else trellis.unique_values(a)

    # Shapes ---------------------------------------------------------------------------------------

    def reshape(self, a: Any, shape: Any) -> Any:
        return trellis.reshape(self._array(a), (shape,) if isinstance(shape, int) else tuple(shape))

    def transpose(self, a: Any, axes: Any = None) -> Any:
        return trellis.permute_dims(a, tuple(range(len(a.shape)))[::-1] if axes is None else axes)

    def squeeze(self, a: Any, axis: Any = None) -> Any:
        return trellis.squeeze(a, axis)

    def unsqueeze(self, a: Any, axis: Any) -> Any:
        return trellis.expand_dims(a, axis)

    def concatenate(self, arrays: Any, axis: Any = 0) -> Any:
        return trellis.concat([self._array(a) for a in arrays], axis=axis)

    def stack(self, arrays: Any, axis: int = 0) -> Any:
        return trellis.stack([self._array(a) for a in arrays], axis=axis)

    def repeat(self, a: Any, repeats: Any, axis: Any = None) -> Any:
        return trellis.repeat(a, repeats, axis=axis)

    def tile(self, a: Any, reps: Any) -> Any:
        return trellis.tile(a, (reps,) if isinstance(reps, int) else tuple(reps))

    def zero_pad(self, a: Any, pad_width: Any, value: Any = 0) -> Any:
        return trellis.pad(a, pad_width, constant_values=value)

    def meshgrid(self, a: Any, b: Any) -> Any:
        return trellis.meshgrid(a, b)

    def take_along_axis(self, arr: Any, indices: Any, axis: int) -> Any:
        return trellis.take_along_axis(arr, indices, axis=axis)

    def copy(self, a: Any) -> Any:
        return self.xp.asarray(a, copy=True)

    # Linear algebra -------------------------------------------------------------------------------

    def dot(self, a: Any, b: Any) -> Any:
        a, b = self._array(a), self._array(b)
        return trellis.matmul(a, b) if len(a.shape) and len(b.shape) else a * b

    def matmul(self, a: Any, b: Any) -> Any:
        return trellis.matmul(a, b)

    def outer(self, a: Any, b: Any) -> Any:
        return trellis.linalg.outer(a, b)

    def einsum(self, subscripts: str, *operands: Any) -> Any:
        return trellis.einsum(subscripts, *operands)

    def diag(self, a: Any, k: int = 0) -> Any:
        return trellis.diag(a, k=k)

    def trace(self, a: Any) -> Any:
        return trellis.linalg.trace(a)

    def solve(self, a: Any, b: Any) -> Any:
        return trellis.linalg.solve(a, b)

    def inv(self, a: Any) -> Any:
        return trellis.linalg.inv(a)

    def pinv(self, a: Any, hermitian: bool = False) -> Any:
        return trellis.linalg.pinv(a)

    def det(self, a: Any) -> Any:
        return trellis.linalg.det(a)

    def slogdet(self, a: Any) -> Any:
        return trellis.linalg.slogdet(a)

    def qr(self, a: Any) -> Any:
        return trellis.linalg.qr(a)

    def eigh(self, a: Any) -> Any:
        return trellis.linalg.eigh(a)

    def sqrtm(self, a: Any) -> Any:
        values, vectors = trellis.linalg.eigh((a + trellis.linalg.matrix_transpose(a)) / 2)
        scaled = vectors * trellis.expand_dims(trellis.sqrt(values), -2)
        return trellis.matmul(scaled, trellis.linalg.matrix_transpose(vectors))

    # Types and devices ----------------------------------------------------------------------------

    def is_floating_point(self, a: Any) -> bool:
        return trellis.isdtype(trellis.dtype(a), "real floating")

    def bitsize(self, type_as: Any) -> int:
        return trellis.finfo(trellis.dtype(type_as)).bits

    def dtype_device(self, a: Any) -> Any:
        if not trellis.is_array(a):
            return type(a), "cpu"
        return a.dtype, "cpu" if self.framework == "numpy" else _device(a)

    def assert_same_dtype_device(self, a: Any, b: Any) -> None:
        if self.framework != "numpy":  # which converts by itself
            first, second = self.dtype_device(a), self.dtype_device(b)
            assert first[0] == second[0], "Dtype discrepancy"
            assert first[1] == second[1], f"Device discrepancy: {first[1]} and {second[1]}"

    def device_type(self, type_as: Any) -> str:
        return "GPU" if "gpu" in str(_device(type_as)).lower().replace("cuda", "gpu") else "CPU"

    def _bench(self, callable: Any, *args: Any, n_runs: int = 1, warmup_runs: int = 1) -> Any:
        results = {}
        for type_as in self.__type_list__:
            inputs = [self.from_numpy(arg, type_as=type_as) for arg in args]
            for _ in range(warmup_runs):
                callable(*inputs)
            start = time.perf_counter()
            for _ in range(n_runs):
                self.to_numpy(callable(*inputs))  # waits for the result
            key = (str(self).capitalize(), self.device_type(type_as), self.bitsize(type_as))
            results[key] = (time.perf_counter() - start) / n_runs
        return results


def _kind(a: Any) -> str | None:
    """NumPy makes float64 of Python's floats; Trellis takes its default."""
    return "float64" if np.asarray(a).dtype.kind == "f" else None


def _device(x: Any) -> Any:
    return trellis.device(x)


def _method(name: str, has_axis: bool) -> Any:
    call = getattr(trellis, name)
    if has_axis:
        return lambda self, a, axis=None: call(self._array(a), axis=axis)
    return lambda self, a: call(self._array(a))


for _name, _ours in (ALIKE | REDUCED).items():
    setattr(TrellisBackend, _name, _method(_ours, _name in REDUCED))


def install() -> list[type[TrellisBackend]]:
    """Replace POT's classes, for the frameworks that are installed; returns ours."""
    made = []
    for name, (title, framework) in FRAMEWORKS.items():
        if not trellis.backends(framework).is_installed:
            continue
        own = getattr(ot.backend, title)
        body = {method: getattr(own, method) for method in SPARSE}
        body |= {"__name__": name, "framework": framework, "__type__": own.__type__}
        if framework == "numpy":  # arrays, and those that `trellis.grad` follows; no scalars
            body["__type__"] = trellis.namespace("numpy").ARRAY_TYPES[:2]
        cls = type(title, (TrellisBackend,), body)
        setattr(ot.backend, title, cls)
        made.append(cls)
    ot.backend._BACKENDS.clear()
    ot.backend._BACKEND_IMPLEMENTATIONS[:] = made
    return made
