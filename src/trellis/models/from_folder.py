"""`from_pretrained`: a model from a folder in Hugging Face's format."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._array.creation import asarray
from .._core.dispatch import current_backend
from .._core.dtypes import FLOATING, name_of
from .._core.errors import ArgumentTypeError, DtypeError, NotSupportedError
from .._core.typing import Device, DTypeLike
from ..convert.weights.fitting import is_equal
from ..convert.weights.hugging_face import fill
from ..nn.module.build import surroundings
from .bert import Bert
from .clip import CLIP
from .files import CONFIG, checked_folder, read_json, read_weights
from .gpt2 import GPT2
from .layers import blank_weights
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
    listed in one error; with `strict=False` unexpected ones are only listed, in `model.loaded`.

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
    # NumPy zeros are placeholders until the weights are read: untouched pages take no memory.
    with blank_weights(), surroundings("numpy", None, None):
        model: Any = model_class(config, training=False)
    home = current_backend() if backend is None else backend
    model.loaded = fill(model, arrays, lambda x: _placed(x, home, kind, device), strict, str(path))
    return model


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
