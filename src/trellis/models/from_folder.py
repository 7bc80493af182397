"""`from_pretrained`: a model from a folder in Hugging Face's format."""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._array.creation import asarray
from .._core.dispatch import current_backend
from .._core.dtypes import FLOATING, name_of
from .._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    NotSupportedError,
    TrellisError,
)
from .._core.typing import Device, DTypeLike
from ..convert.weights.fitting import is_equal
from ..convert.weights.hugging_face import fill
from ..nn.module.build import surroundings
from .bert import Bert
from .clip import CLIP
from .configuration import Configuration
from .files import CONFIG, checked_folder, read_json, read_weights
from .gpt2 import GPT2
from .layers import Blanks, blank_weights
from .llama import Llama, Mistral, Qwen2, Qwen3
from .pretrained import Pretrained
from .resnet import ResNet
from .t5 import T5
from .vit import ViT
from .whisper import Whisper

MODELS: tuple[type[Pretrained], ...] = (
    *(Llama, Mistral, Qwen2, Qwen3),
    *(Bert, CLIP, GPT2, ResNet, T5, ViT, Whisper),
)


# Keys whose numbers are not the sizes of weights, or not always, and how large they may be then.
_FREE, _LIKELY = ("position", "window", "token", "distance", "image", "length", "label"), 1 << 20
_SMALL = 1024  # sizes up to here need no weights: nothing is large
# Keys that say how many layers are built, each with arrays of its own.
_DEPTHS = frozenset(
    "n_layer num_hidden_layers num_layers num_decoder_layers encoder_layers decoder_layers "
    "depths".split()
)


def from_pretrained(
    folder: str | os.PathLike[str],
    /,
    *,
    backend: str | None = None,
    dtype: DTypeLike = None,
    device: Device = None,
    architecture: str | None = None,
    strict: bool = True,
) -> Any:
    """The model in a local folder, with its weights, ready to evaluate.

    The folder has `config.json`, and `model.safetensors` or `model.safetensors.index.json` with
    the files that it names. Nothing is downloaded and nothing unpickled. On NumPy and torch the
    weights share the memory of the memory-mapped file: do not write to it while the model is in
    use. `dtype` None keeps the types of the file. `architecture` chooses another head than the one
    that the configuration names. Weights that are missing, unexpected or of another shape are
    listed in one error. With `strict=False` unexpected ones are left out, and missing ones, such as
    a new head, keep fresh initial values, drawn from the library's stream: the log warns of them,
    and `model.loaded` lists both.

    >>> import tempfile, numpy as np
    >>> from trellis import models
    >>> config = models.GPT2Config(vocab_size=9, n_embd=4, n_head=2, n_layer=1, n_positions=8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     models.GPT2(config).save_pretrained(folder)
    ...     model = models.from_pretrained(folder, backend="numpy")
    ...     model(np.array([[1, 2, 3]])).shape
    (1, 3, 9)
    """
    path = checked_folder(folder, "from_pretrained")
    kind = None if dtype is None else name_of(dtype)
    if kind is not None and kind not in FLOATING:
        raise DtypeError(f"from_pretrained() expects a floating dtype, got {kind}.")
    given = read_json(path / CONFIG)
    model_class = _model_class(given, str(path / CONFIG))
    config: Any = model_class.config_class.from_dict(given, source=str(path / CONFIG))
    if architecture is not None:
        if not isinstance(architecture, str):
            raise ArgumentTypeError(
                "from_pretrained() expects a name for architecture, got "
                f"{type(architecture).__name__}."
            )
        config = replace(config, architecture=architecture)
    arrays = read_weights(path)
    config = _with_own_head(model_class, config, arrays)
    model, blanks = _blank(model_class, config, arrays, str(path / CONFIG))
    home = current_backend() if backend is None else backend

    def placed(x: Any) -> Any:
        return _placed(x, home, kind, device)

    model.loaded = fill(model, arrays, placed, str(path), None if strict else blanks.fresh)
    return model


def _blank(
    model_class: type[Pretrained], config: Any, arrays: Mapping[str, Any], source: str
) -> tuple[Any, Blanks]:
    """The model without its weights. Sizes that these weights cannot fill end here, at once."""
    widest = max([_SMALL, *[size for x in arrays.values() for size in x.shape]])
    for key, size in _sizes(config):
        if key in _DEPTHS and size > len(arrays):
            raise ArgumentError(
                f"{source} has {key}={size}, and there are {len(arrays)} arrays of weights for "
                "all layers."
            )
        if size > max(widest, _LIKELY if any([word in key for word in _FREE]) else 0):
            raise ArgumentError(
                f"{source} has {key}={size}, and the longest axis of all weights has {widest}."
            )
    # NumPy zeros are placeholders until the weights are read: untouched pages take no memory.
    try:
        with blank_weights() as blanks, surroundings("numpy", None, None):
            return model_class(config, training=False), blanks
    except TrellisError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError) as error:
        raise ArgumentError(
            f"{source} does not describe a model that can be built: {type(error).__name__}: {error}"
        ) from error


def _sizes(config: Any) -> list[tuple[str, int]]:
    """The integers of a configuration that are not those of the class, by key."""
    found = []
    for each in fields(config):
        value = getattr(config, each.name)
        if isinstance(value, Configuration):
            found += _sizes(value)
        else:
            numbers = value if isinstance(value, list | tuple) else [value]
            numbers = [] if value == each.default else numbers
            found += [(each.name, n) for n in numbers if isinstance(n, int)]
    return found


def _with_own_head(model_class: type[Pretrained], config: Any, arrays: Mapping[str, Any]) -> Any:
    """Files with a head unlike the embeddings mean both, whatever the configuration says of it."""
    head = f"{model_class.names.get('head')}.weight"
    if head not in arrays or not getattr(config, "tie_word_embeddings", False):
        return config
    words = model_class.second_names[head]
    known = [name for name in (words, words.removeprefix(model_class.prefix)) if name in arrays]
    if not known or is_equal(arrays[head], arrays[known[0]]):
        return config
    return replace(config, tie_word_embeddings=False)


def _model_class(given: Mapping[str, Any], source: str) -> type[Pretrained]:
    kind = given.get("model_type")
    known = {model.config_class.model_type: model for model in MODELS}
    if not isinstance(kind, str) or kind not in known:
        raise NotSupportedError(
            f"{source} has model_type={kind!r}; models here are {', '.join(known)}. "
            "trellis.convert.from_torch reads the others."
        )
    return known[kind]


def _placed(x: Any, backend: str, kind: str | None, device: Device) -> Any:
    """One array in its framework; where that can use the memory of the file, it does."""
    if kind is not None and str(dtype_of(x)) != kind:
        x = astype(x, kind)
    return asarray(x, backend=backend, device=device)
