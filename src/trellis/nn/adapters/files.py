"""Adapters in files of PEFT's format."""

import os
from typing import TypeVar

from ..module.module import Module

M = TypeVar("M", bound=Module)


def save(model: Module, folder: str | os.PathLike[str], name: str | None = None) -> None:
    """Write adapters as PEFT does: `adapter_config.json` and `adapter_model.safetensors`.

    PEFT loads them for the same model in transformers, or for the torch module that a converted
    model came from; the names of other models are their key paths, with dots.

    Args:
        model: A model with adapters.
        folder: Where to write; it is made if it is missing.
        name: Which adapters; None if there is one name only.

    >>> import os, tempfile
    >>> from trellis import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nn.adapters.save(nn.lora(nn.Sequential(nn.Linear(4, 3))), folder)
    ...     sorted(os.listdir(folder))
    ['adapter_config.json', 'adapter_model.safetensors']
    """
    # A package above this one: it knows the names of other libraries.
    from ...convert.weights.adapters import save_adapters

    save_adapters(model, folder, name)


def load(model: M, folder: str | os.PathLike[str], name: str = "default") -> M:
    """Read adapters that PEFT, or `save`, has written, and make them the active ones.

    Args:
        model: The model that they are for.
        folder: A folder with `adapter_config.json` and `adapter_model.safetensors`.
        name: What they are called here.

    >>> import tempfile
    >>> from trellis import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nn.adapters.save(nn.lora(nn.Sequential(nn.Linear(4, 3))), folder)
    ...     model = nn.adapters.load(nn.Sequential(nn.Linear(4, 3)), folder)
    >>> nn.adapters.active(model)
    ['default']
    """
    from ...convert.weights.adapters import load_adapters

    load_adapters(model, folder, name)
    return model
