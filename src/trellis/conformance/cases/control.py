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


def _recurrence(a, b):
    """h = a * h + b along axis 1, beginning with 0."""
    found, h = [], np.zeros_like(a[:, 0])
    for i in range(a.shape[1]):
        h = a[:, i] * h + b[:, i]
        found.append(h)
    return np.stack(found, axis=1)


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
    Case(
        "scan",
        (rows,),
        lambda x: (x.sum(0), np.cumsum(x[::-1], 0)[::-1]),
        about="reversed",
        call=lambda xs: trellis.scan(
            lambda c, x: (c + x, c + x), trellis.zeros_like(xs[0]), xs, reverse=True
        ),
    ),
    Case(
        "scan",
        (x,),
        lambda x: (8 * x, np.stack([x, 2 * x, 4 * x])),
        about="a number of steps",
        call=lambda x: trellis.scan(lambda c, _: (c * 2, c), x, length=3),
    ),
    Case(
        "fori_loop",
        (x,),
        lambda x: ((x * x + 1) * x + 2) * x + 3,
        call=lambda x: trellis.fori_loop(
            1, 4, lambda i, c: c * x + trellis.astype(i, c.dtype), trellis.ones_like(x) * x
        ),
    ),
    Case(
        "fori_loop",
        (x, np.array(3)),
        lambda x, n: 8 * x,
        about="bounds as arrays",
        call=lambda x, n: trellis.fori_loop(0, n, lambda i, c: c * 2, x),
        gradient="torch compiles no derivative of a loop whose bounds are values",
    ),
    Case(
        "switch",
        (x, np.array(1)),
        lambda x, i: x * x,
        call=lambda x, i: trellis.switch(i, [_double, _square, lambda x: -x], x),
    ),
    Case(
        "switch",
        (x, np.array(9)),
        lambda x, i: -x,
        about="beyond the last",
        call=lambda x, i: trellis.switch(i, [_double, _square, lambda x: -x], x),
    ),
    Case(
        "associative_scan",
        (numbers(5, 2),),
        lambda x: np.cumsum(x, axis=0),
        call=lambda x: trellis.associative_scan(trellis.add, x),
    ),
    Case(
        "associative_scan",
        (numbers(2, 6), numbers(2, 6, seed=1)),
        _recurrence,
        about="a recurrence of pairs",
        call=lambda a, b: trellis.associative_scan(
            lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b), axis=1
        )[1],
        # Products of up to six factors in another order than one by one.
        rtol32=1e-5,
    ),
    Case(
        "associative_scan",
        (numbers(4),),
        lambda x: np.cumsum(x[::-1])[::-1],
        about="reversed",
        call=lambda x: trellis.associative_scan(trellis.add, x, reverse=True),
    ),
    Case(
        "apply_where",
        (np.array([0.0, 2.0, -4.0]),),
        [0.0, 0.5, -0.25],
        call=lambda x: trellis.apply_where(x != 0, x, lambda x: 1 / x, fill_value=0.0),
        gradient="at 0 both neighbours are on the other side; its gradient has a test of its own",
    ),
    Case(
        "apply_where",
        (np.array([3.0, 2.0, -4.0]), np.array([1.0, 0.5, 2.0])),
        lambda x, y: np.where(x > 2.5, np.log(np.abs(x)) * y, x - y),
        about="two functions",
        call=lambda x, y: trellis.apply_where(
            x > 2.5, (x, y), lambda x, y: trellis.log(x) * y, lambda x, y: x - y
        ),
    ),
]


def _weighted(carry, x):
    y = trellis.multiply(x["x"], trellis.astype(x["n"], trellis.dtype(x["x"])))
    return {"c": carry["c"] + y}, {"y": y}
