"""What is recorded of science and data: special functions, signals, matrices, distributions,
chains, solvers, orders of examples, adapters. Rows of tests are taken where there are tables.
"""

import json
import re
from pathlib import Path

import numpy as np
import test_signal
import test_vectors

import distribution_rows
from trellis import distributions, mcmc, nn, random
from trellis._golden import problems
from trellis.distributions import bijections, constraints

TESTS = Path(__file__).resolve().parents[1] / "tests"
RNG = np.random.default_rng(17)
SQUARE = RNG.uniform(-1, 1, (4, 4)).astype("float32") + 3 * np.eye(4, dtype="float32")
POSITIVE = SQUARE @ SQUARE.T
RIGHT = RNG.uniform(-2, 2, (4, 2)).astype("float32")
WAVE = test_signal.LONG[0, :64].astype("float32")


# Calls: (name, args, kwargs) ----------------------------------------------------------------------


def special(kind):
    """The functions of trellis.special at stored points, where results are not far apart: a
    difference is measured at the largest of an array."""
    found = []
    for row, stored in json.loads((TESTS / "special" / "references.json").read_text()).items():
        if "," in row:  # a part of the results of another row
            continue
        rows = np.array(stored["rows"])
        size = np.abs(rows[:, -3])
        usual = rows[(size > 0.05) & (size < 20)]
        chosen = usual if len(usual) >= 4 else rows
        columns = chosen[:: -(-len(chosen) // 8), :-3].T
        name = f"special.{re.match(r'[a-z_0-9]+', row)[0]}"
        label = f"{name}: {row}" if stored["orders"] else name
        args = (*stored["orders"], *[np.ascontiguousarray(x, kind) for x in columns])
        found.append((label, args, {}))
    return [*found, ("special.logsumexp", (WAVE.astype(kind),), {})]


def signal():
    found = []
    for window in test_signal.WINDOWS:
        found.append((f"signal.get_window: {window}", (window, 8), {}))
    for i, options in enumerate(test_signal.SPECTRA[:-1]):
        found.append((f"signal.stft: {i}", (WAVE,), options))
    z = np.ascontiguousarray(np.outer(WAVE[:9], WAVE[:6]) * (1 + 0.5j), "complex64")
    for i, (b, a) in enumerate(test_signal.FILTERS):
        args = tuple([np.asarray(x, "float32") for x in (b, a)])
        found.append((f"signal.lfilter: {i}", (*args, WAVE[:30]), {}))
    sections = np.array([[0.5, 0.2, 0.1, 2, -0.5, 0.2], [1, 0, 0.3, 1, 0.4, 0]], "float32")
    return [
        *found,
        ("signal.istft", (z,), {"nperseg": 16}),
        ("signal.sosfilt", (sections, WAVE[:30]), {}),
        ("signal.resample", (WAVE[:30], 13), {}),
        ("signal.resample: more", (WAVE[:31], 47), {}),
        ("signal.resample_poly", (WAVE[:40], 3, 2), {}),
        ("signal.mel_filters", (5, 64, 8000.0), {}),
        ("signal.mel_filters: htk", (5, 64, 8000.0), {"scale": "htk", "norm": None}),
        ("signal.fftconvolve", (WAVE[:9], WAVE[9:13]), {"mode": "same"}),
        ("signal.hilbert", (WAVE[:9],), {}),
        ("signal.dct", (WAVE[:8],), {"norm": "ortho"}),
        ("signal.idct", (WAVE[:7],), {}),
        ("signal.next_fast_len", (1021,), {}),
    ]


def matrices():
    tall = np.ascontiguousarray(SQUARE[:, :2])
    bands = RNG.uniform(1, 2, (3, 4)).astype("float32") * np.array([[1], [5], [1]], "float32")
    pivoted = np.ascontiguousarray(SQUARE[::-1])
    factors = np.array([[4, 1], [0.5, 3]], "float32"), np.array([1, 1], "int32")
    return [
        ("linalg.block_diag", (tall, RIGHT), {}),
        ("linalg.cho_solve", (np.tril(SQUARE), RIGHT), {}),
        ("linalg.cond", (SQUARE,), {}),
        ("linalg.cond: nuclear", (SQUARE,), {"ord": "nuc"}),
        ("linalg.expm", (SQUARE / 3,), {}),
        ("linalg.lstsq", (tall, RIGHT), {}),
        ("linalg.logm", (POSITIVE,), {}),
        ("linalg.lu", (pivoted,), {}),
        ("linalg.lu_factor", (pivoted,), {}),
        ("linalg.lu_solve", (factors, RIGHT[:2]), {}),
        ("linalg.solve_banded", ((1, 1), bands, RIGHT), {}),
        ("linalg.solve_triangular", (SQUARE, RIGHT), {"lower": True}),
        ("linalg.sqrtm", (POSITIVE,), {}),
        ("linalg.toeplitz", (RIGHT[:, 0], RIGHT[:, 1]), {}),
    ]


def solvers():
    """A few steps from the start: at an end, only rounding would be left to compare."""
    start, near = np.array([-1.2, 1.0], "float32"), np.array([2.0, 1.0], "float32")
    found = []
    for method in ("lbfgs", "bfgs", "newton-cg", "trust-region"):
        options = {"method": method, "max_steps": 3}
        found.append((f"optimize.minimize: {method}", (problems.valley, start), options))
    for method in ("newton", "broyden"):
        options = {"method": method, "max_steps": 2}
        found.append((f"optimize.root: {method}", (problems.meeting, near), options))
    for method in ("anderson", "plain"):
        options = {"method": method, "max_steps": 2}
        found.append((f"optimize.fixed_point: {method}", (problems.half_cosine, near), options))
    few, short = {"max_steps": 2}, {"max_steps": 2, "restart": 2}
    found += [
        ("optimize.least_squares", (problems.valley_residuals, start), {"max_steps": 3}),
        ("optimize.linear_solve", (SQUARE, RIGHT[:, 0]), short),
        ("optimize.gmres", (SQUARE, RIGHT[:, 0]), short),
        ("optimize.cg", (POSITIVE, RIGHT[:, 0]), few),
        ("optimize.bicgstab", (SQUARE, RIGHT[:, 0]), few),
    ]
    y, times = np.array([2.0, 1.0], "float32"), np.array([0.0, 0.2, 0.5], "float32")
    loose = {"rtol": 1e-3, "atol": 1e-5}
    for method in ("tsit5", "dopri5", "dopri8", "bosh3"):
        options = {"method": method, **loose}
        found.append((f"ode.solve: {method}", (problems.prey, y, times), options))
    for method in ("kvaerno3", "kvaerno5"):
        options = {"method": method, **loose}
        found.append((f"ode.solve: {method}", (problems.oscillator, y, times), options))
    event = {"event": problems.second_number, "method": "tsit5", **loose}
    late = np.array([0.0, 2.0, 4.0], "float32")
    return [
        *found,
        ("ode.solve: event", (problems.prey, y, late), event),
        ("ode.solve: fixed steps", (problems.prey, y, times), {"step": 0.1}),
        ("ode.odeint", (problems.prey, y, times), loose),
    ]


def calls():
    draws = np.random.default_rng(5).normal(size=(4, 40)).astype("float32")
    return [
        *special("float32"),
        *signal(),
        *matrices(),
        *solvers(),
        ("mcmc.ess", (draws,), {}),
        ("mcmc.ess: tail", (draws,), {"kind": "tail"}),
        ("mcmc.rhat", (draws,), {}),
    ]


# Distributions ------------------------------------------------------------------------------------

SHARES = np.array([[0.1], [0.5], [0.9]], "float32")
# What not every backend has: a search over counts whose number is an array, which JAX compiles.
WITHOUT = {"BetaBinomial": {"icdf"}}


def families():
    """From names to the parameters and the points."""
    return {
        row.name: (single(row.parameters), np.asarray(row.points, "float32"))
        for row in distribution_rows.ROWS
    }


def single(parameters):
    return {
        name: x.astype("float32") if x.dtype.kind == "f" else x for name, x in parameters.items()
    }


def compound():
    """Distributions of vectors and those made of others: name, maker, points."""
    d = distributions
    vectors = {
        name: getattr(test_vectors, name).astype("float32")
        for name in ("COVARIANCE", "FACTOR", "LOC", "POINTS", "SHARES", "CONCENTRATION")
    }
    covariance, factor, loc, points, shares, concentration = vectors.values()
    inside, counts = test_vectors.ON_SIMPLEX.astype("float32"), test_vectors.COUNTS
    counts = counts.astype("float32")
    line = np.array([-3.0, 0.0, 0.5, 2.9], "float32")
    whole = np.array([0.0, 1.0, 2.0, 5.0], "float32")
    eye = np.eye(3, dtype="float32")
    w = np.array([[1.0, 0.2], [0.5, -1.0], [0.0, 0.3]], "float32")
    rows = np.array([[1.0, 0.0], [0.5, 2.0]], "float32")
    table = np.arange(6, dtype="float32").reshape(2, 3)
    correlations = np.array([[[1.0, r], [r, 1.0]] for r in (-0.5, 0.1, 0.9)], "float32")
    one, two = np.array(1.0, "float32"), np.array(2.0, "float32")
    return [
        ("MultivariateNormal", lambda: d.MultivariateNormal(loc, covariance), points),
        ("LowRankMultivariateNormal", lambda: d.LowRankMultivariateNormal(loc, w, shares), points),
        ("MultivariateStudentT", lambda: d.MultivariateStudentT(3.5, loc, factor), points),
        ("Dirichlet", lambda: d.Dirichlet(concentration), inside),
        ("DirichletMultinomial", lambda: d.DirichletMultinomial(concentration, 6), counts),
        ("Multinomial", lambda: d.Multinomial(6, shares), counts),
        ("Categorical", lambda: d.Categorical(shares), whole[:3]),
        ("Categorical: logits", lambda: d.Categorical(logits=loc), whole[:3]),
        ("OneHotCategorical", lambda: d.OneHotCategorical(shares), eye),
        ("RelaxedOneHotCategorical", lambda: d.RelaxedOneHotCategorical(0.7, shares), inside),
        ("Wishart", lambda: d.Wishart(5.0, covariance), 4 * covariance + eye),
        ("MatrixNormal", lambda: d.MatrixNormal(table, rows, factor), table + 1),
        ("LKJ", lambda: d.LKJ(2, 3.0), correlations),
        ("LKJCholesky", lambda: d.LKJCholesky(3, two), np.linalg.cholesky(covariance / 2)),
        (
            "MixtureSameFamily",
            lambda: d.MixtureSameFamily(d.Categorical(shares), d.Normal(loc, 0.7)),
            line,
        ),
        (
            "Mixture",
            lambda: d.Mixture(
                d.Categorical(shares[:2] / 0.7), [d.Exponential(1.0), d.StudentT(3.0)]
            ),
            line,
        ),
        ("Truncated", lambda: d.Truncated(d.Gamma(2.0, 1.5), one / 2, two), line),
        ("Censored", lambda: d.Censored(d.Normal(one, 2.0), -1.0, 3.0), line),
        ("ZeroInflated", lambda: d.ZeroInflated(d.Poisson(two), gate_logits=-one), whole),
        (
            "ZeroInflatedNegativeBinomial",
            lambda: d.ZeroInflatedNegativeBinomial(one / 4, two, one / 2),
            whole,
        ),
        ("Transformed", lambda: d.Transformed(d.Normal(one, 1.2), bijections.Exp()), line),
        ("Independent", lambda: d.Independent(d.Normal(table, 1.0), 1), loc),
        ("Expanded", lambda: d.Expanded(d.Normal(0.0, 1.0), (3,)), loc),
        ("Delta", lambda: d.Delta(loc), loc),
    ]


def divergences():
    d, loc = distributions, test_vectors.LOC.astype("float32")
    shares = test_vectors.SHARES.astype("float32")
    covariance = test_vectors.COVARIANCE.astype("float32")
    key = random.key(7)
    return [
        ("normal", lambda: (d.Normal(loc, 1.0), d.Normal(loc + 1, 2.0)), {}),
        ("gamma", lambda: (d.Gamma(2.5, 1.5), d.Exponential(0.7)), {}),
        ("categories", lambda: (d.Categorical(shares), d.Categorical(logits=loc)), {}),
        (
            "vectors",
            lambda: (d.MultivariateNormal(loc, covariance), d.MultivariateNormal(-loc, covariance)),
            {},
        ),
        ("by draws", lambda: (d.Gumbel(0.0, 1.0), d.Normal(0.5, 1.5)), {"key": key, "samples": 20}),
    ]


def maps():
    """Bijections: name, maker, points."""
    x = np.array([0.3, -1.2, 0.8], "float32")
    makers = test_vectors.MAPS | {
        "Identity": bijections.Identity,
        "OverEvent": lambda: bijections.OverEvent(bijections.Exp(), 1),
    }
    found = [
        (name, make, np.abs(x) if name in ("Power", "Inverse") else x)
        for name, make in makers.items()
    ]
    for name in ("simplex", "ordered", "lower_cholesky", "unit_interval", "positive"):
        constraint = getattr(constraints, name)
        found.append((f"biject_to: {name}", lambda c=constraint: bijections.biject_to(c), x))
    between = lambda: bijections.biject_to(constraints.interval(-1.0, 2.0))  # noqa: E731
    return [*found, ("biject_to: interval", between, x)]


def sets():
    """Constraints: name, maker or the constraint, and points, some inside."""
    numbers = np.array([-1.5, 0.0, 0.5, 1.0, 3.0], "float32")
    vectors = np.array([[0.2, 0.5, 0.3], [1, 0, 0], [1, 2, 3], [3, 2, -1]], "float32")
    good = np.array([[1.0, 0.5], [0.5, 1.0]], "float32")
    matrices_ = np.stack([good, np.tril(good), -good, np.linalg.cholesky(good)])
    found = []
    for name, value in vars(constraints).items():
        if name.startswith("_") or not isinstance(value, constraints.Constraint):
            continue
        x = (numbers, vectors, matrices_)[value.event_rank]
        found.append((name, value, x))
    return [*found, ("interval", lambda: constraints.interval(-1.0, 1.0), numbers)]


# Chains, orders, changed modules ------------------------------------------------------------------


def chains():
    """Names, samplers, and options; two short chains each."""
    start = {"x": np.array([0.5, -0.5], "float32"), "s": np.array(1.0, "float32")}
    common = {"key": random.key(5), "chains": 2, "draws": 5, "tune": 0}
    bounds = {"constraints": {"s": constraints.positive}}
    return [
        ("mcmc.sample", (problems.slanted, start), common | bounds | {"tune": 4, "draws": 3}, None),
        ("mcmc.NUTS", (problems.slanted, start), common | bounds, lambda: mcmc.NUTS()),
        ("mcmc.HMC", (problems.slanted, start), common | bounds, lambda: mcmc.HMC(4)),
    ]


def orders():
    """Loaders: the name, how many examples or the lengths of theirs, and how they are read."""
    lengths = [1 + (i * 7) % 5 for i in range(23)]
    weights = np.arange(23) + 1.0
    shuffled = {"shuffle": True, "seed": 5}
    loader, buckets, packing = "data.Loader", "data.Buckets", "data.Packing"
    return [
        (f"{loader}: in order", 23, {}),
        (f"{loader}: shuffled", 23, shuffled),
        (f"{loader}: large", 70_001, {**shuffled, "seed": 2**40 + 3}),
        (f"{loader}: blocks", 23, {"shuffle": 8, "seed": 5}),
        (f"{loader}: weights", 23, {"weights": weights, "seed": 5}),
        (f"{loader}: a share", 23, {**shuffled, "rank": 1, "ranks": 3, "drop_last": True}),
        (f"{loader}: draws", 23, {**shuffled, "map": problems.noised}),
        (f"{loader}: from the stream", 23, {"shuffle": True}),
        (buckets, lengths, {**shuffled, "pad": -1.0, "batching": ("buckets", {"pool": 2})}),
        (packing, lengths, {**shuffled, "batching": ("packing", {"length": 8})}),
        (f"{packing}: whole", lengths, {"batching": ("packing", {"length": 8, "split": False})}),
    ]


def changed_model():
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))


def changes():
    return [
        ("nn.lora", {"rank": 2}),
        ("nn.lora: dora", {"rank": 2, "variant": "dora", "alpha": 3.0}),
        ("nn.quantize", {"group": 2}),
        ("nn.quantize: 8 bits", {"bits": 8}),
    ]
