"""What all models share: a configuration, names of their weights there, and files of them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Unpack

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._core.container import Container
from .._core.dtypes import FLOATING
from .._core.errors import ArgumentTypeError, NotSupportedError
from .._core.typing import DTypeLike
from ..convert.weights.hugging_face import arrays_of, names_of
from ..convert.weights.report import WeightsReport
from ..nn.layers.layer import Options
from ..nn.module.module import Module
from .configuration import Configuration
from .files import write_folder


class Encoded(NamedTuple):
    """The output of an encoder without a head: a state for each token or patch, and one for all."""

    states: Any
    pooled: Any


class Pretrained(Module):
    """The base class of all models here; see `from_pretrained`. A model is created from its
    configuration, with random weights, or read from a folder. `config` is the configuration;
    `loaded` reports, after reading, what became of each array.
    """

    config_class: ClassVar[type[Configuration]] = Configuration
    # Architectures by Hugging Face's names; the first one is meant where none is named.
    architectures: ClassVar[Sequence[str]] = ()
    # {chain of a layer here: its name there}; see convert/weights/hugging_face.py.
    names: ClassVar[Mapping[str, str]] = {}
    # Where the axes differ: which axes of the array there, in order, make the one here.
    layouts: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    # What names begin with, unless the file is of the architecture that is the body alone.
    prefix: ClassVar[str] = ""
    # Names there that say nothing new: ends of constants, and second names of one array.
    constants: ClassVar[tuple[str, ...]] = ()
    second_names: ClassVar[Mapping[str, str]] = {}

    config: Any
    loaded: WeightsReport | None = None

    def __init__(self, config: Configuration, **options: Unpack[Options]):
        if not isinstance(config, self.config_class):
            raise ArgumentTypeError(
                f"{type(self).__name__} is made from a {self.config_class.__name__}, got "
                f"{type(config).__name__}."
            )
        named = config.architecture or self.architectures[0]
        if named not in self.architectures:
            raise NotSupportedError(
                f"{type(self).__name__} does not build {named}; it builds "
                f"{', '.join(self.architectures)}."
            )
        self.config = replace(config, architecture=named)
        self._make(self.config)
        super().__init__(**options)

    def _make(self, config: Any) -> None:
        """Assign the layers."""
        raise NotImplementedError

    def hugging_face_names(self) -> dict[str, str]:
        """{key path of each variable and buffer here: its name in Hugging Face's files}."""
        chains = [*self.v.key_chains(), *self.buffers.key_chains()]
        chains = [x for x in chains if "adapters" not in x.split("/") and not x.endswith("/scales")]
        # A weight that is stored as small integers has its place all the same.
        chains = [f"{x.removesuffix('/codes')}/w" if x.endswith("/codes") else x for x in chains]
        return names_of(chains, self._names())

    def _names(self) -> Mapping[str, str]:
        """The table of names; an option of the configuration may change some."""
        return self.names

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write config.json and model.safetensors, which transformers can load.

        Weights keep their type; tied weights are written once.
        """
        small = [chain for chain in self.buffers.key_chains() if chain.endswith("/codes")]
        if small:
            raise NotSupportedError(
                "save_pretrained() writes whole weights, and these are stored as small integers: "
                "save_weights(path) keeps them so, and load_weights(path) reads them into a model "
                "that nn.quantize() has changed in the same way."
            )
        arrays = arrays_of(self)
        floats = [str(x.dtype) for x in arrays.values() if str(x.dtype) in FLOATING]
        config = {**self.config.to_dict(), "dtype": floats[0] if floats else "float32"}
        config.pop("torch_dtype", None)
        write_folder(Path(folder), config, arrays)

    def _short(self, name: str) -> str:
        """Files of the body alone have names without its prefix."""
        return name.removeprefix(self.prefix) if self._is_body() else name

    @staticmethod
    def _legacy(name: str) -> str:
        """Today's name of an array that early files call otherwise."""
        return name

    def _is_body(self) -> bool:
        """Whether this is the body without a head."""
        return False

    def astype(self, dtype: DTypeLike) -> "Pretrained":
        """Make all floating variables and buffers of that type, in place; returns the model.

        >>> from trellis import models
        >>> config = models.GPT2Config(vocab_size=9, n_embd=4, n_head=2, n_layer=1, n_positions=8)
        >>> str(models.GPT2(config).astype("float16").v.words.w.dtype)
        'float16'
        """
        self.v = _cast(self.v, dtype)
        if len(self.buffers):
            self.buffers = _cast(self.buffers, dtype)
        return self


def _cast(nest: Container, dtype: DTypeLike | None) -> Container:
    nest = nest.copy()
    for chain in nest.key_chains():
        if str(dtype_of(nest[chain])) in FLOATING:
            nest[chain] = astype(nest[chain], dtype)
    return nest
