"""Draws of distributions, steps of L-BFGS and steps of ODE solvers, beside those of others.

Draws: compiled, against jax.random, and eagerly against torch.distributions. Steps: seconds of a
whole run divided by its steps, on JAX against jaxopt, optimistix and diffrax, on torch against
torch.optim.LBFGS, on NumPy against SciPy. Peers that are not installed are left out.
"""

import importlib.util

from harness import QUICK, Report, one_core

one_core()

import jax
import numpy as np
import scipy.integrate
import scipy.optimize
import torch

import trellis
from trellis import distributions, ode, optimize

torch.set_num_threads(1)
SIZE = 10**5
DRAWS = {
    "normal": (distributions.Normal, {"loc": 1.0, "scale": 2.0}, torch.distributions.Normal),
    "gamma": (distributions.Gamma, {"concentration": 2.5, "rate": 1.0}, torch.distributions.Gamma),
    "beta": (
        distributions.Beta,
        {"concentration1": 2.0, "concentration0": 3.0},
        torch.distributions.Beta,
    ),
    "student_t": (distributions.StudentT, {"df": 4.0}, torch.distributions.StudentT),
    "poisson": (distributions.Poisson, {"rate": 4.0}, torch.distributions.Poisson),
    "gumbel": (distributions.Gumbel, {"loc": 0.0, "scale": 1.0}, torch.distributions.Gumbel),
    "bernoulli": (distributions.Bernoulli, {"probs": 0.3}, torch.distributions.Bernoulli),
}
OF_JAX = {
    "normal": lambda key, n: 1.0 + 2.0 * jax.random.normal(key, (n,)),
    "gamma": lambda key, n: jax.random.gamma(key, 2.5, (n,)),
    "beta": lambda key, n: jax.random.beta(key, 2.0, 3.0, (n,)),
    "student_t": lambda key, n: jax.random.t(key, 4.0, (n,)),
    "poisson": lambda key, n: jax.random.poisson(key, 4.0, (n,)),
    "gumbel": lambda key, n: jax.random.gumbel(key, (n,)),
    "bernoulli": lambda key, n: jax.random.bernoulli(key, 0.3, (n,)),
}


def draws(report):
    for name, (kind, parameters, torch_kind) in DRAWS.items():
        key = trellis.random.key(1, backend="jax")
        on_jax = jax.jit(
            lambda key, kind=kind, given=parameters: kind(**given).sample(key, (SIZE,))
        )
        native = jax.jit(lambda key, name=name: OF_JAX[name](key, SIZE))
        typed = jax.random.key(1)
        row = {
            "jax.random, jitted": lambda f=native, k=typed: jax.block_until_ready(f(k)),
            "trellis on jax, jitted": lambda f=on_jax, k=key: jax.block_until_ready(f(k)),
        }
        report.add(f"{name}, jax", row, limit=1.3)
        on_torch = trellis.random.key(1, backend="torch")
        theirs = torch_kind(**{part: torch.tensor(x) for part, x in parameters.items()})
        ours = kind(**{part: torch.tensor(x) for part, x in parameters.items()})
        row = {
            "torch.distributions": lambda d=theirs: d.sample((SIZE,)),
            "trellis on torch": lambda d=ours, k=on_torch: d.sample(k, (SIZE,)),
        }
        report.add(f"{name}, torch", row, limit=1.3)


def logistic(xp, x, y):
    def loss(w):
        return xp.mean(xp.log1p(xp.exp(-y * (x @ w)))) + 0.001 * xp.sum(w * w)

    return loss


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(1000, 50)).astype("float32")
    return x, np.where(random.random(1000) < 1 / (1 + np.exp(-x[:, 0])), 1, -1).astype("float32")


COUNT = 20


def lbfgs(report):
    """The same number of steps of each, from zeros."""
    x, y = data()
    begin = np.zeros(50, "float32")
    row = {}
    native = logistic(jax.numpy, jax.numpy.asarray(x), jax.numpy.asarray(y))
    if importlib.util.find_spec("jaxopt"):
        import jaxopt

        solver = jaxopt.LBFGS(native, maxiter=COUNT, tol=0.0, history_size=10, linesearch="zoom")
        run = jax.jit(lambda w: solver.run(w).params)
        row["jaxopt"] = lambda: jax.block_until_ready(run(begin))
    if importlib.util.find_spec("optimistix"):
        import optimistix

        method = optimistix.LBFGS(rtol=1e-12, atol=1e-12)
        other = jax.jit(
            lambda w: (
                optimistix.minimise(
                    lambda w, _: native(w), method, w, max_steps=COUNT, throw=False
                ).value
            )
        )
        row["optimistix"] = lambda: jax.block_until_ready(other(begin))
    density = logistic(trellis, jax.numpy.asarray(x), jax.numpy.asarray(y))
    ours = jax.jit(lambda w: optimize.minimize(density, w, tol=1e-12, max_steps=COUNT).x)
    row["trellis on jax"] = lambda: jax.block_until_ready(ours(jax.numpy.asarray(begin)))
    report.add(f"L-BFGS, {COUNT} steps, jax", row, limit={"trellis on jax": 1.2})

    tensors = torch.tensor(x), torch.tensor(y)
    loss = logistic(torch, *tensors)

    def of_torch():
        w = torch.zeros(50, requires_grad=True)
        solver = torch.optim.LBFGS(
            [w],
            max_iter=COUNT,
            history_size=10,
            tolerance_grad=0.0,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )

        def closure():
            solver.zero_grad()
            value = loss(w)
            value.backward()
            return value

        solver.step(closure)

    mine = logistic(trellis, *tensors)
    row = {
        "torch.optim": of_torch,
        "trellis on torch": lambda: optimize.minimize(
            mine, torch.zeros(50), tol=1e-12, max_steps=COUNT
        ),
    }
    report.add(f"L-BFGS, {COUNT} steps, torch", row, limit=1.2)


def predators(stack):
    def field(t, y, *_):
        return stack([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3.0 * y[1]])

    return field


def oscillator(stack):
    def field(t, y, *_):
        return stack([y[1], 100.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])

    return field


PROBLEMS = {"tsit5": (predators, [10.0, 5.0], 10.0), "kvaerno5": (oscillator, [2.0, 0.0], 50.0)}


def steps_of_odes(report):
    for method, (make, y0, end) in PROBLEMS.items():
        begin = jax.numpy.asarray(np.array(y0, "float32"))
        counts, row = {}, {}
        if importlib.util.find_spec("diffrax"):
            import diffrax

            kind = {"tsit5": diffrax.Tsit5, "kvaerno5": diffrax.Kvaerno5}[method]
            term = diffrax.ODETerm(make(jax.numpy.stack))
            control = diffrax.PIDController(rtol=1e-4, atol=1e-5)

            def theirs(y, kind=kind, term=term, control=control, end=end):
                found = diffrax.diffeqsolve(
                    term, kind(), 0.0, end, None, y, stepsize_controller=control
                )
                return found.ys, found.stats["num_steps"]

            run = jax.jit(theirs)
            row["diffrax"] = lambda f=run, y=begin: jax.block_until_ready(f(y))
            counts["diffrax"] = int(run(begin)[1])

        def ours(y, method=method, make=make, end=end):
            found = ode.solve(
                make(trellis.stack), y, [0.0, end], method=method, rtol=1e-4, atol=1e-5
            )
            return found.y, found.accepted + found.rejected

        mine = jax.jit(ours)
        row["trellis on jax"] = lambda f=mine, y=begin: jax.block_until_ready(f(y))
        counts["trellis on jax"] = int(mine(begin)[1])
        added = report.add(f"{method}, jax, a whole solution", row, limit=None)
        _by_step(report, f"{method}, jax, a step", added, counts)
    field, y0, end = PROBLEMS["tsit5"]
    theirs = lambda: scipy.integrate.solve_ivp(  # noqa: E731
        field(np.stack), (0.0, end), y0, method="RK45", rtol=1e-4, atol=1e-5
    )
    mine = lambda: ode.solve(  # noqa: E731
        field(np.stack), np.array(y0), [0.0, end], method="dopri5", rtol=1e-4, atol=1e-5
    )
    counts = {"SciPy": (theirs().nfev - 1) // 6}
    found = mine()
    counts["trellis on numpy"] = int(found.accepted + found.rejected)
    added = report.add(
        "dopri5, numpy, a whole solution", {"SciPy": theirs, "trellis on numpy": mine}
    )
    _by_step(report, "dopri5, numpy, a step", added, counts)


def _by_step(report, what, whole, counts):
    """Another row: the same divided by the steps made, accepted or not."""
    from harness import Row, line

    seconds = {name: whole.seconds[name] / counts[name] for name in whole.seconds}
    row = Row(what, seconds, whole.spread, 1.2)
    report.rows.append(row)
    report.notes.append(f"{what}: {', '.join([f'{k} made {n} steps' for k, n in counts.items()])}.")
    print(line(row), report.notes[-1], flush=True)


def main():
    report = Report("solvers", "Draws and solvers, compared with those of other libraries")
    for name in ("jaxopt", "optimistix", "diffrax"):
        if importlib.util.find_spec(name) is None:
            report.notes.append(f"{name} was not installed.")
            print(report.notes[-1])
    steps_of_odes(report)
    lbfgs(report)
    if not QUICK:
        draws(report)
    report.save()


if __name__ == "__main__":
    main()
