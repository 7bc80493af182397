"""pyhf's tensor backends as one class over Trellis: NumPy, JAX, PyTorch and TensorFlow.

    import pyhf
    import pyhf_backend

    pyhf_backend.install()
    pyhf.set_backend("pytorch")  # its functions now run by way of Trellis

This is the layer of pyhf 0.7, and of the functions that fits call: their gradients are those of
`trellis.value_and_grad`, which NumPy has too (`do_grad=True`; in pyhf it has none).
"""

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pyhf
from pyhf.optimize import common
from pyhf.tensor import BackendRetriever

import trellis
from trellis.special import gammaln, ndtr, xlogy

ROOT_TWO_PI = (2 * trellis.pi) ** 0.5
# pyhf's name: ours. Frameworks, functions of arrays, and those of an array and an axis.
FRAMEWORKS = {"numpy": "numpy", "jax": "jax", "pytorch": "torch", "tensorflow": "tensorflow"}
SAME = {name: name for name in ("abs", "divide", "erf", "erfinv", "exp", "isfinite", "log")}
SAME |= {"power": "pow", "sqrt": "sqrt", "tile": "tile", "where": "where"}
REDUCTIONS = {"sum": "sum", "product": "prod"}
TYPES = {"64b": ("float64", "int64", "bool"), "32b": ("float32", "int32", "bool")}


class Distribution:
    """Draws with NumPy's generator, as pyhf's own; densities are those of the backend."""

    def __init__(self, backend: "TrellisBackend", log_density: Any, draw: Any, *parameters: Any):
        self._backend, self._log_density, self._draw = backend, log_density, draw
        self._parameters = [backend.astensor(p) for p in parameters]

    def sample(self, sample_shape: Any) -> Any:
        given = [self._backend.to_numpy(p) for p in self._parameters]
        return self._backend.astensor(self._draw(*given, size=(*sample_shape, *given[0].shape)))

    def log_prob(self, value: Any) -> Any:
        return self._log_density(value, *self._parameters)


class TrellisBackend:
    """One framework of pyhf, by way of Trellis; subclasses say which."""

    __slots__ = ("dtypemap", "precision", "xp")
    name = "numpy"
    framework = "numpy"
    default_do_grad = False
    array_type: Any = np.ndarray
    array_subtype: Any = np.number

    def __init__(self, **options: Any):
        self.xp = trellis.namespace(self.framework)
        self.precision = options.get("precision", "64b")
        types = [getattr(self.xp, name) for name in TYPES[self.precision]]
        self.dtypemap = dict(zip(("float", "int", "bool"), types, strict=True))

    def _setup(self) -> None:
        pass

    # Tensors and what they are --------------------------------------------------------------------

    def astensor(self, tensor_in: Any, dtype: str = "float") -> Any:
        kind = self.dtypemap[dtype]
        if trellis.is_array(tensor_in) and trellis.backend_of(tensor_in) == self.framework:
            return trellis.astype(tensor_in, kind)
        if isinstance(tensor_in, list | tuple) and _holds_arrays(tensor_in):
            return trellis.stack([self.astensor(x, dtype) for x in tensor_in])
        return self.xp.from_numpy(np.asarray(tensor_in, TYPES[self.precision][_place(dtype)]))

    def tolist(self, tensor_in: Any) -> Any:
        return self.to_numpy(tensor_in).tolist() if trellis.is_array(tensor_in) else tensor_in

    def to_numpy(self, tensor_in: Any) -> Any:
        return trellis.to_numpy(trellis.stop_gradient(tensor_in))

    def shape(self, tensor: Any) -> tuple[int, ...]:
        return tuple(tensor.shape)

    def _array(self, x: Any) -> Any:
        """What pyhf gives to functions of tensors: lists too, which keep their kind."""
        if trellis.is_array(x) and trellis.backend_of(x) == self.framework:
            return x
        if isinstance(x, list | tuple) and _holds_arrays(x):
            return trellis.stack([self._array(item) for item in x])
        return self.astensor(x, {"b": "bool", "i": "int"}.get(np.asarray(x).dtype.kind, "float"))

    def ones(self, shape: Any, dtype: str = "float") -> Any:
        return self.xp.ones(shape, dtype=self.dtypemap[dtype])

    def zeros(self, shape: Any, dtype: str = "float") -> Any:
        return self.xp.zeros(shape, dtype=self.dtypemap[dtype])

    # Shapes and order -----------------------------------------------------------------------------

    def reshape(self, tensor: Any, newshape: Any) -> Any:
        return trellis.reshape(tensor, (newshape,) if isinstance(newshape, int) else newshape)

    def ravel(self, tensor: Any) -> Any:
        return trellis.reshape(self._array(tensor), (-1,))

    def transpose(self, tensor_in: Any) -> Any:
        return trellis.permute_dims(tensor_in, tuple(range(len(tensor_in.shape)))[::-1])

    def stack(self, sequence: Any, axis: int = 0) -> Any:
        return trellis.stack([self._array(x) for x in sequence], axis=axis)

    def concatenate(self, sequence: Any, axis: int = 0) -> Any:
        return trellis.concat([self._array(x) for x in sequence], axis=axis)

    def simple_broadcast(self, *args: Any) -> Any:
        return trellis.broadcast_arrays(*[self._array(x) for x in args])

    def gather(self, tensor: Any, indices: Any) -> Any:
        return trellis.at(tensor, indices).get()

    def boolean_mask(self, tensor: Any, mask: Any) -> Any:
        return trellis.at(tensor, mask).get()

    def conditional(self, predicate: Any, true_callable: Any, false_callable: Any) -> Any:
        return trellis.cond(predicate, true_callable, false_callable)

    def outer(self, tensor_in_1: Any, tensor_in_2: Any) -> Any:
        return trellis.linalg.outer(tensor_in_1, tensor_in_2)

    def clip(self, tensor_in: Any, min_value: Any, max_value: Any) -> Any:
        return trellis.clip(self._array(tensor_in), min_value, max_value)

    def einsum(self, subscripts: str, *operands: Any) -> Any:
        return trellis.einsum(subscripts, *[self._array(x) for x in operands])

    def percentile(
        self, tensor_in: Any, q: Any, axis: Any = None, method: str = "linear", **names: str
    ) -> Any:
        method = names.get("interpolation", method)  # the argument's name before pyhf 0.8
        return trellis.percentile(self._array(tensor_in), q, axis=axis, method=method)

    # Densities ------------------------------------------------------------------------------------

    def poisson_logpdf(self, n: Any, lam: Any) -> Any:
        n, lam = self.astensor(n), self.astensor(lam)
        return xlogy(n, lam) - lam - gammaln(n + 1.0)

    def poisson(self, n: Any, lam: Any) -> Any:
        return trellis.exp(self.poisson_logpdf(n, lam))

    def normal_logpdf(self, x: Any, mu: Any, sigma: Any) -> Any:
        x, mu, sigma = self.astensor(x), self.astensor(mu), self.astensor(sigma)
        away = (x - mu) / sigma
        return -trellis.log(ROOT_TWO_PI * sigma) + -away * away / 2

    def normal(self, x: Any, mu: Any, sigma: Any) -> Any:
        return trellis.exp(self.normal_logpdf(x, mu, sigma))

    def normal_cdf(self, x: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
        return ndtr((self.astensor(x) - self.astensor(mu)) / self.astensor(sigma))

    def poisson_dist(self, rate: Any) -> Distribution:
        return Distribution(self, self.poisson_logpdf, np.random.poisson, rate)

    def normal_dist(self, mu: Any, sigma: Any) -> Distribution:
        return Distribution(self, self.normal_logpdf, np.random.normal, mu, sigma)


def _holds_arrays(data: Any) -> bool:
    return any([trellis.is_array(x) for x in data])


def _place(dtype: str) -> int:
    return ("float", "int", "bool").index(dtype)


def _same(fn: Callable[..., Any]) -> Any:
    return lambda self, x, *rest: fn(self._array(x), *rest)


def _reduction(fn: Callable[..., Any]) -> Any:
    return lambda self, tensor_in, axis=None: fn(self._array(tensor_in), axis=axis)


for _table, _made in ((SAME, _same), (REDUCTIONS, _reduction)):
    for _name, _ours in _table.items():
        setattr(TrellisBackend, _name, _made(getattr(trellis, _ours)))


def _class_of(name: str) -> type[TrellisBackend]:
    framework = FRAMEWORKS[name]
    if name == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)  # as pyhf's own does
    example = trellis.zeros((), backend=framework)
    given: dict[str, Any] = {"name": name, "framework": framework, "__slots__": ()}
    given |= {"default_do_grad": name != "numpy"}
    given |= {"array_type": type(example), "array_subtype": type(example)}
    return type(f"{name}_over_trellis", (TrellisBackend,), given)


def wrap_objective(
    objective: Any, data: Any, pdf: Any, stitch_pars: Any, do_grad: bool = False, **_: Any
) -> Any:
    """In the place of pyhf's three shims: the objective, with its gradient if that is wanted."""
    tensorlib, _optimizer = pyhf.get_backend()

    def loss(pars: Any) -> Any:
        return objective(stitch_pars(pars), data, pdf)[0]

    def func(pars: Any) -> Any:
        pars = tensorlib.astensor(pars)
        return trellis.value_and_grad(loss)(pars) if do_grad else loss(pars)

    return func


def install() -> list[type[TrellisBackend]]:
    """Replace pyhf's backends for the frameworks that are installed; returns ours."""
    made = []
    for name, framework in FRAMEWORKS.items():
        if not trellis.backends(framework).is_installed:
            continue
        made.append(_class_of(name))
        attribute = f"{name}_backend"
        setattr(BackendRetriever, attribute, made[-1])
        # pyhf imports a backend from the module of this name where it looks for one anew.
        module = types.ModuleType(f"pyhf.tensor.{attribute}")
        setattr(module, attribute, made[-1])
        sys.modules[module.__name__] = module
        BackendRetriever._array_types.add(made[-1].array_type)
        BackendRetriever._array_subtypes.add(made[-1].array_subtype)
    common._get_tensor_shim = lambda: wrap_objective
    pyhf.set_backend("numpy", default=True)
    return made
