"""Seconds for 1,000 effective draws of a posterior: Trellis on JAX beside NumPyro.

Both run the no-U-turn sampler with a diagonal metric and Stan's schedule of tuning, in float64, on
the models of tests/mcmc/posterior_models.py. What counts is the smallest effective sample size of
all parameters. Time is that of compiled chains, with tuning; the first one, with compiling, has a
row of its own.

NumPyro is no requirement: without it there is nothing to compare with, and the program says so.
"""

import importlib.util
import sys
from pathlib import Path

import harness
from harness import QUICK, Report, Row, line, one_core

one_core()

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "mcmc"))

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import posterior_models as known

import trellis

DRAWS, TUNE = (300, 300) if QUICK else (1500, 1000)
CHAINS = 3 if QUICK else 4


def ours(name):
    def chain(key):
        return known.sampled(name, "jax", key=key, draws=DRAWS, tune=TUNE, chains=1).draws

    run = jax.jit(chain)
    return lambda seed: jax.block_until_ready(run(trellis.random.key(seed, backend="jax")))


def theirs(name):
    return known.by_numpyro(name, DRAWS, TUNE, 1)


def smallest(chains):
    """The smallest effective sample size of all numbers, by one formula for both."""
    parts = {part: np.concatenate([np.asarray(c[part]) for c in chains]) for part in chains[0]}
    return min([float(np.min(trellis.mcmc.ess(x))) for x in parts.values()])


def timed(call, *args):
    begin = harness.clock()
    found = call(*args)
    return harness.clock() - begin, found


def main():
    report = Report(
        "sampling", "Seconds of processor time for draws of NUTS, compared with NumPyro"
    )
    contestants = {"numpyro": theirs, "trellis on jax": ours}
    if importlib.util.find_spec("numpyro") is None:
        print("NumPyro is not installed: nothing to compare with.")
        report.notes.append("NumPyro was not installed.")
        del contestants["numpyro"]
    for name in known.POSTERIORS:
        calls, first = {}, {}
        for who, build in contestants.items():
            calls[who] = build(name)
            first[who], _ = timed(calls[who], 0)
        seconds = {who: [] for who in contestants}
        draws = {who: [] for who in contestants}
        for seed in range(1, CHAINS + 1):
            for who, call in calls.items():
                taken, found = timed(call, seed)
                seconds[who].append(taken)
                draws[who].append(found)
        per_draw, spread = {}, {}
        for who, taken in seconds.items():
            effective = smallest(draws[who])
            per_draw[who] = sum(taken) / effective * 1000
            spread[who] = float(np.ptp(taken) / np.median(taken))
        row = Row(f"{name}, 1,000 effective draws", per_draw, spread)
        report.rows.append(row)
        print(line(row), flush=True)
        row = Row(f"{name}, first chain with compiling", first, dict.fromkeys(first, 0.0))
        report.rows.append(row)
        print(line(row), flush=True)
    report.save()


if __name__ == "__main__":
    main()
