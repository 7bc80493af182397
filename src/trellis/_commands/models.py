"""Models that a command names: a file of another framework, or an object of a Python module."""

import importlib
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

from .._core.dispatch import load
from .._core.files import check_regular
from .._core.printable import printable
from ..errors import ArgumentError, NotSupportedError, TrellisError


def converted(path: Path, to: str, trust: bool = False, verify: bool = True) -> Any:
    """A model of another framework, from its file; one that could run code needs `trust`."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        return _from_saved_model(path, to, trust, verify)
    check_regular(path)
    readers = {
        ".onnx": _from_onnx,
        ".pt2": _from_torch_export,
        ".keras": _from_keras,
        ".h5": _from_keras,
    }
    if path.suffix not in readers:
        raise NotSupportedError(
            f"{str(path)!r} cannot be converted; files of models are {', '.join(readers)} and "
            "directories of SavedModels. For weights alone write the model in Python, and "
            "load_weights."
        )
    return readers[path.suffix](path, to, trust, verify)


def named(text: str) -> Any:
    """What `package.module:name` names; a class is called without arguments."""
    from ..nn import Module

    module, _, name = text.partition(":")
    sys.path.insert(0, os.getcwd())  # as `python -m` has it
    try:
        found = importlib.import_module(module)
    finally:
        sys.path.remove(os.getcwd())
    for part in name.split("."):
        if not hasattr(found, part):
            raise ArgumentError(f"{module!r} has no {name!r}.")
        found = getattr(found, part)
    return found() if isinstance(found, type) and issubclass(found, Module) else found


def _from_onnx(path: Path, to: str, trust: bool, verify: bool) -> Any:
    from ..convert.onnx import from_onnx

    return from_onnx(path, to=to, verify=verify)


def _from_torch_export(path: Path, to: str, trust: bool, verify: bool) -> Any:
    load("torch")  # says what to install
    from ..convert.torch import from_torch

    return from_torch(path, to=to, trust=trust, verify=verify)


_LARGEST = 1 << 26  # elements of an example that is made up
_SAFE_KERAS = (3, 11, 3)  # before, .h5 files ran marshalled lambdas (CVE-2025-9905)


def _from_keras(path: Path, to: str, trust: bool, verify: bool) -> Any:
    import keras

    from ..convert.apart import rehearse
    from ..convert.keras import from_keras
    from ..convert.trust import errors_of, untrusted

    numbers = tuple([int(part) for part in re.findall(r"\d+", keras.__version__)[:3]])
    if numbers < _SAFE_KERAS and not trust:
        raise untrusted(
            path,
            f"Keras {keras.__version__} runs functions that it finds in files, even in its safe "
            "mode; Keras 3.11.3 and later do not",
        )
    try:
        if verify and not trust:
            rehearse("keras", "Keras", path, is_final=True)
        # In its safe mode Keras runs no code of the file.
        model = keras.models.load_model(path, compile=False, safe_mode=not trust)
    except TrellisError:
        raise
    except Exception as error:  # Keras raises all kinds of errors about files
        if "safe_mode" in str(error) or "unsafe" in str(error):
            raise untrusted(path, "it has functions of Python, such as Lambda layers") from error
        raise ArgumentError(f"Keras cannot read {str(path)!r}: {printable(error, 400)}") from error
    with errors_of(path, "from_keras()"):
        return from_keras(model, to=to, verify=verify)


def _from_saved_model(path: Path, to: str, trust: bool, verify: bool) -> Any:
    load("tensorflow")
    from ..convert.tensorflow import from_tensorflow
    from ..convert.trust import errors_of
    from ..export.description import describe
    from .inputs import Input

    kwargs = {}
    with errors_of(path, "trellis convert"):
        for i, port in enumerate(describe(path).inputs):
            shape = tuple([2 if size is None else size for size in port.shape])
            if math.prod([size for size in shape if isinstance(size, int)]) > _LARGEST:
                raise ArgumentError(
                    f"{str(path)!r} has an input of the shape {shape}, which is too large."
                )
            kwargs[port.name] = Input(None, port.dtype, shape, 2).example(i)
    return from_tensorflow(path, kwargs=kwargs, to=to, trust=trust, verify=verify)
