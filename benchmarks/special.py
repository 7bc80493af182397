"""What do special functions cost beside each framework's own, on a million elements?

    python benchmarks/special.py [numpy] [jax] [torch] [tensorflow] [ndtri gammaln ...] [--quick]

Compiled on JAX, torch and TensorFlow, and torch eagerly too, with the framework's own function
compiled in the same way; NumPy beside SciPy. What a framework does not have is not in the table.
"""

import sys

from harness import QUICK, Report, one_core

one_core()

import numpy as np
import scipy.special

import trellis
from trellis import special

SIZE = 10**6
BACKENDS = ("numpy", "jax", "torch", "tensorflow")
rng = np.random.default_rng(0)


def between(low, high):
    return rng.uniform(low, high, SIZE)


WIDE, PART, POSITIVE = between(-6.0, 6.0), between(1e-6, 1.0 - 1e-6), between(0.01, 20.0)
ORDER, OTHER = between(0.2, 20.0), between(0.2, 20.0)
# Their arguments; the names that they have in jax.scipy.special, torch.special and tf.math, where
# these are others.
ROWS = {
    "gammaln": ([POSITIVE], {"tensorflow": "lgamma"}),
    "gamma": ([POSITIVE], {}),
    "digamma": ([POSITIVE], {}),
    "zeta": ([1.0 + ORDER, OTHER], {}),
    "erf": ([WIDE], {}),
    "erfc": ([WIDE], {}),
    "erfinv": ([2.0 * PART - 1.0], {}),
    "erfcinv": ([2.0 * PART], {}),
    "erfcx": ([POSITIVE], {}),
    "ndtr": ([WIDE], {}),
    "log_ndtr": ([WIDE], {}),
    "ndtri": ([PART], {}),
    "expit": ([WIDE], {"tensorflow": "sigmoid"}),
    "logit": ([PART], {}),
    "log_expit": ([WIDE], {"tensorflow": "log_sigmoid"}),
    "xlogy": ([WIDE, POSITIVE], {}),
    "xlog1py": ([WIDE, POSITIVE], {}),
    "entr": ([POSITIVE], {}),
    "rel_entr": ([ORDER, OTHER], {}),
    "kl_div": ([ORDER, OTHER], {}),
    "i0": ([WIDE], {"tensorflow": "bessel_i0"}),
    "i0e": ([WIDE], {"tensorflow": "bessel_i0e"}),
    "i1": ([WIDE], {"tensorflow": "bessel_i1"}),
    "i1e": ([WIDE], {"tensorflow": "bessel_i1e"}),
    "j0": ([POSITIVE], {"torch": "bessel_j0", "tensorflow": "special.bessel_j0"}),
    "j1": ([POSITIVE], {"torch": "bessel_j1", "tensorflow": "special.bessel_j1"}),
    "y0": ([POSITIVE], {"torch": "bessel_y0", "tensorflow": "special.bessel_y0"}),
    "y1": ([POSITIVE], {"torch": "bessel_y1", "tensorflow": "special.bessel_y1"}),
    "exp1": ([POSITIVE], {}),
    "expi": ([POSITIVE], {"tensorflow": "special.expint"}),
    "gammainc": ([ORDER, OTHER], {"tensorflow": "igamma"}),
    "gammaincc": ([ORDER, OTHER], {"tensorflow": "igammac"}),
    "gammaincinv": ([ORDER, PART], {}),
    "betainc": ([ORDER, OTHER, PART], {}),
    "betaincinv": ([ORDER, OTHER, PART], {}),
    "betaln": ([ORDER, OTHER], {}),
    "beta": ([ORDER, OTHER], {}),
}
# A second a call and more: with these, the noise is not what matters.
SLOW = ("gammaincinv", "betaincinv", "betainc", "gammainc", "gammaincc", "zeta")
SHORT = ("gammaln", "erfc", "ndtri", "expit", "i1")


def own(backend, name, names):
    """The framework's own function, or None."""
    path = names.get(backend, name)
    if backend == "numpy":
        return getattr(scipy.special, path, None)
    if backend == "jax":
        import jax

        others = {"log_expit": jax.nn.log_sigmoid}
        return others.get(name) or getattr(jax.scipy.special, path, None)
    if backend == "torch":
        import torch

        others = {"log_expit": torch.nn.functional.logsigmoid}
        return others.get(name) or getattr(torch.special, path, None)
    import tensorflow as tf

    place = tf.math
    for part in path.split("."):
        place = getattr(place, part, None)
    return place


def compiled(backend, fn):
    if backend == "jax":
        import jax

        run = jax.jit(fn)
        return lambda *xs: jax.block_until_ready(run(*xs))
    if backend == "torch":
        import torch

        return torch.compile(fn, fullgraph=True, dynamic=False)
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(fn, autograph=False)
    return fn


def compare(report, backend, name, kind):
    columns, names = ROWS[name]
    theirs, ours = own(backend, name, names), getattr(special, name)
    if theirs is None:
        return
    xp = trellis.namespace(backend)
    xs = [xp.asarray(column.astype(kind)) for column in columns]
    modes = {"numpy": [""], "torch": [", compiled", ", eager"]}.get(backend, [", compiled"])
    for mode in modes:
        row = {}
        for who, fn in (("native", theirs), ("trellis", ours)):
            run = compiled(backend, fn) if mode == ", compiled" else fn
            row[who] = lambda run=run, xs=xs: run(*xs)
        is_slow = name in SLOW
        what = f"{backend} {name}, {kind}{mode}"
        # Of eager calls and of NumPy's there is no promise: each operation goes over the memory.
        limit = 1.1 if mode == ", compiled" else None
        report.add(
            what, row, limit=limit, rounds=5 if is_slow else 9, budget=0.1 if is_slow else 0.6
        )


def main():
    import jax

    jax.config.update("jax_enable_x64", True)
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    backends = [b for b in BACKENDS if b in words] or BACKENDS
    names = [n for n in ROWS if n in words] or (SHORT if QUICK else ROWS)
    report = Report(
        "special", "Special functions of a million elements, beside the framework's own"
    )
    for backend in backends:
        for name in names:
            for kind in ("float32", "float64"):
                compare(report, backend, name, kind)
        if backend == "torch":
            import torch

            torch._dynamo.reset()
    done = {row.what for row in report.rows}
    report.save(keep=(lambda what: what not in done) if words else None)


if __name__ == "__main__":
    main()
