"""The vision transformer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from .._array.elementwise import tanh
from .._array.manipulation import broadcast_to, concat
from .._core.typing import Array, Device, DTypeLike
from ..nn.layers.conv import Conv2D
from ..nn.layers.dropout import Dropout
from ..nn.layers.layer import Options
from ..nn.layers.norm import LayerNorm
from ..nn.module.module import Module
from .configuration import Configuration, with_num_labels
from .images import FILTERS_2D, image_patches
from .layers import SeparateAttention, activation, dense, normal
from .pretrained import Encoded, Pretrained


@dataclass(frozen=True, kw_only=True)
class ViTConfig(Configuration):
    """The configuration of `ViT`.

    >>> from trellis import models
    >>> models.ViTConfig().patch_size
    16
    """

    model_type: ClassVar[str] = "vit"
    harmless: ClassVar[frozenset[str]] = frozenset({"encoder_stride", "id2label"})
    fixed: ClassVar[Mapping[str, tuple[Any, ...]]] = {"pooler_act": ("tanh", None)}

    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    image_size: int = 224
    patch_size: int = 16
    num_channels: int = 3
    qkv_bias: bool = True
    pooler_output_size: int | None = None
    num_labels: int = 2

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        return with_num_labels(given)


class Attention(SeparateAttention):
    """Every patch sees every patch."""

    def __init__(self, config: ViTConfig):
        width, std = config.hidden_size, config.initializer_range
        config._check_heads(width, config.num_attention_heads)
        self._heads, self._dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        self.query = dense(width, width, std, with_bias=config.qkv_bias)
        self.key = dense(width, width, std, with_bias=config.qkv_bias)
        self.value = dense(width, width, std, with_bias=config.qkv_bias)
        self.out = dense(width, width, std)
        super().__init__()


class Block(Module):
    """Attention, then two dense layers; a norm before each."""

    def __init__(self, config: ViTConfig):
        width, inner = config.hidden_size, config.intermediate_size
        self.attention_norm = LayerNorm(width, config.layer_norm_eps)
        self.attention = Attention(config)
        self.norm = LayerNorm(width, config.layer_norm_eps)
        self.inner = dense(width, inner, config.initializer_range)
        self.outer = dense(inner, width, config.initializer_range)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self._activation = activation(config.hidden_act)
        super().__init__()

    def _forward(self, x: Array) -> Any:
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        y = self.outer(self._activation(self.inner(self.norm(x))))
        return x + self.dropout(y)


class ViT(Pretrained):
    """The vision transformer: images as sequences of patches.

    `model(images)` of floats (batch, channels, height, width), as Hugging Face's processors give
    them, gives by its architecture: ViTForImageClassification logits (batch, num_labels), ViTModel
    `Encoded(states, pooled)` with the states (batch, 1 + patches, hidden_size). With
    `return_hidden_states=True` it gives the pair of that and all states: after the embeddings, and
    after each layer.

    >>> import numpy as np
    >>> from trellis import models
    >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16}
    >>> config = models.ViTConfig(image_size=8, patch_size=4, num_hidden_layers=1, **sizes)
    >>> models.ViT(config).eval()(np.zeros((1, 3, 8, 8), "float32")).shape
    (1, 2)
    """

    config_class = ViTConfig
    architectures = ("ViTForImageClassification", "ViTModel")
    prefix = "vit."
    names: ClassVar[dict[str, str]] = {
        "class_token": "vit.embeddings.cls_token",
        "positions": "vit.embeddings.position_embeddings",
        "patches": "vit.embeddings.patch_embeddings.projection",
        "layers/*/attention_norm": "vit.encoder.layer.*.layernorm_before",
        "layers/*/attention/query": "vit.encoder.layer.*.attention.attention.query",
        "layers/*/attention/key": "vit.encoder.layer.*.attention.attention.key",
        "layers/*/attention/value": "vit.encoder.layer.*.attention.attention.value",
        "layers/*/attention/out": "vit.encoder.layer.*.attention.output.dense",
        "layers/*/norm": "vit.encoder.layer.*.layernorm_after",
        "layers/*/inner": "vit.encoder.layer.*.intermediate.dense",
        "layers/*/outer": "vit.encoder.layer.*.output.dense",
        "norm": "vit.layernorm",
        "pooler": "vit.pooler.dense",
        "classifier": "classifier",
    }
    layouts: ClassVar[dict[str, tuple[int, ...]]] = {"patches/w": FILTERS_2D}

    def __init__(self, config: ViTConfig, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: sizes, and the architecture
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: ViTConfig) -> None:
        width, std, size = config.hidden_size, config.initializer_range, config.patch_size
        self.patches = Conv2D(
            config.num_channels, width, size, size, "VALID", weight_initializer=normal(std)
        )
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.layers = [Block(config) for _ in range(config.num_hidden_layers)]
        self.norm = LayerNorm(width, config.layer_norm_eps)
        if self._is_body():
            out = config.pooler_output_size
            self.pooler = dense(width, width if out is None else out, std)
        else:
            self.classifier = dense(width, config.num_labels, std)

    def _is_body(self) -> bool:
        return self.config.architecture == "ViTModel"

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        config = self.config
        patches = (config.image_size // config.patch_size) ** 2
        make = normal(config.initializer_range)
        options: dict[str, Any] = {"dtype": dtype, "device": device}
        return {
            "class_token": make((1, 1, config.hidden_size), **options),
            "positions": make((1, patches + 1, config.hidden_size), **options),
        }

    def _forward(self, images: Array, *, return_hidden_states: bool = False) -> Any:
        x = image_patches(self, images, self.patches)
        v = self.v
        first = broadcast_to(v.class_token, (x.shape[0], 1, x.shape[-1]))
        x = self.dropout(concat([first, x], axis=1) + v.positions)
        states = [x]
        for layer in self.layers:
            x = layer(x)
            states.append(x)
        x = self.norm(x)
        first = x[:, 0]
        body = self._is_body()
        result = Encoded(x, tanh(self.pooler(first))) if body else self.classifier(first)
        return (result, tuple(states)) if return_hidden_states else result
