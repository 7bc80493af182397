"""One row per optimizer, transformation and schedule: how it is made, and an independent
expectation.

Optimizers are expected to follow torch.optim or optax, transformations and schedules their formula
in NumPy float64. All see the same variables and the same gradients: `variables()` and
`gradients(step)`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis import optim, tree
from trellis.optim import schedules

STEPS = 20
Leaves = list[np.ndarray]


@dataclass(frozen=True)
class OptimCase:
    """`name` is what a user writes after `trellis.optim.`, and `make()` makes one."""

    name: str
    make: Callable[[], Any]
    # For an optimizer, from a dtype to the variables after each step; for a transformation, from
    # the gradients of all steps and the variables to the updates of each step, leaf lists in
    # float64; for a schedule, from a step to the rate.
    expected: Callable[..., Any]
    about: str = ""
    # Where the oracle itself computes in float32, whatever the dtype: what of it.
    rounded: str = ""
    # Where half precision cannot come near: why.
    half: str = ""


def variables() -> dict[str, Any]:
    """A small pytree: a matrix that Adafactor factors, a bias of zeros, a 3-D leaf, a scalar."""
    draw = np.random.default_rng(0)
    return {
        "linear": {"w": draw.normal(size=(4, 3)), "b": np.zeros(3)},
        "more": [draw.normal(size=(2, 3, 4)), np.array(0.7)],
    }


def gradients(step: int) -> dict[str, Any]:
    """Gradients that depend on the step only, so that all programs see the same ones."""
    draw = np.random.default_rng(100 + step)
    return tree.map(lambda x: np.asarray(draw.normal(size=x.shape)) * 0.5 + 0.1, variables())


# Optimizers ---------------------------------------------------------------------------------------


def of_torch(make: Callable[..., Any]) -> Callable[[str], list[Leaves]]:
    """The variables after each step of a torch optimizer."""

    def trajectory(dtype: str) -> list[Leaves]:
        import torch

        params = [torch.tensor(np.asarray(x, dtype)) for x in tree.leaves(variables())]
        params = [p.requires_grad_() for p in params]
        optimizer = make(torch.optim, params)
        found = []
        for i in range(STEPS):
            for p, g in zip(params, tree.leaves(gradients(i)), strict=True):
                p.grad = torch.tensor(np.asarray(g, dtype))
            optimizer.step()
            found.append([p.detach().numpy().copy() for p in params])
        return found

    return trajectory


class WithClosure:
    """A torch optimizer whose step takes a closure; the gradients are there already."""

    def __init__(self, optimizer: Any):
        self._optimizer = optimizer

    def step(self) -> None:
        self._optimizer.step(lambda: 0.0)


def of_optax(make: Callable[..., Any]) -> Callable[[str], list[Leaves]]:
    """The same of an optax optimizer."""

    def trajectory(dtype: str) -> list[Leaves]:
        import jax
        import optax

        with jax.enable_x64(dtype == "float64"):
            params = [jax.numpy.asarray(x, dtype) for x in tree.leaves(variables())]
            optimizer = make(optax)
            state = optimizer.init(params)
            update = jax.jit(optimizer.update)
            found = []
            for i in range(STEPS):
                grads = [jax.numpy.asarray(g, dtype) for g in tree.leaves(gradients(i))]
                updates, state = update(grads, state, params)
                params = optax.apply_updates(params, updates)
                found.append([np.asarray(p) for p in params])
        return found

    return trajectory


def of_lookahead(
    make: Callable[..., Any], every: int, factor: float
) -> Callable[[str], list[Leaves]]:
    """The fast variables of optax.lookahead."""

    def trajectory(dtype: str) -> list[Leaves]:
        import jax
        import optax

        with jax.enable_x64(dtype == "float64"):
            start = [jax.numpy.asarray(x, dtype) for x in tree.leaves(variables())]
            params = optax.LookaheadParams.init_synced(start)
            optimizer = optax.lookahead(make(optax), every, factor)
            state = optimizer.init(params)
            found = []
            for i in range(STEPS):
                grads = [jax.numpy.asarray(g, dtype) for g in tree.leaves(gradients(i))]
                updates, state = optimizer.update(grads, state, params)
                params = optax.apply_updates(params, updates)
                found.append([np.asarray(p) for p in params.fast])
        return found

    return trajectory


def of_formula(rule: Callable[..., np.ndarray]) -> Callable[[str], list[Leaves]]:
    """The same of a formula in NumPy: `rule(gs, ws)` is the next variable of one leaf, from its
    gradients so far and its variables so far."""

    def trajectory(dtype: str) -> list[Leaves]:
        ws = [[np.asarray(x, "float64")] for x in tree.leaves(variables())]
        gs: list[Leaves] = [[] for _ in ws]
        found = []
        for i in range(STEPS):
            for own, past, g in zip(gs, ws, tree.leaves(gradients(i)), strict=True):
                own.append(np.asarray(g, "float64"))
                past.append(rule(own, past))
            found.append([past[-1] for past in ws])
        return found

    return trajectory


def adan_step(gs: Leaves, ws: Leaves) -> np.ndarray:
    """Every average written out from the first gradient on."""
    changes = [np.zeros_like(gs[0]), *[a - b for a, b in zip(gs[1:], gs, strict=False)]]
    t = len(gs)
    m = averages(gs, 0.9)[-1] / (1 - 0.9**t)
    d = averages(changes, 0.8)[-1] / (1 - 0.8**t)
    squares = [(g + 0.8 * change) ** 2 for g, change in zip(gs, changes, strict=True)]
    v = averages(squares, 0.95)[-1] / (1 - 0.95**t)
    return ws[-1] - 0.05 * ((m + 0.8 * d) / (np.sqrt(v) + 1e-8) + 0.1 * ws[-1])


def orthogonal(x: np.ndarray) -> np.ndarray:
    """By the singular values, on which Muon's iteration is a polynomial; times its factor."""
    rows = x.reshape(x.shape[0], -1)
    u, s, vt = np.linalg.svd(rows / (norm(rows) + 1e-7), full_matrices=False)
    for _ in range(5):
        s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
    factor = math.sqrt(max(1, rows.shape[0] / rows.shape[1]))
    return factor * ((u * s) @ vt).reshape(x.shape)


def muon_step(gs: Leaves, ws: Leaves) -> np.ndarray:
    """Matrices by their singular values, others by Adam."""
    w, t = ws[-1], len(gs)
    if w.ndim != 2:
        m, v = averages(gs, 0.9)[-1], averages([g**2 for g in gs], 0.999)[-1]
        direction = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return w - 0.05 * (direction + 0.1 * w)
    x = 0.05 * gs[-1] + 0.95 * averages(gs, 0.95)[-1]
    return w - 0.02 * (orthogonal(x) + 0.1 * w)


def shampoo_direction(gs: Leaves) -> np.ndarray:
    """The matrices in Kronecker's form: one over all elements of a leaf."""
    g = gs[-1]
    whole = np.eye(1)
    for axis in range(g.ndim):
        rows = [np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) for x in gs]
        values, vectors = np.linalg.eigh(sum([x @ x.T for x in rows]))
        powers = (values + 0.1) ** (-1 / (2 * g.ndim))
        whole = np.kron(whole, vectors @ np.diag(powers) @ vectors.T)
    if g.ndim == 0:
        whole = np.eye(1) * (sum([x**2 for x in gs]) + 0.1) ** -0.5
    return (whole @ g.reshape(-1)).reshape(g.shape)


def shampoo_step(gs: Leaves, ws: Leaves) -> np.ndarray:
    ms = [shampoo_direction(gs[: i + 1]) for i in range(len(gs))]
    return ws[-1] - 0.1 * sum([0.5 ** (len(ms) - 1 - i) * m for i, m in enumerate(ms)])


def sophia_step(gs: Leaves, ws: Leaves) -> np.ndarray:
    """Without an estimate of the curvature: the sign of the momentum."""
    m = averages(gs, 0.9)[-1]
    return ws[-1] - 0.05 * (np.clip(m / 1e-3, -1, 1) + 0.1 * ws[-1])


OPTAX_RATES = "optax computes schedules and rates of decay in float32"

OPTIMIZERS = [
    OptimCase("SGD", lambda: optim.SGD(0.1), of_torch(lambda t, p: t.SGD(p, 0.1))),
    OptimCase(
        "SGD",
        lambda: optim.SGD(0.1, 0.9),
        of_torch(lambda t, p: t.SGD(p, 0.1, momentum=0.9)),
        about="momentum",
    ),
    OptimCase(
        "SGD",
        lambda: optim.SGD(0.1, momentum=0.8, nesterov=True, weight_decay=0.1),
        of_torch(lambda t, p: t.SGD(p, 0.1, momentum=0.8, nesterov=True, weight_decay=0.1)),
        about="nesterov, decay",
    ),
    OptimCase("Adam", lambda: optim.Adam(0.05), of_torch(lambda t, p: t.Adam(p, 0.05))),
    OptimCase(
        "Adam",
        lambda: optim.Adam(0.05, 0.7, 0.95, 1e-4),
        of_torch(lambda t, p: t.Adam(p, 0.05, (0.7, 0.95), 1e-4)),
        about="betas",
    ),
    OptimCase(
        "Adam",
        lambda: optim.Adam(schedules.cosine(0.05, 15)),
        of_optax(lambda o: o.adam(o.cosine_decay_schedule(0.05, 15))),
        about="cosine",
        rounded=OPTAX_RATES,
    ),
    OptimCase(
        "AdamW",
        lambda: optim.AdamW(0.05),
        of_torch(lambda t, p: t.AdamW(p, 0.05, weight_decay=0.01)),
    ),
    OptimCase(
        "AdamW",
        lambda: optim.AdamW(0.05, weight_decay=0.3),
        of_torch(lambda t, p: t.AdamW(p, 0.05, weight_decay=0.3)),
        about="decay",
    ),
    OptimCase(
        "SGD",
        lambda: optim.SGD(0.1, 0.9, dampening=0.3),
        of_torch(lambda t, p: t.SGD(p, 0.1, momentum=0.9, dampening=0.3)),
        about="dampening",
    ),
    OptimCase(
        "Adam",
        lambda: optim.Adam(0.05, epsilon=1e-3, amsgrad=True, weight_decay=0.05),
        of_torch(lambda t, p: t.Adam(p, 0.05, eps=1e-3, amsgrad=True, weight_decay=0.05)),
        about="amsgrad, coupled decay",
    ),
    OptimCase(
        "AdamW",
        lambda: optim.AdamW(0.05, weight_decay=0.3, amsgrad=True),
        of_torch(lambda t, p: t.AdamW(p, 0.05, weight_decay=0.3, amsgrad=True)),
        about="amsgrad",
    ),
    OptimCase(
        "RAdam",
        lambda: optim.RAdam(0.05),
        of_torch(lambda t, p: t.RAdam(p, 0.05)),
    ),
    OptimCase(
        "RAdam",
        lambda: optim.RAdam(0.05, 0.8, 0.9, weight_decay=0.1),
        of_torch(
            lambda t, p: t.RAdam(p, 0.05, (0.8, 0.9), weight_decay=0.1, decoupled_weight_decay=True)
        ),
        about="short averages, decay",
    ),
    OptimCase(
        "Adan",
        lambda: optim.Adan(0.05, 0.9, 0.8, 0.95, weight_decay=0.1),
        of_formula(adan_step),
    ),
    OptimCase(
        "ADOPT",
        lambda: optim.ADOPT(0.05, beta2=0.99),
        of_optax(lambda o: o.contrib.adopt(0.05, b2=0.99)),
        rounded=OPTAX_RATES,
    ),
    OptimCase(
        "LBFGS",
        lambda: optim.LBFGS(0.1, history=4),
        of_torch(lambda o, p: WithClosure(o.LBFGS(p, lr=0.1, max_iter=1, history_size=4))),
    ),
    OptimCase(
        "Prodigy",
        lambda: optim.Prodigy(weight_decay=0.1, first=1e-3),
        of_optax(lambda o: o.contrib.prodigy(weight_decay=0.1, estim_lr0=1e-3)),
    ),
    OptimCase(
        "ScheduleFreeSGD",
        lambda: optim.ScheduleFreeSGD(0.1, weight_decay=0.1),
        of_optax(lambda o: o.contrib.schedule_free_sgd(0.1, weight_decay=0.1)),
    ),
    OptimCase(
        "ScheduleFreeAdamW",
        lambda: optim.ScheduleFreeAdamW(0.05, beta2=0.99, weight_decay=0.1),
        of_optax(lambda o: o.contrib.schedule_free_adamw(0.05, b2=0.99, weight_decay=0.1)),
    ),
    OptimCase("Muon", lambda: optim.Muon(0.02, adam_lr=0.05), of_formula(muon_step)),
    OptimCase(
        "Shampoo",
        lambda: optim.Shampoo(0.1, 0.5, epsilon=0.1),
        of_formula(shampoo_step),
    ),
    OptimCase(
        "Sophia",
        lambda: optim.Sophia(0.05, 0.9, epsilon=1e-3, weight_decay=0.1),
        of_formula(sophia_step),
    ),
    OptimCase(
        "Optimizer",
        lambda: optim.Optimizer(
            optim.lookahead(optim.chain(optim.scale_by_adam(), optim.scale(0.05)), 4, 0.3), None
        ),
        of_lookahead(lambda o: o.adam(0.05), 4, 0.3),
        about="lookahead",
    ),
    OptimCase("Adamax", lambda: optim.Adamax(0.05), of_torch(lambda t, p: t.Adamax(p, 0.05))),
    OptimCase(
        "NAdam",
        lambda: optim.NAdam(0.05),
        of_torch(lambda t, p: t.NAdam(p, 0.05)),
        rounded="torch keeps the product of the momenta in float32",
    ),
    OptimCase("RMSprop", lambda: optim.RMSprop(0.02), of_torch(lambda t, p: t.RMSprop(p, 0.02))),
    OptimCase(
        "RMSprop",
        lambda: optim.RMSprop(0.02, decay=0.8, momentum=0.5, centered=True),
        of_torch(lambda t, p: t.RMSprop(p, 0.02, alpha=0.8, momentum=0.5, centered=True)),
        about="centered, momentum",
    ),
    OptimCase("Adagrad", lambda: optim.Adagrad(0.1), of_torch(lambda t, p: t.Adagrad(p, 0.1))),
    OptimCase(
        "Adagrad",
        lambda: optim.Adagrad(0.1, lr_decay=0.1, initial_accumulator=0.5),
        of_torch(lambda t, p: t.Adagrad(p, 0.1, lr_decay=0.1, initial_accumulator_value=0.5)),
        about="lr_decay",
    ),
    OptimCase("Adadelta", lambda: optim.Adadelta(), of_torch(lambda t, p: t.Adadelta(p))),
    OptimCase("LARS", lambda: optim.LARS(0.5), of_optax(lambda o: o.lars(0.5))),
    OptimCase(
        "LARS",
        lambda: optim.LARS(0.5, 0.8, True, weight_decay=0.1, trust_coefficient=0.02),
        of_optax(
            lambda o: o.lars(
                0.5, weight_decay=0.1, trust_coefficient=0.02, momentum=0.8, nesterov=True
            )
        ),
        about="decay, nesterov",
    ),
    OptimCase(
        "LARS",
        lambda: optim.LARS(schedules.exponential(0.5, 5, 0.5)),
        of_optax(lambda o: o.lars(o.exponential_decay(0.5, 5, 0.5))),
        about="schedule",
        rounded=OPTAX_RATES,
    ),
    OptimCase("LAMB", lambda: optim.LAMB(0.05), of_optax(lambda o: o.lamb(0.05))),
    OptimCase(
        "LAMB",
        lambda: optim.LAMB(0.05, weight_decay=0.1),
        of_optax(lambda o: o.lamb(0.05, weight_decay=0.1)),
        about="decay",
    ),
    OptimCase(
        "Lion",
        lambda: optim.Lion(0.05, weight_decay=0.1),
        of_optax(lambda o: o.lion(0.05, weight_decay=0.1)),
    ),
    OptimCase(
        "Adafactor",
        lambda: optim.Adafactor(0.1, min_size_to_factor=2),
        of_optax(lambda o: o.adafactor(0.1, min_dim_size_to_factor=2)),
        rounded=OPTAX_RATES,
    ),
    OptimCase(
        "Adafactor",
        lambda: optim.Adafactor(
            0.1, momentum=0.9, weight_decay=0.01, clipping=None, factored=False
        ),
        of_optax(
            lambda o: o.adafactor(
                0.1,
                momentum=0.9,
                weight_decay_rate=0.01,
                clipping_threshold=None,
                factored=False,
                dtype_momentum=None,
            )
        ),
        about="full, momentum, decay",
        rounded=OPTAX_RATES,
    ),
    OptimCase(
        "Optimizer",
        lambda: optim.Optimizer(optim.chain(optim.clip_by_global_norm(0.5), optim.trace(0.9)), 0.1),
        of_optax(lambda o: o.chain(o.clip_by_global_norm(0.5), o.sgd(0.1, momentum=0.9))),
    ),
]


# Transformations ----------------------------------------------------------------------------------


def leafwise(fn: Callable[[Leaves, np.ndarray], Leaves]) -> Callable[..., list[Leaves]]:
    """From a formula for one leaf, its gradients of all steps and its variable, to one for all."""

    def updates(grads: list[Leaves], params: Leaves) -> list[Leaves]:
        columns = [fn([g[i] for g in grads], w) for i, w in enumerate(params)]
        return [[column[step] for column in columns] for step in range(len(grads))]

    return updates


def averages(gs: Leaves, decay: float) -> Leaves:
    """(1 - decay) * sum of decay**(t - k) * g_k: the average written out, without a recursion."""
    return [
        sum([(1 - decay) * decay ** (t - k) * gs[k] for k in range(t + 1)]) for t in range(len(gs))
    ]


def norm(x: np.ndarray) -> float:
    return math.sqrt(float((x * x).sum()))


def rms(x: np.ndarray) -> float:
    return math.sqrt(float((x * x).mean()))


def adam(gs: Leaves, w: np.ndarray) -> Leaves:
    rows = zip(averages(gs, 0.9), averages([g**2 for g in gs], 0.99), strict=True)
    return [
        m / (1 - 0.9 ** (t + 1)) / (np.sqrt(v / (1 - 0.99 ** (t + 1))) + 1e-3)
        for t, (m, v) in enumerate(rows)
    ]


def nadam(gs: Leaves, w: np.ndarray) -> Leaves:
    def mu(t: int) -> float:
        return 0.9 * (1 - 0.96 ** (t * 0.5) / 2)

    moments = zip(averages(gs, 0.9), averages([g**2 for g in gs], 0.99), strict=True)
    found = []
    for t, (m, v) in enumerate(moments, start=1):
        p = math.prod([mu(k) for k in range(1, t + 1)])
        n = mu(t + 1) * m / (1 - p * mu(t + 1)) + (1 - mu(t)) * gs[t - 1] / (1 - p)
        found.append(n / (np.sqrt(v / (1 - 0.99**t)) + 1e-3))
    return found


def adamax(gs: Leaves, w: np.ndarray) -> Leaves:
    found = []
    for t, m in enumerate(averages(gs, 0.9), start=1):
        sizes = [0.99 ** (t - k) * (np.abs(gs[k - 1]) + 1e-3) for k in range(1, t + 1)]
        found.append(m / (1 - 0.9**t) / np.max(sizes, axis=0))
    return found


def amsgrad(gs: Leaves, w: np.ndarray) -> Leaves:
    found, largest = [], np.zeros_like(w)
    rows = zip(averages(gs, 0.9), averages([g**2 for g in gs], 0.9), strict=True)
    for t, (m, v) in enumerate(rows, start=1):
        largest = np.maximum(largest, v)
        found.append(m / (1 - 0.9**t) / (np.sqrt(largest / (1 - 0.9**t)) + 1e-3))
    return found


def radam(gs: Leaves, w: np.ndarray) -> Leaves:
    """With beta2 = 0.9 the fifth step is the first that is rectified."""
    found, rho = [], 2 / (1 - 0.9) - 1
    rows = zip(averages(gs, 0.8), averages([g**2 for g in gs], 0.9), strict=True)
    for t, (m, v) in enumerate(rows, start=1):
        length = rho - 2 * t * 0.9**t / (1 - 0.9**t)
        factor: Any = 1.0
        if length > 5:
            r = (length - 4) * (length - 2) * rho / ((rho - 4) * (rho - 2) * length)
            factor = math.sqrt(r * (1 - 0.9**t)) / (np.sqrt(v) + 1e-3)
        found.append(m / (1 - 0.8**t) * factor)
    return found


def adopt(gs: Leaves, w: np.ndarray) -> Leaves:
    v, m, found = gs[0] ** 2, np.zeros_like(w), [np.zeros_like(w)]
    for t, g in enumerate(gs[1:], start=1):
        m = 0.9 * m + 0.1 * np.clip(g / np.maximum(np.sqrt(v), 1e-6), -(t**0.25), t**0.25)
        v = 0.99 * v + 0.01 * g**2
        found.append(m)
    return found


def muon(gs: Leaves, w: np.ndarray) -> Leaves:
    if w.ndim < 2:
        return gs
    return [orthogonal(0.1 * g + 0.9 * m) for g, m in zip(gs, averages(gs, 0.9), strict=True)]


def first_lbfgs_steps(grads: list[Leaves], params: Leaves) -> list[Leaves]:
    """The variables stay, so that no step shows curvature."""
    sizes = [sum([np.abs(g).sum() for g in step]) for step in grads]
    return [[g * min(1.0, 1.0 / n) for g in step] for step, n in zip(grads, sizes, strict=True)]


def prodigy(grads: list[Leaves], params: Leaves) -> list[Leaves]:
    """The variables stay, so that only the weight decay of the formula is left of the distance."""
    m = [np.zeros_like(w) for w in params]
    v, found = [x.copy() for x in m], []
    for t, step in enumerate(grads, start=1):
        size = 0.1 * math.sqrt(1 - 0.99**t) / (1 - 0.9**t)
        m = [0.9 * a + 0.1 * 0.1 * g for a, g in zip(m, step, strict=True)]
        v = [0.99 * a + 0.01 * (0.1 * g) ** 2 for a, g in zip(v, step, strict=True)]
        rows = zip(m, v, params, strict=True)
        found.append([size * (a / (np.sqrt(b) + 0.1 * 1e-2) + 0.2 * w) for a, b, w in rows])
    return found


def schedule_free(gs: Leaves, w: np.ndarray) -> Leaves:
    """What is subtracted from variables that stay where they are: x, z and y of the paper."""
    z, total, found = w, 0.0, []
    for t, g in enumerate(gs):
        lr = 0.2 * 0.5**t
        x = (w - 0.2 * z) / 0.8
        total += 0.2**2  # the largest rate is the first
        z = z - lr * g
        x = x + 0.2**2 / total * (z - x)
        found.append(w - (0.8 * x + 0.2 * z))
    return found


def lookahead(gs: Leaves, w: np.ndarray) -> Leaves:
    """Variables that stay: the slow ones follow `w - 0.5 * g` at every third step."""
    slow, found = w, []
    for t, g in enumerate(gs, start=1):
        if t % 3 == 0:
            slow = slow + 0.4 * (w - 0.5 * g - slow)
        found.append(0.5 * g if t % 3 else w - slow)
    return found


def lion(gs: Leaves, w: np.ndarray) -> Leaves:
    before = [np.zeros_like(w), *averages(gs, 0.95)]
    return [np.sign(0.9 * m + 0.1 * g) for m, g in zip(before, gs, strict=False)]


def momentum(gs: Leaves, w: np.ndarray) -> Leaves:
    return [sum([0.8 ** (t - k) * gs[k] for k in range(t + 1)]) for t in range(len(gs))]


def centered_rms(gs: Leaves, w: np.ndarray) -> Leaves:
    rows = zip(gs, averages([g**2 for g in gs], 0.8), averages(gs, 0.8), strict=True)
    return [g / (np.sqrt(v - a**2) + 1e-2) for g, v, a in rows]


def adadelta(gs: Leaves, w: np.ndarray) -> Leaves:
    found: Leaves = []
    d = np.zeros_like(w)
    for g, v in zip(gs, averages([g**2 for g in gs], 0.8), strict=True):
        found.append(np.sqrt((d + 1e-3) / (v + 1e-3)) * g)
        d = averages([u**2 for u in found], 0.8)[-1]
    return found


def factored(gs: Leaves, w: np.ndarray) -> Leaves:
    """Adafactor with the two largest axes factored, in the form of the paper's outer product."""
    found = []
    v = np.zeros_like(w)
    order = np.argsort(w.shape, kind="stable")[-2:] if w.ndim > 1 else ()
    for t, g in enumerate(gs, start=1):
        b = 1 - t**-0.8
        v = b * v + (1 - b) * (g**2 + 1e-30)
        below = v
        if len(order):
            # Averages of rows and columns of v are those that the two vectors remember.
            rows, columns = [v.mean(axis=int(axis), keepdims=True) for axis in order]
            below = rows * columns / v.mean(axis=tuple(map(int, order)), keepdims=True)
        found.append(g / np.sqrt(below))
    return found


def by_global_norm(grads: list[Leaves], params: Leaves) -> list[Leaves]:
    lengths = [math.sqrt(sum([norm(g) ** 2 for g in step])) for step in grads]
    return [[g * min(1, 2.0 / n) for g in step] for step, n in zip(grads, lengths, strict=True)]


def by_trust_ratio(gs: Leaves, w: np.ndarray) -> Leaves:
    return [g * (0.5 * norm(w) / (norm(g) + 0.1) if norm(w) > 0 else 1) for g in gs]


def accumulated(gs: Leaves, w: np.ndarray) -> Leaves:
    zero = np.zeros_like(w)
    return [sum(gs[t - 2 : t + 1]) / 3 * 2 if t % 3 == 2 else zero for t in range(len(gs))]


def on_matrices(fn: Callable[[np.ndarray], np.ndarray]) -> Callable[..., list[Leaves]]:
    return leafwise(lambda gs, w: [fn(g) if w.ndim > 1 else g for g in gs])


def one_step(t: Any) -> Any:
    return 1 / (1 + t)


TRANSFORMATIONS = [
    OptimCase("identity", lambda: optim.identity(), leafwise(lambda gs, w: gs)),
    OptimCase("scale", lambda: optim.scale(-0.5), leafwise(lambda gs, w: [-0.5 * g for g in gs])),
    OptimCase(
        "scale_by_schedule",
        lambda: optim.scale_by_schedule(one_step),
        leafwise(lambda gs, w: [g / (1 + t) for t, g in enumerate(gs)]),
    ),
    OptimCase(
        "scale_by_learning_rate",
        lambda: optim.scale_by_learning_rate(0.25),
        leafwise(lambda gs, w: [-0.25 * g for g in gs]),
    ),
    OptimCase(
        "scale_by_learning_rate",
        lambda: optim.scale_by_learning_rate(one_step, flip_sign=False),
        leafwise(lambda gs, w: [g / (1 + t) for t, g in enumerate(gs)]),
        about="schedule",
    ),
    OptimCase("trace", lambda: optim.trace(0.8), leafwise(momentum)),
    OptimCase(
        "trace",
        lambda: optim.trace(0.8, nesterov=True),
        leafwise(
            lambda gs, w: [g + 0.8 * m for g, m in zip(gs, momentum(gs, w), strict=True)],
        ),
        about="nesterov",
    ),
    OptimCase(
        "ema",
        lambda: optim.ema(0.9),
        leafwise(lambda gs, w: [m / (1 - 0.9 ** (t + 1)) for t, m in enumerate(averages(gs, 0.9))]),
    ),
    OptimCase(
        "ema",
        lambda: optim.ema(0.9, debias=False),
        leafwise(lambda gs, w: averages(gs, 0.9)),
        about="biased",
    ),
    OptimCase("scale_by_adam", lambda: optim.scale_by_adam(0.9, 0.99, 1e-3), leafwise(adam)),
    OptimCase(
        "scale_by_nadam", lambda: optim.scale_by_nadam(0.9, 0.99, 1e-3, 0.5), leafwise(nadam)
    ),
    OptimCase("scale_by_adamax", lambda: optim.scale_by_adamax(0.9, 0.99, 1e-3), leafwise(adamax)),
    OptimCase(
        "trace",
        lambda: optim.trace(0.8, dampening=0.25),
        leafwise(
            lambda gs, w: [
                0.8**t * gs[0] + 0.75 * sum([0.8 ** (t - k) * gs[k] for k in range(1, t + 1)])
                for t in range(len(gs))
            ]
        ),
        about="dampening",
    ),
    OptimCase(
        "scale_by_amsgrad", lambda: optim.scale_by_amsgrad(0.9, 0.9, 1e-3), leafwise(amsgrad)
    ),
    OptimCase("scale_by_radam", lambda: optim.scale_by_radam(0.8, 0.9, 1e-3), leafwise(radam)),
    OptimCase(
        "scale_by_adan",
        lambda: optim.scale_by_adan(0.9, 0.8, 0.95),
        leafwise(
            lambda gs, w: [(0 * w - adan_step(gs[: t + 1], [0 * w])) / 0.05 for t in range(len(gs))]
        ),
    ),
    OptimCase("scale_by_adopt", lambda: optim.scale_by_adopt(0.9, 0.99), leafwise(adopt)),
    OptimCase(
        "scale_by_muon",
        lambda: optim.masked(optim.scale_by_muon(0.9), optim.matrices_only),
        leafwise(muon),
        half="the iteration enlarges small singular values, and the rounding of the gradients",
    ),
    OptimCase("scale_by_lbfgs", lambda: optim.scale_by_lbfgs(4), first_lbfgs_steps),
    OptimCase(
        "scale_by_prodigy",
        lambda: optim.scale_by_prodigy(1.0, 0.9, 0.99, 1e-2, 0.2, first=0.1),
        prodigy,
    ),
    OptimCase(
        "schedule_free",
        lambda: optim.schedule_free(schedules.exponential(0.2, 1, 0.5), 0.8),
        leafwise(schedule_free),
    ),
    OptimCase(
        "scale_by_shampoo",
        lambda: optim.scale_by_shampoo(epsilon=0.1),
        leafwise(lambda gs, w: [shampoo_direction(gs[: t + 1]) for t in range(len(gs))]),
    ),
    OptimCase(
        "scale_by_sophia",
        lambda: optim.scale_by_sophia(0.9, 0.5, 0.5),
        leafwise(lambda gs, w: [np.clip(m / 0.5, -1, 1) for m in averages(gs, 0.9)]),
    ),
    OptimCase("lookahead", lambda: optim.lookahead(optim.scale(0.5), 3, 0.4), leafwise(lookahead)),
    OptimCase("scale_by_lion", lambda: optim.scale_by_lion(0.9, 0.95), leafwise(lion)),
    OptimCase(
        "scale_by_rms",
        lambda: optim.scale_by_rms(0.8, 1e-2),
        leafwise(
            lambda gs, w: [
                g / (np.sqrt(v) + 1e-2)
                for g, v in zip(gs, averages([g**2 for g in gs], 0.8), strict=True)
            ]
        ),
    ),
    OptimCase(
        "scale_by_rms",
        lambda: optim.scale_by_rms(0.8, 1e-2, centered=True),
        leafwise(centered_rms),
        about="centered",
        half="the difference of two nearly equal averages",
    ),
    OptimCase(
        "scale_by_adagrad",
        lambda: optim.scale_by_adagrad(0.1, 1e-3),
        leafwise(
            lambda gs, w: [
                g / (np.sqrt(0.1 + sum([x**2 for x in gs[: t + 1]])) + 1e-3)
                for t, g in enumerate(gs)
            ]
        ),
    ),
    OptimCase("scale_by_adadelta", lambda: optim.scale_by_adadelta(0.8, 1e-3), leafwise(adadelta)),
    OptimCase(
        "scale_by_factored_rms",
        lambda: optim.scale_by_factored_rms(min_size_to_factor=2),
        leafwise(factored),
    ),
    OptimCase(
        "scale_by_trust_ratio",
        lambda: optim.scale_by_trust_ratio(0.5, 0.1),
        leafwise(by_trust_ratio),
    ),
    OptimCase(
        "scale_by_param_rms",
        lambda: optim.scale_by_param_rms(0.25),
        leafwise(lambda gs, w: [g * max(rms(w), 0.25) for g in gs]),
    ),
    OptimCase(
        "clip", lambda: optim.clip(0.3), leafwise(lambda gs, w: [np.clip(g, -0.3, 0.3) for g in gs])
    ),
    OptimCase(
        "clip_by_norm",
        lambda: optim.clip_by_norm(1.0),
        leafwise(lambda gs, w: [g * min(1, 1.0 / norm(g)) for g in gs]),
    ),
    OptimCase("clip_by_global_norm", lambda: optim.clip_by_global_norm(2.0), by_global_norm),
    OptimCase(
        "clip_by_rms",
        lambda: optim.clip_by_rms(0.4),
        leafwise(lambda gs, w: [g / max(1, rms(g) / 0.4) for g in gs]),
    ),
    OptimCase(
        "add_decayed_weights",
        lambda: optim.add_decayed_weights(0.1),
        leafwise(lambda gs, w: [g + 0.1 * w for g in gs]),
    ),
    OptimCase(
        "add_decayed_weights",
        lambda: optim.add_decayed_weights(0.1, optim.matrices_only),
        leafwise(lambda gs, w: [g + 0.1 * w if w.ndim > 1 else g for g in gs]),
        about="masked",
    ),
    OptimCase(
        "masked",
        lambda: optim.masked(optim.scale(3.0), optim.matrices_only),
        on_matrices(lambda g: 3 * g),
    ),
    OptimCase(
        "accumulate_gradients",
        lambda: optim.accumulate_gradients(optim.scale(2.0), 3),
        leafwise(accumulated),
    ),
    OptimCase(
        "chain",
        lambda: optim.chain(optim.clip(0.3), optim.trace(0.8), optim.scale(-1.0)),
        leafwise(lambda gs, w: [-m for m in momentum([np.clip(g, -0.3, 0.3) for g in gs], w)]),
    ),
    OptimCase(
        "chain",
        lambda: optim.chain(optim.masked(optim.scale(3.0), optim.matrices_only), optim.scale(2.0)),
        leafwise(lambda gs, w: [g * (6 if w.ndim > 1 else 2) for g in gs]),
        about="of pairs that show only their two functions",
    ),
]


# Schedules ----------------------------------------------------------------------------------------


def half_wave(t: float, first: float, last: float, steps: int) -> float:
    return last + (first - last) * (1 + math.cos(math.pi * min(t, steps) / steps)) / 2


def restarted(t: int) -> float:
    """Cycles of 2, 4 and 8 steps, each half as high as the one before."""
    start = max([x for x in (0, 2, 6) if x <= t])
    height, length = {0: (0.4, 2), 2: (0.2, 4), 6: (0.1, 8)}[start]
    return 0.1 + height * (1 + math.cos(math.pi * (t - start) / length)) / 2


SCHEDULES = [
    OptimCase(
        "schedules.cosine_restarts",
        lambda: schedules.cosine_restarts(0.5, 2, growth=2.0, shrink=0.5, end=0.1),
        restarted,
        about="growth",
    ),
    OptimCase(
        "schedules.cosine_restarts",
        lambda: schedules.cosine_restarts(0.5, 5),
        lambda t: half_wave(t % 5, 0.5, 0.0, 5),
    ),
    OptimCase(
        "schedules.warmup",
        lambda: schedules.warmup(schedules.exponential(0.5, 4, 0.3), 3, start=0.1),
        lambda t: 0.1 + 0.4 * t / 3 if t < 3 else 0.5 * 0.3 ** ((t - 3) / 4),
    ),
    OptimCase(
        "schedules.inverse_sqrt",
        lambda: schedules.inverse_sqrt(0.5, 4),
        lambda t: 0.5 * (t / 4 if t < 4 else math.sqrt(4 / t)),
    ),
    OptimCase(
        "schedules.cyclic",
        lambda: schedules.cyclic(0.1, 0.5, 2, 3, shrink=0.5),
        lambda t: 0.1 + 0.4 * 0.5 ** (t // 5) * (t % 5 / 2 if t % 5 < 2 else (5 - t % 5) / 3),
    ),
    OptimCase("schedules.constant", lambda: schedules.constant(0.3), lambda t: 0.3),
    OptimCase(
        "schedules.step", lambda: schedules.step(0.5, 4, 0.1), lambda t: 0.5 * 0.1 ** (t // 4)
    ),
    OptimCase(
        "schedules.piecewise",
        lambda: schedules.piecewise(0.5, {3: 0.1, 7: 0.5}),
        lambda t: 0.5 * (0.1 if t >= 3 else 1) * (0.5 if t >= 7 else 1),
    ),
    OptimCase(
        "schedules.exponential",
        lambda: schedules.exponential(0.5, 4, 0.3),
        lambda t: 0.5 * 0.3 ** (t / 4),
    ),
    OptimCase(
        "schedules.exponential",
        lambda: schedules.exponential(0.5, 4, 0.3, staircase=True),
        lambda t: 0.5 * 0.3 ** (t // 4),
        about="staircase",
    ),
    OptimCase(
        "schedules.polynomial",
        lambda: schedules.polynomial(0.5, 0.1, 8, power=2.0, begin=2),
        lambda t: 0.4 * (1 - min(max(t - 2, 0), 8) / 8) ** 2 + 0.1,
    ),
    OptimCase(
        "schedules.linear", lambda: schedules.linear(0.0, 0.5, 8), lambda t: 0.5 * min(t, 8) / 8
    ),
    OptimCase(
        "schedules.cosine",
        lambda: schedules.cosine(0.5, 8, end=0.1),
        lambda t: half_wave(t, 0.5, 0.1, 8),
    ),
    OptimCase(
        "schedules.warmup_cosine",
        lambda: schedules.warmup_cosine(0.5, 3, 9, end=0.05),
        lambda t: 0.5 * t / 3 if t < 3 else half_wave(t - 3, 0.5, 0.05, 6),
    ),
    OptimCase(
        "schedules.one_cycle",
        lambda: schedules.one_cycle(0.5, 10, division=5.0, final_division=10.0),
        lambda t: half_wave(t, 0.1, 0.5, 3) if t < 3 else half_wave(t - 3, 0.5, 0.01, 7),
    ),
    OptimCase(
        "schedules.join",
        lambda: schedules.join([schedules.constant(0.1), schedules.linear(0.2, 0.0, 4)], [5]),
        lambda t: 0.1 if t < 5 else 0.2 * (1 - min(t - 5, 4) / 4),
    ),
]


def named(rows: list[OptimCase]) -> dict[str, OptimCase]:
    """The rows, each with a name of its own."""
    found = {f"{row.name}: {row.about}" if row.about else row.name: row for row in rows}
    assert len(found) == len(rows), "two rows have one name: say what is special with about="
    return found
