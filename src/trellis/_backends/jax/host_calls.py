"""Functions of NumPy arrays that a compiled program calls when it runs."""

from typing import Any

import jax
import numpy as np

from ..._core.announced import known
from ..shared.host_calls import checked, no_derivative
from ._types import Array
from .casting import as_dtype
from .gradients import custom_vjp
from .interchange import from_numpy, to_numpy


def callback(make: Any, given: Any, xs: list[Array], shapes: Any, names: Any) -> list[Array]:
    fn = make(*given)
    if not any([isinstance(x, jax.core.Tracer) for x in xs]):
        found = checked(fn([to_numpy(x) for x in xs]), shapes, names)
        return [from_numpy(y) for y in found]
    sizes = known(shapes, "JAX")
    results = [
        jax.ShapeDtypeStruct(shape, as_dtype(name))
        for shape, name in zip(sizes, names, strict=True)
    ]

    def on_host(*arrays: Any) -> list[Any]:
        return checked(fn([np.asarray(x) for x in arrays]), sizes, names)

    def call(arrays: list[Array]) -> list[Array]:
        return list(jax.pure_callback(on_host, results, *arrays, vmap_method="sequential"))

    return custom_vjp(call, no_derivative)(xs)
