"""Running what a release recorded, on a backend.

Each kind of entry is one function from the entry to a result, which is compared with
`entry["expected"]`. The same functions record.
"""

import math
import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .. import train
from .._array.casting import astype, dtype, isdtype
from .._array.compilation import using_compilation
from .._array.creation import arange
from .._array.indexing import at
from .._array.interchange import to_numpy
from .._array.manipulation import reshape
from .._array.reduction import sum as sum_of
from .._core import tree
from .._core.dispatch import load, using_backend
from .._gradients.transforms import grad
from .._random.keys import key as key_of
from .._random.stream import stream
from . import science
from .comparing import difference, steps_for
from .names import resolve
from .place import Entry, Place, flat, set_state
from .release import Release
from .values import Reader, plain

# Formats of exported files: the backend that writes one, and what runs it beside that.
FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {
    "onnx": ("torch", ("onnxruntime",)),
    "stablehlo": ("jax", ("flatbuffers",)),
    "tflite": ("tensorflow", ()),
    "torch_export": ("torch", ()),
}
_MODES = {"set", "add", "multiply", "min", "max"}


def call(entry: Entry, at_place: Place) -> Any:
    """A function of arrays, a draw or a layer function; draws without a key begin with seed 0."""
    result = at_place.reader.read(entry["call"])
    if entry.get("order_is_free"):
        return _in_order(result)
    # Eigenvectors and the like are free in their signs.
    return tree.map(abs, list(result)) if entry.get("signs_are_free") else result


def _in_order(result: Any) -> list[Any]:
    """Eigenvalues from the smallest imaginary part up, and vectors with them."""
    values, *vectors = [to_numpy(x) for x in (result if isinstance(result, tuple) else (result,))]
    places = np.lexsort((values.real, values.imag))
    columns = [np.take_along_axis(x, places[..., None, :], axis=-1) for x in vectors]
    return [np.take_along_axis(values, places, axis=-1), *columns]


def update(entry: Entry, at_place: Place) -> Any:
    """`trellis.at(x, index).add(value)`."""
    x, index, value = [at_place.reader.read(entry[name]) for name in ("x", "index", "value")]
    if entry["mode"] not in _MODES:
        raise ValueError(f"unknown update {entry['mode']!r}")
    return getattr(at(x, index), entry["mode"])(value)


def initial(entry: Entry, at_place: Place) -> Any:
    """An initialiser's array: with a key, and as the first draw after seed 0."""
    maker = at_place.reader.read(entry["make"])
    shape = tuple(entry["shape"])
    return [maker(shape, key=key_of(entry["key"])), maker(shape)]


def optimizer(entry: Entry, at_place: Place) -> Any:
    """The variables after each step."""
    made, v, grads = [at_place.reader.read(entry[n]) for n in ("make", "variables", "gradients")]
    found, state = [], made.init(v)
    for each in grads:
        v, state = made.update(v, each, state)
        found.append(v)
    return found


def transformation(entry: Entry, at_place: Place) -> Any:
    """The updates of each step."""
    made, v, grads = [at_place.reader.read(entry[n]) for n in ("make", "variables", "gradients")]
    found, state = [], made.init(v)
    for each in grads:
        updates, state = made.update(each, state, v)
        found.append(updates)
    return found


def average(entry: Entry, at_place: Place) -> Any:
    """The average of the variables after each step."""
    made, values = [at_place.reader.read(entry[n]) for n in ("make", "values")]
    found, state = [], made.init(values[0])
    for v in values:
        mean, state = made.update(v, state)
        found.append(mean)
    return found


def schedule(entry: Entry, at_place: Place) -> Any:
    """The rate at each step."""
    rate = at_place.reader.read(entry["make"])
    return [float(rate(step)) for step in range(entry["steps"])]


def weights(entry: Entry, at_place: Place) -> Any:
    """The variables that a layer begins with after seed 0."""
    return dict(flat(at_place.reader.read(entry["make"]).state_dict()))


def layer(entry: Entry, at_place: Place) -> Any:
    """What a layer computes with fixed variables, evaluated and in training, where its draws begin
    with seed 0; and its buffers after training."""
    reader = at_place.reader
    module = reader.read(entry["make"])
    inputs = [reader.read(x) for x in entry["inputs"]]
    set_state(module, reader.read(entry["state"]))
    evaluated = module.eval()(*inputs)
    with stream(0):
        trained, buffers = module.train().apply(module.v, module.buffers, *inputs)
    return [evaluated, trained, dict(flat(buffers))]


def gradient(entry: Entry, at_place: Place) -> Any:
    """The gradients of a call by each of its arrays of floats."""
    reader, parts = at_place.reader, entry["call"]
    args = [reader.read(part) for part in parts["args"]]
    kwargs = {name: reader.read(part) for name, part in parts["kwargs"].items()}
    leaves, structure = tree.flatten(args)
    places = [i for i, x in enumerate(leaves) if _is_float(x)]

    def loss(floats: list[Any]) -> Any:
        full = list(leaves)
        for i, x in zip(places, floats, strict=True):
            full[i] = x
        return _weighted(resolve(parts["$call"])(*tree.unflatten(structure, full), **kwargs))

    return grad(loss)([leaves[i] for i in places])


def layer_gradient(entry: Entry, at_place: Place) -> Any:
    """The gradients of a layer by its variables, evaluated."""
    reader = at_place.reader
    module = reader.read(entry["make"])
    inputs = [reader.read(x) for x in entry["inputs"]]
    set_state(module, reader.read(entry["state"]))
    module.eval()
    return dict(flat(grad(lambda v: _weighted(module(*inputs, v=v)))(module.v)))


def exported_file(entry: Entry, at_place: Place) -> Any:
    """What an exported file computes in the runtime of its format."""
    if entry["format"] not in FORMATS:
        raise ValueError(f"unknown format {entry['format']!r}")
    writer = import_module(f"..export.{entry['format']}", __package__)
    inputs = [to_numpy(at_place.reader.read(x)) for x in entry["inputs"]]
    return list(writer.load(at_place.folder / entry["file"])(inputs))


def read_file(entry: Entry, at_place: Place) -> Any:
    """What a backend computes of an exported ONNX file."""
    from ..convert import from_onnx

    module = from_onnx(at_place.folder / entry["file"], to=at_place.backend)
    return tree.leaves(module(*[at_place.reader.read(x) for x in entry["inputs"]]))


def file_of_weights(entry: Entry, at_place: Place) -> Any:
    """What a module computes after it has read the file."""
    module = at_place.reader.read(entry["make"])
    module.load_weights(at_place.folder / entry["file"])
    return module.eval()(at_place.reader.read(entry["input"]))


def training(entry: Entry, at_place: Place) -> Any:
    """The losses of a run of `fit`, from its seed or from the checkpoint in the file, and the
    weights after it."""
    reader = at_place.reader
    module, optimizer = reader.read(entry["make"]), reader.read(entry["optimizer"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.safetensors"
        if entry["file"] is not None:
            shutil.copy(at_place.folder / entry["file"], path)
        history = train.fit(
            module,
            reader.read(entry["loss"]),
            (reader.read(entry["x"]), reader.read(entry["y"])),
            optimizer=optimizer,
            epochs=entry["epochs"],
            batch_size=entry["batch_size"],
            seed=entry["seed"],
            checkpoint=path,
            resume=entry["file"] is not None,
            compile=False,
            progress=False,
        )
    return [np.array(history.losses, "float32"), dict(flat(module.state_dict()))]


KINDS: dict[str, Callable[[Entry, Place], Any]] = {
    "average": average,
    "call": call,
    "exported file": exported_file,
    "file of weights": file_of_weights,
    "gradient": gradient,
    "initial": initial,
    "layer": layer,
    "layer gradient": layer_gradient,
    "optimizer": optimizer,
    "read file": read_file,
    "schedule": schedule,
    "training": training,
    "transformation": transformation,
    "update": update,
    "weights": weights,
    **science.KINDS,
}


def run(entry: Entry, arrays: dict[str, Any], folder: Path, backend: str) -> Any:
    """The plain result of an entry on a backend."""
    xp = load(backend)
    # Solvers and samplers would compile a program for each entry, which takes most of a minute.
    with using_backend(backend), stream(0), using_compilation(False):
        place = Place(Reader(arrays, xp), folder, backend)
        return plain(KINDS[entry["kind"]](entry, place), xp)


def left_out(entry: Entry, backend: str) -> str | None:
    """Why an entry cannot be replayed on a backend here; None if it can."""
    if entry.get("is_64_bit") and not load(backend).ABILITIES.is_always_64_bit:
        return "64-bit floats"
    needed: tuple[str, ...] = ()
    if entry["kind"] == "exported file":
        writer, needed = FORMATS[entry["format"]]
        if writer != backend:
            return "files of other frameworks"
    elif entry["kind"] == "read file":
        needed = ("onnx",)
    missing = [package for package in needed if find_spec(package) is None]
    return f"{', '.join(missing)} is not installed" if missing else None


def check(entry: Entry, release: Release, backend: str) -> str | None:
    """What of an entry differs on a backend, in a line; None if nothing does."""
    try:
        got = run(entry, release.arrays, release.folder, backend)
    except Exception as error:  # whatever it is, it is not what the release did
        return f"raised {type(error).__name__}: {error}".partition("\n")[0]
    numpy: Any = load("numpy")
    want = plain(Reader(release.arrays, numpy).read(entry["expected"]), numpy)
    return difference(got, want, steps_for(entry["name"], entry["kind"]), load(backend))


def _is_float(x: Any) -> bool:
    return hasattr(x, "shape") and isdtype(dtype(x), "real floating")


def _weighted(result: Any) -> Any:
    """One number, to which the floats of a result contribute with weights that differ."""
    total: Any = 0.0
    for x in tree.leaves(result):
        if _is_float(x):
            numbers: Any = arange(math.prod(x.shape))
            weights: Any = reshape(numbers % 7 + 1, x.shape)
            total = total + sum_of(x * astype(weights, dtype(x)))
    return total
