"""Records the golden vectors of a release, which `trellis verify` replays.

    python tools/golden.py --record     # at a release: write src/trellis/_golden/releases/VERSION
    python tools/golden.py --add        # to the newest file: what only newer recorders know of
    python tools/golden.py --measure    # how far the installed frameworks are from the newest file

Rows come from the conformance kit, tests/nn/test_layers.py, golden_rows.py, and golden_science.py,
which takes those of tests/special, signal and distributions. Every result is
computed on NumPy by the same functions that replay it. Spies on the public names find out how a row
makes its optimizer or layer, so that a file can say it without code.
"""

import argparse
import contextlib
import datetime
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path[:0] = [str(TESTS), *[str(TESTS / name) for name in ("nn", "signal", "distributions")]]

import golden_rows  # noqa: E402
import golden_science  # noqa: E402
import test_layers  # noqa: E402

import optim_cases  # noqa: E402
import trellis  # noqa: E402
from trellis import nn, tree  # noqa: E402
from trellis._core.dispatch import load  # noqa: E402
from trellis._core.files import write_arrays  # noqa: E402
from trellis._golden import comparing, names, problems, release, replay, science, values  # noqa: E402
from trellis._golden.verify import installed_backends  # noqa: E402
from trellis.conformance.cases import all_cases  # noqa: E402
from trellis.conformance.rows import cast, map_arrays  # noqa: E402

STEPS = 4
SIGNS_ARE_FREE = {"linalg.eigh", "linalg.qr", "linalg.svd"}
ORDER_IS_FREE = {"linalg.eig", "linalg.eigvals"}


# Calls of public names ----------------------------------------------------------------------------


class Witness:
    """Remembers which public name made an object, and with which arguments."""

    def __init__(self):
        self.calls = []  # (name, args, kwargs, result); inner calls before those around them

    @contextlib.contextmanager
    def watching(self):
        """Spies in place of all public names while this is entered."""
        old = []
        for room in names.MODULES:
            module = importlib.import_module(f"trellis.{room}".rstrip("."))
            for name in dir(module):
                value = getattr(module, name, None)
                is_public = callable(value) and not name.startswith("_") and value is not nn.Module
                if is_public and not inspect.ismodule(value):
                    with contextlib.suppress(trellis.errors.ArgumentError):
                        path = f"{room}.{name}".lstrip(".")
                        if names.resolve(path) is value:
                            old.append((module, name, value))
        try:
            for module, name, value in old:
                room = module.__name__.removeprefix("trellis").lstrip(".")
                setattr(module, name, self._spy(f"{room}.{name}".lstrip("."), value))
            yield
        finally:
            for module, name, value in old:
                setattr(module, name, value)

    def _spy(self, path, value):
        def spy(*args, **kwargs):
            result = value(*args, **kwargs)
            self.calls.append((path, args, kwargs, result))
            return result

        spy.stands_for = value
        return spy

    def call_that_made(self, value):
        for path, args, kwargs, result in reversed(self.calls):
            if result is value:
                return path, args, kwargs
        return None


class Writer:
    """From values to JSON; equal arrays are stored once."""

    def __init__(self, arrays=()):
        self.arrays = {}
        self._numbers = {}
        for number, x in dict(arrays).items():
            self.arrays[number] = x
            self._numbers[_content(x)] = number

    def keep_only(self, entries):
        """Forget the arrays that no entry names."""
        named = set(re.findall(r'"\$array": "(\d+)"', json.dumps(entries)))
        self.arrays = {number: x for number, x in self.arrays.items() if number in named}

    def write(self, value, witness=None):
        again = lambda item: self.write(item, witness)  # noqa: E731
        if isinstance(value, (np.ndarray, np.generic)):
            return {"$array": self._number(np.asarray(value))}
        if isinstance(value, float) and not np.isfinite(value):
            return {"$float": str(value)}
        if isinstance(value, complex):
            return {"$complex": [value.real, value.imag]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        made = witness and witness.call_that_made(value)
        if made:
            path, args, kwargs = made
            kwargs = {name: again(item) for name, item in kwargs.items()}
            return {"$call": path, "args": [again(item) for item in args], "kwargs": kwargs}
        if isinstance(value, list):
            return [again(item) for item in value]
        if isinstance(value, tuple):
            return {"$tuple": [again(item) for item in value]}
        if isinstance(value, dict) and not all([isinstance(key, str) for key in value]):
            return {"$pairs": [[again(key), again(item)] for key, item in value.items()]}
        if isinstance(value, dict):
            return {"$dict": {key: again(item) for key, item in value.items()}}
        if isinstance(value, slice):
            return {"$slice": [again(part) for part in (value.start, value.stop, value.step)]}
        if value is ...:
            return {"$ellipsis": True}
        if value in problems.PROBLEMS.values():
            return {"$problem": value.__name__}
        return {"$name": public_path(value)}

    def _number(self, x):
        content = _content(x)
        if content not in self._numbers:
            self._numbers[content] = str(len(self.arrays))
            self.arrays[self._numbers[content]] = x
        return self._numbers[content]


def _content(x):
    return x.dtype.name, x.shape, x.tobytes()


def public_path(value):
    """How a user writes a public function or data type."""
    value = getattr(value, "stands_for", value)
    for room in names.MODULES:
        module = importlib.import_module(f"trellis.{room}".rstrip("."))
        for name, found in vars(module).items():
            if found is value and not name.startswith("_"):
                return f"{room}.{name}".lstrip(".")
    raise TypeError(f"{value!r} is neither data nor public: a golden file cannot say it")


# Entries without their results --------------------------------------------------------------------


def entries_of(writer):
    """All entries of this tree, still without what is expected of them."""
    found = [*_calls(writer), *_draws(writer), *_optimizers(writer), *_layers(writer)]
    for name, x, index, mode, value in golden_rows.updates():
        parts = {"x": x, "index": index, "value": value}
        parts = {part: writer.write(each) for part, each in parts.items()}
        found.append({"name": name, "kind": "update", "mode": mode, **parts})
    found += [*_files(writer), *_gradients(writer, found), *_wide_calls(writer)]
    return [*found, *_distributions(writer), *_maps_and_sets(writer), *_others(writer)]


def _rows():
    """The rows of tests/cases that are recorded."""
    return [
        (name, row)
        for name, row in all_cases()
        if row.op != "at" and row.op not in golden_rows.UNRECORDED
    ]


def _calls(writer):
    found = [_case(writer, name, row, "float32") for name, row in _rows()]
    return found + [_call(writer, *row) for row in (*golden_rows.calls(), *golden_science.calls())]


def _case(writer, name, row, dtype):
    """The entry of a row of tests/cases."""
    args = map_arrays(lambda x: cast(x, dtype, "numpy"), row.args)
    witness = Witness()
    if row.call is None:
        call = (row.op, args, row.kwargs)
    else:
        with witness.watching(), trellis.using_backend("numpy"):
            row.call(*args)
        call = [each for each in witness.calls if each[0] == row.op][-1]
    entry = _call(writer, name, *call[:3], witness)
    entry |= {"signs_are_free": True} if row.op in SIGNS_ARE_FREE else {}
    return entry | ({"order_is_free": True} if row.op in ORDER_IS_FREE else {})


def _wide_calls(writer):
    """The first row of each function once more, in float64; and draws."""
    firsts = {}
    for name, row in _rows():
        if "float64" in row.dtypes and row.call is None:
            firsts.setdefault(row.op, (name, row))
    found = [_case(writer, name, row, "float64") for name, row in firsts.values()]
    found += [_call(writer, *row) for row in golden_rows.wide_draws()]
    found += [_call(writer, *row) for row in golden_science.special("float64")]
    for entry in found:
        entry["name"] += ", float64" if ":" in entry["name"] else ": float64"
        entry["is_64_bit"] = True
    return found


def _gradients(writer, entries):
    """Of the first row of each function that has one, and of the first row of each layer."""
    firsts = {}
    for name, row in _rows():
        is_differentiable = row.gradient is True and row.then is None and row.call is None
        if is_differentiable and row.op not in SIGNS_ARE_FREE | ORDER_IS_FREE:
            firsts.setdefault(row.op, (name, row))
    found = [
        _case(writer, name, row, "float32") | {"kind": "gradient"} for name, row in firsts.values()
    ]
    layers = {}
    for entry in entries:
        if entry["kind"] == "layer" and entry["state"]["$dict"]:
            layers.setdefault(entry["name"].partition(":")[0], entry)
    return found + [entry | {"kind": "layer gradient"} for entry in layers.values()]


def _call(writer, name, path, args, kwargs=None, witness=None):
    if kwargs is None:  # a row of golden_rows: its name says the function
        path, args, kwargs = name.partition(":")[0], path, args
    written = [writer.write(x, witness) for x in args]
    kwargs = {key: writer.write(x, witness) for key, x in kwargs.items()}
    call = {"$call": path, "args": written, "kwargs": kwargs}
    return {"name": name, "kind": "call", "call": call}


def _draws(writer):
    found = [_call(writer, *row) for row in golden_rows.draws()]
    for name, make, shape in golden_rows.initialisers():
        entry = {"kind": "initial", "make": _maker(writer, make), "shape": list(shape), "key": 7}
        found.append({"name": f"nn.init.{name}", **entry})
    return found


def _maker(writer, make):
    """The call of a public name that `make()` is."""
    witness = Witness()
    if inspect.isclass(make):  # the class itself
        return {"$call": public_path(make), "args": [], "kwargs": {}}
    with witness.watching(), trellis.random.stream(0):
        made = make()
    return writer.write(made, witness)


def _optimizers(writer):
    def single(nest):
        return tree.map(lambda x: np.asarray(x, "float32"), nest)

    v = writer.write(single(optim_cases.variables()))
    grads = [writer.write(single(optim_cases.gradients(step))) for step in range(STEPS)]
    found = []
    for kind, rows in (
        ("optimizer", optim_cases.OPTIMIZERS),
        ("transformation", [*optim_cases.TRANSFORMATIONS, *golden_rows.transformations()]),
        ("schedule", optim_cases.SCHEDULES),
    ):
        rows = [
            row for row in rows if optim_cases.one_step.__name__ not in row.make.__code__.co_names
        ]
        for name, row in optim_cases.named(rows).items():
            given = {"steps": 12} if kind == "schedule" else {"variables": v, "gradients": grads}
            made = _maker(writer, row.make)
            found.append({"name": f"optim.{name}", "kind": kind, "make": made, **given})
    for name, make in golden_rows.averages():
        entry = {"kind": "average", "make": _maker(writer, make), "values": [v, *grads]}
        found.append({"name": f"optim.{name}", **entry})
    return found


def _layers(writer):
    rows = {
        label: (make, [test_layers.numbers(shape) for shape in shapes])
        for label, (make, shapes, _) in test_layers.LAYERS.items()
    }
    rows |= golden_rows.embeddings()
    with trellis.using_backend("numpy"):
        witness = Witness()
        with witness.watching():
            losses = test_layers.losses_and_functions()
    found = []
    for label, (make, inputs) in rows.items():
        name = "nn." + ": ".join(label.split(" ", 1))
        found += _layer(writer, name, _maker(writer, make), inputs)
    for module, _, inputs in losses:
        name = f"nn.{type(module).__name__}"
        found += _layer(writer, name, writer.write(module, witness), inputs)
    return found


def _layer(writer, name, make, inputs):
    """Its first weights, where it has any, and what it computes with weights that are none of
    them."""
    with trellis.using_backend("numpy"), trellis.random.stream(0):
        module = values.Reader(writer.arrays, load("numpy")).read(make)
    state = module.state_dict()
    shaken = {
        chain: state[chain] + np.float32(0.3) * np.abs(golden_rows.some(*state[chain].shape))
        for chain in state.key_chains()
    }
    entry = {"kind": "layer", "make": make, "state": writer.write(shaken)}
    found = [{"name": name, **entry, "inputs": [writer.write(x) for x in inputs]}]
    return [{"name": name, "kind": "weights", "make": make}, *found] if shaken else found


def _files(writer):
    make = _maker(writer, golden_rows.file_model)
    x = writer.write(golden_rows.some(2, 4, 4, 2))
    run = {
        "kind": "training",
        "make": _maker(writer, golden_rows.training_model),
        "optimizer": _maker(writer, golden_rows.training_optimizer),
        "loss": {"$name": "functional.mse_loss"},
        "x": writer.write(golden_rows.some(12, 3)),
        "y": writer.write(golden_rows.some(12, 1)),
        "batch_size": 4,
        "seed": 5,
    }
    return [
        {"name": "save_weights", "kind": "weights", "make": make},
        {
            "name": "load_weights",
            "kind": "file of weights",
            "make": make,
            "file": "weights.safetensors",
            "input": x,
        },
        {"name": "train.fit", **run, "epochs": 2, "file": None},
        {"name": "train.fit: resumed", **run, "epochs": 4, "file": "checkpoint.safetensors"},
    ]


def _distributions(writer):
    """Draws with a key, densities, and what else there is a formula of."""
    shares = writer.write(golden_science.SHARES)
    found = []
    made = [
        (
            name,
            {"$call": f"distributions.{name}", "args": [], "kwargs": written(writer, given)},
            points,
        )
        for name, (given, points) in golden_science.families().items()
    ]
    made += [
        (name, _maker(writer, make), points) for name, make, points in golden_science.compound()
    ]
    for name, make, points in made:
        entry = {"kind": "distribution", "make": make, "key": 7, "shape": [3]}
        entry |= {"points": writer.write(points), "shares": shares}
        without = golden_science.WITHOUT.get(name, ())
        numbers = [each for each in science.NUMBERS if each not in without]
        numbers = [each for each in numbers if _has(entry, each, writer)]
        found.append({"name": f"distributions.{name}", **entry, "numbers": numbers})
    for name, make, options in golden_science.divergences():
        pair = _maker(writer, make)["$tuple"]
        call = {"$call": "distributions.kl_divergence", "args": pair}
        call |= {"kwargs": written(writer, options)}
        found.append({"name": f"distributions.kl_divergence: {name}", "kind": "call", "call": call})
    return found


def written(writer, nest):
    return {name: writer.write(x) for name, x in nest.items()}


def _has(entry, number, writer):
    """Whether there is a formula."""
    try:
        with np.errstate(all="ignore"):
            replay.run({**entry, "numbers": [number]}, writer.arrays, None, "numpy")
    except trellis.errors.NotSupportedError:
        return False
    return True


def _maps_and_sets(writer):
    found = []
    for name, make, x in golden_science.maps():
        entry = {"kind": "bijection", "make": _maker(writer, make), "x": writer.write(x)}
        found.append({"name": f"distributions.bijections.{name}", **entry})
    for name, make, x in golden_science.sets():
        is_set = isinstance(make, trellis.distributions.constraints.Constraint)
        made = {"$name": public_path(make)} if is_set else _maker(writer, make)
        entry = {"kind": "constraint", "make": made, "x": writer.write(x)}
        found.append({"name": f"distributions.constraints.{name}", **entry})
    return found


def _others(writer):
    """Chains, the order of examples, modules with adapters."""
    found = []
    for name, args, options, sampler in golden_science.chains():
        made = {} if sampler is None else {"sampler": _maker(writer, sampler)}
        call = {"$call": "mcmc.sample", "args": [writer.write(x) for x in args]}
        call["kwargs"] = written(writer, options) | made
        found.append({"name": name, "kind": "chains", "call": call})
    for name, examples, options in golden_science.orders():
        options = dict(options)
        entry = {"kind": "order", "length": examples, "batch_size": 4, "batches": 4}
        if isinstance(examples, list):
            batching, given = options.pop("batching")
            entry |= {"length": len(examples), "lengths": examples}
            entry |= {"batching": batching, "batching_options": given}
        found.append({"name": name, **entry, "options": written(writer, options)})
    make, x = _maker(writer, golden_science.changed_model), golden_rows.some(3, 6)
    (layer,) = [each for each in _layer(writer, "", make, [x]) if each["kind"] == "layer"]
    for name, options in golden_science.changes():
        entry = {**layer, "kind": "changed module", "change": name.partition(":")[0]}
        found.append({**entry, "name": name, "options": options})
    return found


def write_files(writer, entries, folder):
    """The weight file and the checkpoint, as this version writes them."""
    by_name = {entry["name"]: entry for entry in entries}
    reader = values.Reader(writer.arrays, load("numpy"))
    with trellis.using_backend("numpy"), trellis.random.stream(0):
        reader.read(by_name["load_weights"]["make"]).save_weights(folder / "weights.safetensors")
    run = by_name["train.fit"]
    with trellis.using_backend("numpy"), trellis.random.stream(0):
        trellis.train.fit(
            reader.read(run["make"]),
            trellis.functional.mse_loss,
            (reader.read(run["x"]), reader.read(run["y"])),
            optimizer=reader.read(run["optimizer"]),
            epochs=run["epochs"],
            batch_size=run["batch_size"],
            seed=run["seed"],
            checkpoint=folder / "checkpoint.safetensors",
            compile=False,
            progress=False,
        )


def export_entries(writer, folder):
    """A file of each format as this version writes it: all four frameworks are needed."""
    x = golden_rows.some(2, 4, 4, 2)
    made = _maker(writer, golden_rows.file_model)
    with trellis.using_backend("numpy"), trellis.random.stream(0):
        model = values.Reader(writer.arrays, load("numpy")).read(made)
    found = []
    for name, file in golden_rows.EXPORTED.items():
        getattr(trellis.export, f"to_{name}")(model, (x,), folder / file)
        entry = {"kind": "exported file", "format": name, "file": file}
        found.append({"name": f"export.to_{name}", **entry})
    entry = {"kind": "read file", "file": golden_rows.EXPORTED["onnx"]}
    found.append({"name": "convert.from_onnx", **entry})
    for entry in found:
        entry["inputs"] = [writer.write(x)]
        entry["expected"] = writer.write([model.eval()(x)])
    return found


# Recording ----------------------------------------------------------------------------------------


def record(folder, version, source, with_exports=True):
    """Write the golden files of this tree into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = Writer()
    entries = entries_of(writer)
    write_files(writer, entries, folder)
    fill(entries, writer, folder)
    entries += export_entries(writer, folder) if with_exports else []
    head = {
        "format": release.FORMAT,
        "version": version,
        "date": datetime.date.today().isoformat(),
        "source": source,
        "unrecorded": golden_rows.UNRECORDED,
    }
    write(folder, head, entries, writer)
    return len(entries)


def fill(entries, writer, folder):
    """Compute what is expected of the entries."""
    with np.errstate(all="ignore"):
        for entry in entries:
            result = replay.run(entry, writer.arrays, folder, "numpy")
            entry["expected"] = writer.write(result)


def write(folder, head, entries, writer):
    write_arrays(folder / "arrays.safetensors", writer.arrays)
    lines = ",\n".join([json.dumps(entry, separators=(",", ":")) for entry in entries])
    text = json.dumps(head, indent=1)[:-2] + ',\n "entries": [\n' + lines + "\n]}\n"
    (folder / "vectors.json").write_text(text, encoding="utf-8")


def add(folder, source):
    """Add entries of those kinds that the recorder of a release did not have; what it recorded
    stays as it is."""
    stored = release.read_release(folder.name)
    head = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
    old = head.pop("entries")
    writer = Writer(stored.arrays)
    recorded = {entry["name"].partition(":")[0] for entry in old}
    kinds = {entry["kind"] for entry in old}
    new = [
        entry
        for entry in entries_of(writer)
        if entry["name"].partition(":")[0] in recorded
        and (entry["kind"] not in kinds or entry.get("is_64_bit"))
    ]
    fill(new, writer, folder)
    new += export_entries(writer, folder)
    writer.keep_only([*old, *new])
    write(folder, {**head, "added": source}, [*old, *new], writer)
    return len(new)


def measure(version, backends, only):
    """The distance of each entry on each backend, the largest first."""
    stored = release.read_release(version)
    numpy = load("numpy")
    want = values.Reader(stored.arrays, numpy)
    found = []
    for backend in backends:
        for entry in stored.entries:
            if not entry["name"].startswith(only) or replay.left_out(entry, backend):
                continue
            expected = values.plain(want.read(entry["expected"]), numpy)
            try:
                with np.errstate(all="ignore"):
                    got = replay.run(entry, stored.arrays, stored.folder, backend)
            except Exception as error:
                found.append((float("inf"), entry["name"], backend, repr(error)))
                continue
            problem = comparing.difference(got, expected, 1e9, load(backend))
            steps = float("inf") if problem else largest(got, expected)
            found.append((steps, entry["name"], backend, problem or ""))
    return sorted(found, key=lambda row: -row[0])


def largest(got, want):
    """The largest distance of two plain results of one structure."""
    if isinstance(want, dict):
        return max([largest(got[key], want[key]) for key in want], default=0.0)
    if isinstance(want, list):
        return max([largest(g, w) for g, w in zip(got, want, strict=True)], default=0.0)
    is_number = isinstance(want, (np.ndarray, float, complex))
    return comparing.distance(got, want) if is_number else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--record", action="store_true")
    action.add_argument("--add", action="store_true")
    action.add_argument("--measure", action="store_true")
    parser.add_argument("--backend", action="append", help="for --measure; all installed ones")
    parser.add_argument("--only", default="", help="for --measure; names that begin with this")
    parser.add_argument("--least", type=float, default=2.0, help="show distances above this")
    arguments = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    if arguments.add:
        folder = release.FOLDER / release.releases()[-1]
        print(add(folder, f"{datetime.date.today()}, commit {commit}"), "entries added to", folder)
    elif arguments.record:
        folder = release.FOLDER / trellis.__version__
        if folder.exists():
            parser.error(
                f"{folder} exists. What a release computed never changes: set the next version, or "
                "remove the folder if it was never released."
            )
        count = record(folder, trellis.__version__, f"commit {commit}, on NumPy {np.__version__}")
        size = sum([path.stat().st_size for path in folder.iterdir()])
        print(f"{count} entries, {size:,} bytes in {folder}")
    else:
        for steps, name, backend, problem in measure(
            release.releases()[-1], arguments.backend or installed_backends(), arguments.only
        ):
            if steps > arguments.least:
                print(f"{steps:10.3g}  {backend:10}  {name}  {problem}")


if __name__ == "__main__":
    main()
