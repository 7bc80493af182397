import numpy as np

import trellis

from .case import NO_FLOATS, Case, numbers

x = numbers(3)
rows = numbers(4, 3)


def _double(x):
    return x * 2


def _square(x):
    return x * x


def _halve_until_small(x):
    """A loop whose number of rounds depends on values."""
    return trellis.while_loop(
        lambda state: trellis.sum(state["x"]) > 1.0,
        lambda state: {"n": state["n"] + 1, "x": state["x"] / 2},
        {"n": trellis.zeros_like(trellis.sum(x), dtype="int32"), "x": x},
    )


CASES = [
    Case(
        "cond",
        (np.array(True), x),
        lambda p, x: 2 * x,
        about="true",
        call=lambda p, x: trellis.cond(p, _double, _square, x),
    ),
    Case(
        "cond",
        (np.array(False), x),
        lambda p, x: x * x,
        about="false",
        call=lambda p, x: trellis.cond(p, _double, _square, x),
    ),
    Case(
        "cond",
        (x,),
        lambda x: 2 * x,
        about="Python bool",
        call=lambda x: trellis.cond(True, _double, _square, x),
    ),
    Case(
        "cond",
        (x, x + 1),
        lambda x, y: {"a": x, "b": y},
        about="nest",
        call=lambda x, y: trellis.cond(
            trellis.sum(x) > 100,
            lambda s: {"a": s["b"], "b": s["a"]},
            lambda s: dict(s),
            {"a": x, "b": y},
        ),
    ),
    Case(
        "while_loop",
        (np.array([4.0, 8.0]),),
        {"n": np.int32(4), "x": np.array([0.25, 0.5])},
        call=_halve_until_small,
        gradient="the number of rounds depends on values",
    ),
    Case(
        "scan",
        (x, rows),
        lambda c, xs: (c + xs.sum(0), c + np.cumsum(xs, 0)),
        about="sum",
        call=lambda c, xs: trellis.scan(lambda c, x: (c + x, c + x), c, xs),
    ),
    Case(
        "scan",
        (x, rows, np.arange(4)),
        about="nests",
        expected=lambda c, xs, n: ({"c": c + (xs * n[:, None]).sum(0)}, {"y": xs * n[:, None]}),
        call=lambda c, xs, n: trellis.scan(_weighted, {"c": c}, {"x": xs, "n": n}),
    ),
    Case(
        "scan",
        (np.array(0), np.array([1, 2, 3])),
        (6, [0, 1, 3]),
        about="integers",
        call=lambda c, xs: trellis.scan(lambda c, x: (c + x, c), c, xs),
        gradient=NO_FLOATS,
    ),
]


def _weighted(carry, x):
    y = trellis.multiply(x["x"], trellis.astype(x["n"], trellis.dtype(x["x"])))
    return {"c": carry["c"] + y}, {"y": y}
