"""CLIP: a tower of texts and a tower of images."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Unpack

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._array.creation import arange, full
from .._array.device import device as device_of
from .._array.elementwise import exp
from .._array.linalg import vector_norm
from .._array.manipulation import broadcast_to, concat, expand_dims
from .._array.products import matmul, matrix_transpose
from .._array.reduction import sum as sum_
from .._array.searching import argmax, where
from .._core.dispatch import backend_of
from .._core.typing import Array, Device, DTypeLike
from ..nn.layers.conv import Conv2D
from ..nn.layers.layer import Options
from ..nn.layers.norm import LayerNorm
from ..nn.module.around import weight_of
from ..nn.module.module import Module
from .configuration import Configuration
from .images import FILTERS_2D, image_patches
from .layers import SeparateAttention, activation, dense, normal, table
from .masks import causal_mask, check_length
from .pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class CLIPTowerConfig(Configuration):
    """One of the two towers of `CLIP`; the first lines are those of text, the next of images.

    >>> from trellis import models
    >>> models.CLIPTowerConfig(num_attention_heads=4).hidden_act
    'quick_gelu'
    """

    harmless: ClassVar[frozenset[str]] = frozenset({"dropout", "projection_dim", "id2label"})

    vocab_size: int = 49408
    max_position_embeddings: int = 77
    eos_token_id: int = 49407
    image_size: int = 224
    patch_size: int = 32
    num_channels: int = 3
    hidden_size: int = 512
    intermediate_size: int = 2048
    num_hidden_layers: int = 12
    num_attention_heads: int = 8
    hidden_act: str = "quick_gelu"
    layer_norm_eps: float = 1e-5
    attention_dropout: float = 0.0
    initializer_range: float = 0.02
    initializer_factor: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds; its class says which tower it is."""
        whole = super().to_dict()
        del whole["model_type"]
        return whole


# What the format gives to a tower of images where it says nothing.
_VISION: dict[str, Any] = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12}


@dataclass(frozen=True, kw_only=True)
class CLIPConfig(Configuration):
    """The configuration of `CLIP`.

    >>> from trellis import models
    >>> models.CLIPConfig().vision_config.hidden_size
    768
    """

    model_type: ClassVar[str] = "clip"
    harmless: ClassVar[frozenset[str]] = frozenset({"text_config_dict", "vision_config_dict"})

    text_config: CLIPTowerConfig = field(default_factory=CLIPTowerConfig)
    vision_config: CLIPTowerConfig = field(default_factory=lambda: CLIPTowerConfig(**_VISION))
    projection_dim: int = 512
    logit_scale_init_value: float = 2.6592
    initializer_factor: float = 1.0

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        for key, defaults in (("text_config", {}), ("vision_config", _VISION)):
            # Early files say the same a second time, and the second one counts.
            said = {**(given.get(key) or {}), **(given.pop(f"{key}_dict", None) or {})}
            given[key] = CLIPTowerConfig.from_dict(
                {**defaults, **said}, source=f"the {key} of config.json"
            )
        return given

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds, with both towers in it."""
        text, vision = self.text_config.to_dict(), self.vision_config.to_dict()
        for name in ("image_size", "patch_size", "num_channels"):
            del text[name]
        for name in ("vocab_size", "max_position_embeddings", "eos_token_id"):
            del vision[name]
        shared = {"projection_dim": self.projection_dim}
        text = {**text, **shared, "model_type": "clip_text_model"}
        vision = {**vision, **shared, "model_type": "clip_vision_model"}
        return {**super().to_dict(), "text_config": text, "vision_config": vision}


class Attention(SeparateAttention):
    """Attention with a bias in each of its layers."""

    def __init__(self, config: CLIPTowerConfig):
        width = config.hidden_size
        config._check_heads(width, config.num_attention_heads)
        self._heads, self._dropout = config.num_attention_heads, config.attention_dropout
        std = config.initializer_factor * width**-0.5
        narrow = std * (2 * config.num_hidden_layers) ** -0.5
        self.query = dense(width, width, narrow)
        self.key = dense(width, width, narrow)
        self.value = dense(width, width, narrow)
        self.out = dense(width, width, std)
        super().__init__()


class Block(Module):
    """Attention, then two dense layers; a norm before each."""

    def __init__(self, config: CLIPTowerConfig):
        width, inner = config.hidden_size, config.intermediate_size
        std = config.initializer_factor * (2 * width) ** -0.5
        self.attention_norm = LayerNorm(width, config.layer_norm_eps)
        self.attention = Attention(config)
        self.norm = LayerNorm(width, config.layer_norm_eps)
        self.inner = dense(width, inner, std)
        self.outer = dense(inner, width, std * config.num_hidden_layers**-0.5)
        self._activation = activation(config.hidden_act)
        super().__init__()

    def _forward(self, x: Array, mask: Array | None, is_causal: bool) -> Any:
        x = x + self.attention(self.attention_norm(x), mask, is_causal=is_causal)
        return x + self.outer(self._activation(self.inner(self.norm(x))))


class TextTower(Module):
    """Texts: the state at the last token of each."""

    def __init__(self, config: CLIPTowerConfig):
        self._config = config
        std = 0.02 * config.initializer_factor
        self.words = table(config.vocab_size, config.hidden_size, std)
        self.positions = table(config.max_position_embeddings, config.hidden_size, std)
        self.layers = [Block(config) for _ in range(config.num_hidden_layers)]
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        super().__init__()

    def _forward(self, tokens: Array, mask: Array | None) -> Any:
        length = tokens.shape[1]
        check_length(self, length, self._config.max_position_embeddings)
        x = self.words(tokens) + weight_of(self.positions)[:length]
        seen = causal_mask(x, length, mask)
        states = [x]
        for layer in self.layers:
            x = layer(x, seen, seen is None)
            states.append(x)
        x = self.norm(x)
        # Early configurations have a wrong number of the last token; it is the largest one anyway.
        marks = tokens
        if self._config.eos_token_id != 2:
            marks = astype(tokens == self._config.eos_token_id, "int32")
        last = argmax(marks, axis=-1)
        places = arange(length, dtype=str(dtype_of(last)), backend=backend_of(x),
                        device=device_of(x))  # fmt: skip
        chosen = expand_dims(places == expand_dims(last, axis=-1), axis=-1)
        return sum_(where(chosen, x, 0.0), axis=1), states


class VisionTower(Module):
    """Images: the state of a token before all patches."""

    def __init__(self, config: CLIPTowerConfig):
        self._config = config
        width, size = config.hidden_size, config.patch_size
        self.patches = Conv2D(
            config.num_channels, width, size, size, "VALID", with_bias=False,
            weight_initializer=normal(0.02 * config.initializer_factor),
        )  # fmt: skip
        count = (config.image_size // size) ** 2 + 1
        self.positions = table(count, width, 0.02 * config.initializer_factor)
        self.first_norm = LayerNorm(width, config.layer_norm_eps)
        self.layers = [Block(config) for _ in range(config.num_hidden_layers)]
        self.norm = LayerNorm(width, config.layer_norm_eps)
        super().__init__()

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        width = self._config.hidden_size
        make = normal(width**-0.5 * self._config.initializer_factor)
        return {"class_token": make((width,), dtype=dtype, device=device)}

    def _forward(self, images: Array) -> Any:
        x = image_patches(self, images, self.patches)
        first = broadcast_to(self.v.class_token, (x.shape[0], 1, x.shape[-1]))
        x = self.first_norm(concat([first, x], axis=1) + weight_of(self.positions))
        states = [x]
        for layer in self.layers:
            x = layer(x, None, False)
            states.append(x)
        return self.norm(x[:, 0]), states


class CLIPOutput(NamedTuple):
    """Vectors of length one for texts and images, and the similarity of each pair: the products of
    these vectors, scaled, (texts, images)."""

    text_embeds: Any
    image_embeds: Any
    logits_per_text: Any
    logits_per_image: Any


class CLIP(Pretrained):
    """CLIP: texts and images as vectors in one space.

    `model(tokens, images, mask=mask)` of int tokens (texts, T) and floats (images, channels,
    height, width), as Hugging Face's processors give them, gives a `CLIPOutput`. With
    `return_hidden_states=True` it gives the pair of that and (states of the texts, states of the
    images). `embed_text` and `embed_image` run one tower, and return its vectors without
    normalizing them.

    >>> import numpy as np
    >>> from trellis import models
    >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16,
    ...          "num_hidden_layers": 1}
    >>> config = models.CLIPConfig(
    ...     text_config=models.CLIPTowerConfig(vocab_size=30, eos_token_id=3, **sizes),
    ...     vision_config=models.CLIPTowerConfig(image_size=8, patch_size=4, **sizes),
    ...     projection_dim=4)
    >>> model = models.CLIP(config).eval()
    >>> out = model(np.array([[1, 5, 3], [1, 3, 0]]), np.zeros((1, 3, 8, 8), "float32"))
    >>> out.logits_per_text.shape
    (2, 1)
    """

    config_class = CLIPConfig
    architectures = ("CLIPModel",)
    names: ClassVar[dict[str, str]] = {
        "logit_scale": "logit_scale",
        "text/words": "text_model.embeddings.token_embedding",
        "text/positions": "text_model.embeddings.position_embedding",
        "text/layers/*/attention_norm": "text_model.encoder.layers.*.layer_norm1",
        "text/layers/*/attention/query": "text_model.encoder.layers.*.self_attn.q_proj",
        "text/layers/*/attention/key": "text_model.encoder.layers.*.self_attn.k_proj",
        "text/layers/*/attention/value": "text_model.encoder.layers.*.self_attn.v_proj",
        "text/layers/*/attention/out": "text_model.encoder.layers.*.self_attn.out_proj",
        "text/layers/*/norm": "text_model.encoder.layers.*.layer_norm2",
        "text/layers/*/inner": "text_model.encoder.layers.*.mlp.fc1",
        "text/layers/*/outer": "text_model.encoder.layers.*.mlp.fc2",
        "text/norm": "text_model.final_layer_norm",
        "text_projection": "text_projection",
        "vision/class_token": "vision_model.embeddings.class_embedding",
        "vision/patches": "vision_model.embeddings.patch_embedding",
        "vision/positions": "vision_model.embeddings.position_embedding",
        "vision/first_norm": "vision_model.pre_layrnorm",
        "vision/layers/*/attention_norm": "vision_model.encoder.layers.*.layer_norm1",
        "vision/layers/*/attention/query": "vision_model.encoder.layers.*.self_attn.q_proj",
        "vision/layers/*/attention/key": "vision_model.encoder.layers.*.self_attn.k_proj",
        "vision/layers/*/attention/value": "vision_model.encoder.layers.*.self_attn.v_proj",
        "vision/layers/*/attention/out": "vision_model.encoder.layers.*.self_attn.out_proj",
        "vision/layers/*/norm": "vision_model.encoder.layers.*.layer_norm2",
        "vision/layers/*/inner": "vision_model.encoder.layers.*.mlp.fc1",
        "vision/layers/*/outer": "vision_model.encoder.layers.*.mlp.fc2",
        "vision/norm": "vision_model.post_layernorm",
        "vision_projection": "visual_projection",
    }
    layouts: ClassVar[dict[str, tuple[int, ...]]] = {"vision/patches/w": FILTERS_2D}
    constants = ("position_ids",)

    def __init__(self, config: CLIPConfig, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: the sizes of both towers
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: CLIPConfig) -> None:
        text, vision = config.text_config, config.vision_config
        self.text, self.vision = TextTower(text), VisionTower(vision)
        factor, out = config.initializer_factor, config.projection_dim
        std = factor * text.hidden_size**-0.5
        self.text_projection = dense(text.hidden_size, out, std, with_bias=False)
        std = factor * vision.hidden_size**-0.5
        self.vision_projection = dense(vision.hidden_size, out, std, with_bias=False)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        value = self.config.logit_scale_init_value
        return {"logit_scale": full((), value, dtype=dtype, device=device)}

    def embed_text(self, tokens: Array, *, mask: Array | None = None) -> Array:
        """One vector (texts, projection_dim) for each text."""
        return self.text_projection(self.text(tokens, mask)[0])  # type: ignore[no-any-return]

    def embed_image(self, images: Array) -> Array:
        """One vector (images, projection_dim) for each image."""
        return self.vision_projection(self.vision(images)[0])  # type: ignore[no-any-return]

    def _forward(self, tokens: Array, images: Array, *, mask: Array | None = None,
                 return_hidden_states: bool = False) -> Any:  # fmt: skip
        text, text_states = self.text(tokens, mask)
        image, image_states = self.vision(images)
        text = unit_length(self.text_projection(text))
        image = unit_length(self.vision_projection(image))
        logits = matmul(text, matrix_transpose(image)) * exp(self.v.logit_scale)
        result = CLIPOutput(text, image, logits, matrix_transpose(logits))
        if return_hidden_states:
            return result, (tuple(text_states), tuple(image_states))
        return result


def unit_length(x: Array) -> Any:
    """The vectors along the last axis, of length one."""
    return x / vector_norm(x, axis=-1, keepdims=True)
