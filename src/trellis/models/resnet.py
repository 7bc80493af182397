"""Residual networks."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Unpack

from .._array.manipulation import permute_dims
from .._array.reduction import mean
from .._core.typing import Array
from ..nn.layers.conv import Conv2D
from ..nn.layers.layer import Options
from ..nn.layers.norm import BatchNorm2D
from ..nn.layers.pooling import MaxPool2D
from ..nn.module.module import Module
from .configuration import Configuration, with_num_labels
from .images import FILTERS_2D, check_images
from .layers import activation, dense, he
from .pretrained import Encoded, Pretrained


@dataclass(frozen=True, kw_only=True)
class ResNetConfig(Configuration):
    """The configuration of `ResNet`.

    >>> from trellis import models
    >>> models.ResNetConfig().depths
    [3, 4, 6, 3]
    """

    model_type: ClassVar[str] = "resnet"
    harmless: ClassVar[frozenset[str]] = frozenset(
        "out_features out_indices _out_features _out_indices stage_names id2label".split()
    )

    num_channels: int = 3
    embedding_size: int = 64
    hidden_sizes: list[int] = field(default_factory=lambda: [256, 512, 1024, 2048])
    depths: list[int] = field(default_factory=lambda: [3, 4, 6, 3])
    layer_type: str = "bottleneck"
    hidden_act: str = "relu"
    downsample_in_first_stage: bool = False
    downsample_in_bottleneck: bool = False
    num_labels: int = 2

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        return with_num_labels(given)


class Convolution(Module):
    """A convolution without bias, batch normalisation, and the activation unless it is None."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, name: str | None):
        self.filter = Conv2D(
            inputs, outputs, size, stride, size // 2, with_bias=False, weight_initializer=he()
        )
        self.norm = BatchNorm2D(outputs)
        self._activation = None if name is None else activation(name)
        super().__init__()

    def _forward(self, x: Array) -> Any:
        x = self.norm(self.filter(x))
        return x if self._activation is None else self._activation(x)


class Block(Module):
    """Two convolutions, or three with a narrow one in the middle, and a shortcut."""

    def __init__(self, config: ResNetConfig, inputs: int, outputs: int, stride: int):
        act = config.hidden_act
        config._refuse("layer_type", ("basic", "bottleneck"))
        if config.layer_type == "basic":
            self.steps = [
                Convolution(inputs, outputs, 3, stride, act),
                Convolution(outputs, outputs, 3, 1, None),
            ]
        else:
            narrow = outputs // 4
            first, second = (stride, 1) if config.downsample_in_bottleneck else (1, stride)
            self.steps = [
                Convolution(inputs, narrow, 1, first, act),
                Convolution(narrow, narrow, 3, second, act),
                Convolution(narrow, outputs, 1, 1, None),
            ]
        self._activation = activation(act)
        has_shortcut = inputs != outputs or stride != 1
        self.shortcut = Convolution(inputs, outputs, 1, stride, None) if has_shortcut else None
        super().__init__()

    def _forward(self, x: Array) -> Any:
        y = x
        for step in self.steps:
            y = step(y)
        return self._activation(y + (x if self.shortcut is None else self.shortcut(x)))


class Stage(Module):
    """Blocks of one size; the first one may halve height and width."""

    def __init__(self, config: ResNetConfig, inputs: int, outputs: int, stride: int, depth: int):
        self.blocks = [
            Block(config, outputs if i else inputs, outputs, 1 if i else stride)
            for i in range(depth)
        ]
        super().__init__()

    def _forward(self, x: Array) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


class ResNet(Pretrained):
    """Residual networks of convolutions.

    `model(images)` of floats (batch, channels, height, width), as Hugging Face's processors give
    them, gives by its architecture: ResNetForImageClassification logits (batch, num_labels),
    ResNetModel `Encoded(states, pooled)`. Feature maps are channel last, (batch, height, width,
    channels). With `return_hidden_states=True` the result is the pair of that and all maps: after
    the first convolution and pooling, and after each stage.

    >>> import numpy as np
    >>> from trellis import models
    >>> sizes = {"embedding_size": 4, "hidden_sizes": [4, 8], "depths": [1, 1]}
    >>> model = models.ResNet(models.ResNetConfig(layer_type="basic", **sizes)).eval()
    >>> model(np.zeros((1, 3, 32, 32), "float32")).shape
    (1, 2)
    """

    config_class = ResNetConfig
    architectures = ("ResNetForImageClassification", "ResNetModel")
    prefix = "resnet."
    names: ClassVar[dict[str, str]] = {
        "first/filter": "resnet.embedder.embedder.convolution",
        "first/norm": "resnet.embedder.embedder.normalization",
        "stages/*/blocks/*/steps/*/filter":
            "resnet.encoder.stages.*.layers.*.layer.*.convolution",
        "stages/*/blocks/*/steps/*/norm":
            "resnet.encoder.stages.*.layers.*.layer.*.normalization",
        "stages/*/blocks/*/shortcut/filter":
            "resnet.encoder.stages.*.layers.*.shortcut.convolution",
        "stages/*/blocks/*/shortcut/norm":
            "resnet.encoder.stages.*.layers.*.shortcut.normalization",
        "classifier": "classifier.1",
    }  # fmt: skip
    layouts: ClassVar[dict[str, tuple[int, ...]]] = {
        "first/filter/w": FILTERS_2D,
        "stages/*/blocks/*/steps/*/filter/w": FILTERS_2D,
        "stages/*/blocks/*/shortcut/filter/w": FILTERS_2D,
    }
    constants = ("num_batches_tracked",)

    def __init__(self, config: ResNetConfig, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: sizes, and the architecture
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: ResNetConfig) -> None:
        width = config.embedding_size
        self.first = Convolution(config.num_channels, width, 7, 2, config.hidden_act)
        self.pool = MaxPool2D(3, 2, 1)
        self.stages = []
        for i, (outputs, depth) in enumerate(zip(config.hidden_sizes, config.depths, strict=True)):
            stride = 2 if i or config.downsample_in_first_stage else 1
            self.stages.append(Stage(config, width, outputs, stride, depth))
            width = outputs
        if not self._is_body():
            self.classifier = dense(width, config.num_labels, width**-0.5)

    def _is_body(self) -> bool:
        return self.config.architecture == "ResNetModel"

    def _forward(self, images: Array, *, return_hidden_states: bool = False) -> Any:
        check_images(self, images, self.config.num_channels, None)
        x = self.pool(self.first(permute_dims(images, (0, 2, 3, 1))))
        states = [x]
        for stage in self.stages:
            x = stage(x)
            states.append(x)
        pooled = mean(x, axis=(1, 2))
        result = Encoded(x, pooled) if self._is_body() else self.classifier(pooled)
        return (result, tuple(states)) if return_hidden_states else result
