"""torch's own samples of its operations (OpInfo), each as a model: converted, and tried on inputs
that the conversion has not seen. Right, or refused by the name of the operation.

`python tests/convert/opinfo_programs.py --to numpy --only "nn.*"` prints what became of each;
`--resume FILE` counts what an earlier run printed there, and tries only the rest.
"""

import argparse
import fnmatch
import random
import signal
import sys
import types
import unittest
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import trellis
from trellis import convert
from trellis.errors import PrecisionError, TrellisError

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script

from oracles import torch

# The test base class of torch's own suite comes from a package that nothing here needs.
STAND_IN = "expecttest"
# float32, sums of up to some thousand terms in another order: of each number, and of the largest.
EACH, SCALE = 1e-3, 1e-4
GRADIENT = 1e-3
SECONDS = 60  # of the processor, for one sample
# How many samples of each entry: those that differ most in their options.
SAMPLES = {"float32": 4, "int64": 2, "bool": 1, "complex64": 1}

# What torch leaves open. The libraries behind these (LAPACK, FFTs) promise nothing for nan,
# infinity and numbers far apart.
OPEN_AT_LIMITS = (
    "fft.*", "linalg.*", "stft", "istft", "svd*", "cholesky*", "qr", "lu*", "pinverse",
    "pca_lowrank", "svd_lowrank", "logdet", "triangular_solve", "ormqr", "geqrf", "matrix_exp",
    "cov", "corrcoef",
    # In some kernels the weights meet zeros of padding, in others nothing: 0 * nan.
    "nn.functional.conv*", "nn.functional.bilinear", "nn.functional.scaled_dot_product_attention",
    "*upsample*", "nn.functional.interpolate*", "*grid_sample*", "_softmax_backward_data",
    # Mean and variance in one pass; the order of factors and of weights.
    "var_mean*", "std_mean*", "nn.functional.*norm", "logspace*", "linspace*", "cumprod", "prod",
    "nn.functional.gelu",  # nan of infinity in one kernel, infinity in the other
    "searchsorted", "bucketize", "histc",  # edges with nan are not sorted
)  # fmt: skip
# Two elements go to one place, and nobody says which of them has the derivative.
OPEN_GRADIENT = ("nn.functional.max_unpool*", "masked_scatter", "index_copy", "scatter", "put")
# The order of equal numbers: values are compared, places only where all numbers differ.
# The signs of eigenvectors and singular vectors.
OPEN_SIGNS = ("linalg.eigh", "linalg.svd", "svd", "qr", "linalg.qr")
# Integers beyond their type: casts differ from processor to processor.
OPEN_CASTS = ("byte", "char", "short", "int", "long", "to", "type_as")
OPEN_ORDER = ("sort", "argsort", "topk", "kthvalue", "median", "nanmedian", "mode", "msort")

RIGHT, RANDOM, REFUSED = "right", "right, random", "refused by name"
BY_VERIFICATION = "refused by verification"
NOT_READABLE = "torch.export cannot read it"
GOOD = (RIGHT, RANDOM, REFUSED, BY_VERIFICATION, NOT_READABLE)


def entries():
    """All of torch's entries by name, with the variant after a dot."""
    if STAND_IN not in sys.modules:
        module = types.ModuleType(STAND_IN)
        module.TestCase = unittest.TestCase
        sys.modules[STAND_IN] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {".".join([x for x in (op.name, op.variant_test_name) if x]): op for op in op_db}


def matches(name, patterns):
    return any([fnmatch.fnmatch(name, pattern) for pattern in patterns])


class Program:
    """One sample of an entry: what is no tensor is fixed, the tensors are the inputs."""

    def __init__(self, op, sample):
        self.op = op
        self.nest = ((sample.input, *sample.args), dict(sample.kwargs))
        self.tensors = _tensors(self.nest)

    def module(self):
        program = self

        class Sample(torch.nn.Module):
            def forward(self, *tensors):
                args, kwargs = _with(program.nest, list(tensors))
                return program.op(*args, **kwargs)

        return Sample()

    def __call__(self, *tensors):
        args, kwargs = _with(self.nest, list(tensors))
        return self.op(*args, **kwargs)

    @property
    def options(self):
        """What tells samples apart: everything but the numbers in tensors."""
        marks = [f"{x.dtype}{x.dim()}{0 in x.shape}" for x in self.tensors]
        return repr(_with(self.nest, marks))

    def fits(self, other):
        shapes = [(x.shape, x.dtype) for x in self.tensors]
        return shapes == [(x.shape, x.dtype) for x in other.tensors] and self.options == (
            other.options
        )


def programs(op, dtype, seed=0):
    native = getattr(torch, dtype)
    if native not in op.dtypes:
        return []
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(op.sample_inputs("cpu", native, requires_grad=False))
    if op.variant_test_name == "hermitian":
        # torch's samples are not what the option says they are: one triangle gives the value, and
        # the derivative mixes it with the other.
        for sample in samples:
            sample.input = sample.input + sample.input.mH
    return [Program(op, sample) for sample in samples]


def chosen(found, most):
    """Up to `most` programs, evenly spread over those with different options."""
    places = list({program.options: i for i, program in reversed(list(enumerate(found)))}.values())
    places.sort()
    step = max(1.0, len(places) / most)
    return [places[int(i * step)] for i in range(most) if int(i * step) < len(places)]


def outcomes(name, op, to, samples=SAMPLES):
    """(what became of it, words) for some samples of an entry."""
    found = []
    for dtype, most in samples.items():
        try:
            first, second = [programs(op, dtype, seed) for seed in (0, 1)]
        except Exception as error:
            found.append(("no samples", f"{dtype}: {type(error).__name__}"))
            continue
        for i in chosen(first, most):
            other = second[i] if i < len(second) and first[i].fits(second[i]) else first[i]
            with Limit(SECONDS):
                category, words = outcome(first[i], other, to)
            found.append((category, f"{dtype} {i}: {words}"))
    return found


def outcome(program, other, to):
    """What became of one program, tried on the inputs of another with the same options."""
    tensors = program.tensors
    if any([x.is_sparse or x.is_nested or x.layout != torch.strided for x in tensors]):
        return "no samples", "sparse or nested"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = _tensors(program(*tensors))
        except Exception as error:
            return "no samples", f"torch raises {type(error).__name__}"
        if not results or any([x.is_sparse or x.layout != torch.strided for x in results]):
            return "no samples", "no tensors come out"
        try:
            model = convert.from_torch(program.module(), tensors, to=to)
        except TrellisError as error:
            return refusal(error), _short(error)
        except TimeoutError:
            return "timeout", "while it was converted"
        except Exception as error:
            return "raw error", f"{type(error).__name__}: {_short(error)}"
        try:
            return tried(program, other, model, to)
        except TimeoutError:
            return "timeout", "while it ran"


def refusal(error):
    text = str(error)
    if isinstance(error, PrecisionError):  # 64 bits on JAX, which has them only if asked for
        return REFUSED
    if "torch.export raised" in text or "decides in Python by values" in text:
        return NOT_READABLE
    if "has no rule for" in text:
        return REFUSED
    if "differs from torch" in text or "outputs where torch" in text:
        return BY_VERIFICATION
    if "could not read" in text or not any([s in text for s in ("aten", "prims", "torch.", "::")]):
        return "raw error"
    return REFUSED


def tried(program, other, model, to):
    verified = "verified" if not model._notes.verified.startswith("not") else "not verified"
    is_random = "random" in model._notes.verified or "undefined" in model._notes.verified
    for kind, tensors in variants(program.op, other.tensors):
        try:
            with torch.no_grad():
                expected = _tensors(program(*[x.clone() for x in tensors]))
        except Exception:
            continue  # torch itself has no answer
        try:
            found = trellis.tree.leaves(model(*[native(x, to) for x in tensors]))
        except PrecisionError as error:
            return REFUSED, _short(error)
        except TrellisError as error:
            return "raises when it runs", f"{kind}: {_short(error)}"
        except TimeoutError:
            raise
        except Exception as error:
            return "raw error when it runs", f"{kind}: {type(error).__name__}: {_short(error)}"
        for x, y in zip(found, expected, strict=True):
            if dtype_of(x) != wanted(y.dtype, to):
                return "other dtype", f"{dtype_of(x)} for {y.dtype}"
            if program.op.name in OPEN_ORDER and not y.is_floating_point() and has_equal(tensors):
                continue
            if program.op.name in OPEN_SIGNS:
                x, y = abs(as_array(x)), y.abs()
            by_parts = program.op.name in ("complex", "view_as_complex")
            x, y = as_array(x), numbers(y)
            if program.op.name in OPEN_CASTS and x.shape == y.shape:
                x = np.where(beyond(numbers(tensors[0]), y), y, x)
            difference = is_random or compared(x, y, by_parts)
            if difference is not True:
                where = "finite" if kind in ("other", "ties", "example") else "nan or inf"
                return f"wrong while {verified}, {where}", f"{kind}: {difference}"
    if is_random:
        return RANDOM, ""
    if matches(program.op.name, OPEN_GRADIENT + OPEN_SIGNS):
        return RIGHT, ""
    return gradients(program, other, model, to)


def variants(op, tensors):
    """The inputs, then some with hard numbers at a few places."""
    rng = np.random.RandomState(7)
    yield "other", [x.detach().clone() for x in tensors]
    if not any([x.is_floating_point() for x in tensors]) or matches(op.name, OPEN_AT_LIMITS):
        return
    hard = {
        "ties": [0.0, -0.0, 1.0, 1.0, -1.0],
        "nan": [float("nan")],
        "inf": [float("inf"), float("-inf")],
        "large": [3e4, -3e4, 1e-30, 88.0, -104.0],
    }
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    if isinstance(op, (BinaryUfuncInfo, UnaryUfuncInfo)):  # elsewhere sums of them cancel
        hard["huge"] = [1e30, -1e30]
    for kind, values in hard.items():
        changed = []
        for x in tensors:
            x = x.detach().clone()
            if x.is_floating_point() and x.numel():
                flat = np.array(x.reshape(-1).double().numpy())
                places = rng.permutation(flat.size)[: max(1, flat.size // 6)]
                flat[places] = rng.choice(values, len(places))
                x = torch.from_numpy(flat).to(x.dtype).reshape(x.shape)
            changed.append(x)
        yield kind, changed


def has_equal(tensors):
    flat = numbers(tensors[0]).reshape(-1)
    return np.unique(flat).size < flat.size or bool((flat != flat).any())


def beyond(x, y):
    """Where the numbers of `x` have no integer of the type of `y`."""
    if y.dtype.kind not in "iu" or x.dtype.kind != "f" or x.shape != y.shape:
        return False
    limits = np.iinfo(y.dtype)
    x = x.astype("float64")
    return ~((x > limits.min - 1.0) & (x < limits.max + 1.0))


def compared(x, y, by_parts=False):
    """True, or in words how two arrays differ."""
    if x.shape != y.shape:
        return f"shape {x.shape} for {y.shape}"
    if y.dtype.kind in "iub":
        same = x.astype(y.dtype) == y if to_unsigned(x, y) else x == y
        return bool(np.all(same)) or f"{x.reshape(-1)[:4]} for {y.reshape(-1)[:4]}"
    kind = "complex128" if y.dtype.kind == "c" else "float64"
    x, y = x.astype(kind), y.astype(kind)
    if by_parts and kind == "complex128":
        x, y = [np.stack([z.real, z.imag]) for z in (x, y)]
    with np.errstate(all="ignore"):
        finite = np.isfinite(y)
        scale = np.clip(np.abs(y[finite]).max(initial=0.0), 1e-2, 1e4)
        near = np.abs(x - y) <= EACH * np.abs(y) + SCALE * scale
        # Which parts of complex numbers that are not finite are nan depends on the multiplication.
        same = ~np.isfinite(x) if x.dtype.kind == "c" else (x == y) | (np.isnan(x) & np.isnan(y))
        right = np.where(finite, near, same)
    if right.all():
        return True
    return f"{x[~right][:3]} for {y[~right][:3]}"


def to_unsigned(x, y):
    return x.dtype.kind != y.dtype.kind


def gradients(program, other, model, to):
    """Compare derivatives of all floating inputs at ordinary points."""
    places = [i for i, x in enumerate(other.tensors) if x.is_floating_point()]
    try:  # in float64: torch's own derivatives are not exact either
        with torch.no_grad():
            program(*[x.double() if x.is_floating_point() else x for x in other.tensors])
        wide = torch.float64
    except Exception:
        wide = torch.float32
    leaves = [x.detach().clone() for x in other.tensors]
    for i in places:
        leaves[i] = leaves[i].to(wide).requires_grad_()
    try:
        out = _tensors(program(*leaves))
        smooth = [i for i, y in enumerate(out) if y.requires_grad and bool(y.isfinite().all())]
        weights = [np.cos(np.arange(out[i].numel()) * 0.7 + 0.3) for i in smooth]
        weights = [w.reshape(tuple(out[i].shape)) for w, i in zip(weights, smooth)]
        total = sum([(part(out[i]) * torch.from_numpy(w).to(part(out[i]).dtype)).sum()
                     for i, w in zip(smooth, weights)])  # fmt: skip
        if not places or not smooth or not total.requires_grad:
            return RIGHT, ""
        wanted = torch.autograd.grad(total, [leaves[i] for i in places], allow_unused=True)
    except Exception:
        return RIGHT, "torch has no derivative"
    arrays = [native(x, to) for x in other.tensors]

    def loss(floats):
        full = list(arrays)
        for i, x in zip(places, floats):
            full[i] = x
        found = trellis.tree.leaves(model(*full))
        total = 0.0
        for i, w in zip(smooth, weights):
            y = found[i]
            y = trellis.real(y) + trellis.imag(y) if "complex" in dtype_of(y) else y
            w = trellis.asarray(w.astype(dtype_of(y)), backend=to)
            total = total + trellis.sum(y * w)
        return total

    try:
        got = trellis.grad(loss)([arrays[i] for i in places])
    except TrellisError as error:
        return "no gradient", _short(error)
    except TimeoutError:
        raise
    except Exception as error:
        return "raw error in the gradient", f"{type(error).__name__}: {_short(error)}"
    # What is zero but for rounding beside other derivatives sets no scale.
    sizes = [float(np.abs(numbers(y)).max(initial=0.0)) for y in wanted if y is not None]
    floor = max(1e-2, 0.1 * max([size for size in sizes if np.isfinite(size)], default=0.0))
    for x, y in zip(got, wanted):
        x = as_array(x)
        y = np.zeros_like(x) if y is None else numbers(y)
        if not np.isfinite(y).all():
            continue
        if x.shape != y.shape:
            return "wrong gradient", f"shape {x.shape} for {y.shape}"
        scale = max(float(np.abs(y).max(initial=0.0)), floor)
        if not (np.abs(x - y) <= GRADIENT * scale).all():
            bad = ~(np.abs(x - y) <= GRADIENT * scale)
            return "wrong gradient", f"{x[bad][:3]} for {y[bad][:3]}"
    return RIGHT, ""


def part(y):
    return y.real + y.imag if y.is_complex() else y


def native(x, to):
    return convert.module.native(numbers(x), to, None)


def numbers(x):
    x = x.detach().resolve_conj().resolve_neg()
    x = x if x.layout == torch.strided else x.to_dense()  # a gradient
    return np.array((x.float() if x.dtype == torch.bfloat16 else x).numpy(force=True))


def as_array(x):
    return np.asarray(trellis.to_numpy(x) if hasattr(x, "dtype") else x)


def dtype_of(x):
    return str(trellis.dtype(x)) if hasattr(x, "dtype") else type(x).__name__


def wanted(dtype, to):
    name = str(dtype).removeprefix("torch.")
    return convert.module.NARROW.get(name, name) if to == "jax" else name


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [x for item in value for x in _tensors(item)] if isinstance(value, (list, tuple)) else []


def _with(value, tensors):
    if isinstance(value, torch.Tensor):
        return tensors.pop(0)
    if isinstance(value, dict):
        return {key: _with(item, tensors) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_with(item, tensors) for item in value])
    return value


def _short(error):
    return " ".join(str(error).split())[:300]


class Limit:
    """Raises TimeoutError in the block after some seconds of processor time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGPROF, self._raise)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _raise(self, *_):
        raise TimeoutError


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", default="numpy")
    parser.add_argument("--only", default="*")
    parser.add_argument("--bad", action="store_true", help="print only what is not right")
    parser.add_argument("--resume", type=Path, help="what an earlier run printed, without --bad")
    given = parser.parse_args()
    earlier = printed(given.resume) if given.resume else {}
    by_entry, by_sample = Counter(), Counter()
    for name, op in entries().items():
        if not fnmatch.fnmatch(name, given.only):
            continue
        found = earlier.get(name)
        if found is None:
            try:
                found = outcomes(name, op, given.to) or [("no samples", "")]
            except TimeoutError:
                found = [("timeout", "")]
        by_sample.update([category for category, _ in found])
        by_entry[worst([category for category, _ in found])] += 1
        for category, words in found:
            if not (given.bad and category in (RIGHT, RANDOM, "no samples")):
                print(f"{name}\t{category}\t{words}", flush=True)
    for title, counts in (("entries", by_entry), ("samples", by_sample)):
        print(f"# {title}: {sum(counts.values())}")
        for category, count in counts.most_common():
            print(f"#   {count:5} {category}")


def printed(path):
    """Outcomes by entry of an earlier run, but for its last entry, which may have been cut off."""
    found = {}
    for line in path.read_text().splitlines():
        parts = line.split("\t", 2)
        if len(parts) == 3:  # between them are the counts, and words of LAPACK
            found.setdefault(parts[0], []).append((parts[1], parts[2]))
    if found:
        found.popitem()
    return found


# What remains, with its reason: the entry, words that its outcome contains.
ALLOWED = {
    # At the zero matrix there is more than one: ours is 0 (docs/gradient_conventions.md), torch's
    # the vectors that LAPACK takes where all would do.
    ("linalg.norm.subgradients_at_zero", "[0. 0. 0.] for [0.19"),
}


def allowed(name, outcome):
    return any([fnmatch.fnmatch(name, entry) and words in outcome for entry, words in ALLOWED])


def worst(categories):
    """The one category that an entry counts for: the worst of its samples."""
    order = ["wrong", "other dtype", "raw", "raises", "timeout", "no gradient"]
    for word in order:
        for category in categories:
            if category.startswith(word):
                return category
    for category in (BY_VERIFICATION, REFUSED, NOT_READABLE, RIGHT, RANDOM):
        if category in categories:
            return category
    return "no samples"


if __name__ == "__main__":
    main()
