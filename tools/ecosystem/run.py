"""Runs functions of SciPy and scikit-learn on arrays of four frameworks, native and wrapped, and
writes what came of it to docs/data/ecosystem.json:

    python tools/ecosystem/run.py                # all calls, in about two minutes
    python tools/ecosystem/run.py stats.ttest_ind -v --framework jax   # one, with its errors

A call is *right* if it returns NumPy's numbers in arrays of the framework that it was called with,
*numpy* if it returns them in NumPy, *wrong* if the numbers differ, and *raised* if it raises.
`trellis.grad` of a sum of its results, over wrapped arrays, is compared with finite differences.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported
os.environ.setdefault("JAX_ENABLE_X64", "1")  # the same precision on all four
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import argparse
import importlib.metadata
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy_calls
import sklearn
import sklearn_calls

import trellis
from trellis import interchange
from trellis.array_api import WrappedArray, unwrap, wrap

FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow")
ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "docs" / "data" / "ecosystem.json"
PAGE = ROOT / "docs" / "ecosystem.md"
PARTS = {"scipy": scipy_calls.CALLS, "sklearn": sklearn_calls.CALLS}
# Results in float64: what differs is the order of sums, and SciPy's own formulas for some functions
# (i0, gammainc) on arrays that are not NumPy's.
RTOL, ATOL = 1e-7, 1e-9
# Functions of integers have results of the framework's default float, most often float32.
SINGLE = {"rtol": 1e-5, "atol": 1e-6}
# Central differences with steps of 1e-6 have about ten digits, of which cancellation takes three.
GRADIENT_RTOL, GRADIENT_ATOL = 1e-5, 1e-7


def leaves(result):
    """The arrays and numbers of a result, which may be a tuple."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def numbers(x):
    return np.asarray(x) if is_number(x) else interchange.to_numpy(unwrap(x))


def is_number(x):
    return type(x) in (bool, int, float)  # NumPy's scalars are arrays


def outcome(call, expected, arrays, kinds):
    try:
        found = leaves(call(*arrays))
        values = [numbers(x) for x in found]
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error}"
    if len(values) != len(expected):
        return "wrong", f"{len(values)} results, expected {len(expected)}"
    for value, wanted in zip(values, expected, strict=True):
        is_single = value.dtype in (np.float32, np.complex64) or value.dtype == float
        limits = SINGLE if is_single else {"rtol": RTOL, "atol": ATOL}
        if value.shape != wanted.shape or not np.allclose(value, wanted, **limits, equal_nan=True):
            return "wrong", f"{value} instead of {wanted}"
    if all([is_number(x) or isinstance(x, kinds) for x in found]):
        return "right", ""
    return "numpy", f"{[type(x).__name__ for x in found]}"


def weighted(results):
    """One number of all floating-point results, so that each of them has a part in the gradient."""
    total = 0.0
    for x in leaves(results):
        xp = trellis.namespace(x)
        if xp.isdtype(x.dtype, "complex floating"):
            x = xp.real(x) + 2.0 * xp.imag(x)
        flat = xp.reshape(x, (-1,))
        weights = xp.astype(xp.arange(1, flat.shape[0] + 1), flat.dtype)
        total = total + xp.sum(flat * xp.cos(weights))
    return total


def is_floating(results):
    return all([np.asarray(x).dtype.kind in "fc" for x in leaves(results)])


def differences(call, arrays, step=1e-6):
    """The gradient by the first array."""

    def value(x):
        found = [np.asarray(y) for y in leaves(call(x, *arrays[1:]))]
        return float(weighted(found))

    found = np.zeros(arrays[0].shape)
    for place in np.ndindex(found.shape):
        moved = [arrays[0].copy(), arrays[0].copy()]
        moved[0][place] += step
        moved[1][place] -= step
        found[place] = (value(moved[0]) - value(moved[1])) / (2 * step)
    return found


def gradient(call, expected, arrays, kinds):
    del kinds
    try:
        found = trellis.grad(lambda x: weighted(call(x, *arrays[1:])))(arrays[0])
        value = numbers(found)
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error}"
    is_right = np.allclose(value, expected, GRADIENT_RTOL, GRADIENT_ATOL)
    return ("right", "") if is_right else ("wrong", f"{value} instead of {expected}")


def rows(part, given):
    for name, call in PARTS[part].items():
        if given.names and not any([name.endswith(f".{word}") for word in given.names]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of SciPy, about small samples
            with sklearn.config_context(array_api_dispatch=False):
                plain = call(*call.arrays)
                can = part == "scipy" and is_floating(plain)
                slopes = differences(call, call.arrays) if can else None
            expected = [np.asarray(x) for x in leaves(plain)]
            row = {}
            for framework in given.framework or FRAMEWORKS:
                xp = trellis.namespace(framework)
                native = [xp.asarray(x) for x in call.arrays]
                wrapped = [wrap(x) for x in native]
                tries = {"native": (outcome, expected, native, xp.ARRAY_TYPES)}
                tries["wrapped"] = (outcome, expected, wrapped, (WrappedArray,))
                if slopes is not None:
                    tries["gradient"] = (gradient, slopes, wrapped, ())
                for kind, (ask, wanted, arrays, kinds) in tries.items():
                    found, why = ask(call, wanted, arrays, kinds)
                    row[f"{framework} {kind}"] = found
                    if given.verbose and why:
                        print(f"{name} {framework} {kind}: {found}: {why[:400]}")
        yield name, row


def counts(table):
    """How many calls of each column came out in which way."""
    found = {}
    for row in table.values():
        for column, word in row.items():
            counted = found.setdefault(column, {})
            counted[word] = counted.get(word, 0) + 1
    return found


def written(content, depth=3):
    """JSON with one line for each call."""
    if depth == 0 or not isinstance(content, dict):
        return json.dumps(content)
    lines = [f"{json.dumps(key)}: {written(value, depth - 1)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def write_page(content):
    """The table of docs/ecosystem.md."""
    sys.path.insert(0, str(ROOT / "tools"))
    from page_tables import filled, table

    versions = content["versions"]
    lines = []
    for part, name in (("scipy", "scipy"), ("sklearn", "scikit-learn")):
        title = f"{name} {versions[name]}, {len(content['calls'][part])} calls"
        for kind in ("native", "wrapped", "gradient"):
            columns = [content["counts"][part].get(f"{each} {kind}") for each in FRAMEWORKS]
            if None not in columns:
                lines.append([f"{title}: {kind}", *[_cell(counted) for counted in columns]])
    heads = [f"{name} {versions[name]}" for name in FRAMEWORKS]
    PAGE.write_text(filled(PAGE.read_text(), "calls", table(["", *heads], lines)))


def _cell(counted):
    words = {"right": "right", "numpy": "in NumPy", "wrong": "wrong", "raised": "raised"}
    return ", ".join([f"{counted[word]} {text}" for word, text in words.items() if word in counted])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("names", nargs="*", help="the last parts of the names of calls")
    parser.add_argument("--framework", action="append", choices=FRAMEWORKS)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what went wrong")
    given = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    found = {part: dict(rows(part, given)) for part in PARTS}
    summary = {part: counts(table) for part, table in found.items()}
    content = {"counts": summary, "calls": found}
    if not given.names and not given.framework:
        packages = ("scipy", "scikit-learn", "numpy", "torch", "jax", "tensorflow")
        content = {"versions": {name: _version(name) for name in packages}, **content}
        PATH.write_text(written(content) + "\n")
        write_page(content)
    print(json.dumps(content if given.names else summary))


def _version(name):
    for package in (name, f"{name}-cpu"):
        try:
            return importlib.metadata.version(package).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
    raise SystemExit(f"{name} is not installed")


if __name__ == "__main__":
    main()
