"""BERT: an encoder of texts; MiniLM and other sentence models have its architecture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._array.creation import zeros
from .._array.elementwise import tanh
from .._array.linalg import vector_norm
from .._array.manipulation import expand_dims
from .._array.reduction import mean
from .._array.reduction import sum as sum_
from .._core.typing import Array, Device, DTypeLike
from ..functional.dense import linear
from ..nn.layers.dropout import Dropout
from ..nn.layers.layer import Options
from ..nn.layers.norm import LayerNorm
from ..nn.module.around import weight_of
from ..nn.module.module import Module
from .configuration import Configuration, with_num_labels
from .layers import SeparateAttention, activation, dense, table
from .masks import real_keys
from .pretrained import Encoded, Pretrained


@dataclass(frozen=True, kw_only=True)
class BertConfig(Configuration):
    """The configuration of `Bert`.

    >>> from trellis import models
    >>> models.BertConfig().hidden_act
    'gelu'
    """

    model_type: ClassVar[str] = "bert"
    harmless: ClassVar[frozenset[str]] = frozenset({"id2label"})
    fixed: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "position_embedding_type": ("absolute", None),
    }

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    classifier_dropout: float | None = None
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    tie_word_embeddings: bool = True
    num_labels: int = 2

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        return with_num_labels(given)


class Attention(SeparateAttention):
    """Every token sees every real token."""

    def __init__(self, config: BertConfig):
        width, std = config.hidden_size, config.initializer_range
        config._check_heads(width, config.num_attention_heads)
        self._heads, self._dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        self.query = dense(width, width, std)
        self.key = dense(width, width, std)
        self.value = dense(width, width, std)
        self.out = dense(width, width, std)
        super().__init__()


class Block(Module):
    """Attention, then two dense layers; a norm after each."""

    def __init__(self, config: BertConfig):
        width, inner = config.hidden_size, config.intermediate_size
        self.attention = Attention(config)
        self.attention_norm = LayerNorm(width, config.layer_norm_eps)
        self.inner = dense(width, inner, config.initializer_range)
        self.outer = dense(inner, width, config.initializer_range)
        self.norm = LayerNorm(width, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self._activation = activation(config.hidden_act)
        super().__init__()

    def _forward(self, x: Array, mask: Array | None) -> Any:
        x = self.attention_norm(x + self.dropout(self.attention(x, mask)))
        y = self.outer(self._activation(self.inner(x)))
        return self.norm(x + self.dropout(y))


class Bert(Pretrained):
    """BERT, and models of its architecture such as MiniLM: a vector for each token of a text.

    `model(tokens, mask=mask)` of int tokens (batch, T), where `mask` is 1 or True at real tokens
    and 0 at padding, gives by its architecture: BertModel `Encoded(states, pooled)`,
    BertForMaskedLM logits (batch, T, vocab_size), BertForSequenceClassification logits (batch,
    num_labels). With `return_hidden_states=True` it gives the pair of that and all states: after
    the embeddings, and after each layer. `embed` gives one vector for each text.

    >>> import numpy as np
    >>> from trellis import models
    >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16}
    >>> config = models.BertConfig(vocab_size=30, num_hidden_layers=1, **sizes)
    >>> model = models.Bert(config).eval()
    >>> model(np.array([[2, 7, 3]])).states.shape
    (1, 3, 8)
    """

    config_class = BertConfig
    architectures = ("BertModel", "BertForMaskedLM", "BertForSequenceClassification")
    prefix = "bert."
    names: ClassVar[dict[str, str]] = {
        "words": "bert.embeddings.word_embeddings",
        "positions": "bert.embeddings.position_embeddings",
        "types": "bert.embeddings.token_type_embeddings",
        "norm": "bert.embeddings.LayerNorm",
        "layers/*/attention/query": "bert.encoder.layer.*.attention.self.query",
        "layers/*/attention/key": "bert.encoder.layer.*.attention.self.key",
        "layers/*/attention/value": "bert.encoder.layer.*.attention.self.value",
        "layers/*/attention/out": "bert.encoder.layer.*.attention.output.dense",
        "layers/*/attention_norm": "bert.encoder.layer.*.attention.output.LayerNorm",
        "layers/*/inner": "bert.encoder.layer.*.intermediate.dense",
        "layers/*/outer": "bert.encoder.layer.*.output.dense",
        "layers/*/norm": "bert.encoder.layer.*.output.LayerNorm",
        "pooler": "bert.pooler.dense",
        "classifier": "classifier",
        "transform": "cls.predictions.transform.dense",
        "transform_norm": "cls.predictions.transform.LayerNorm",
        "head": "cls.predictions.decoder",
        "bias": "cls.predictions.bias",
    }
    constants = ("position_ids",)
    second_names: ClassVar[dict[str, str]] = {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }

    def __init__(self, config: BertConfig, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: sizes, and the architecture
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: BertConfig) -> None:
        width, std = config.hidden_size, config.initializer_range
        self.words = table(config.vocab_size, width, std)
        self.positions = table(config.max_position_embeddings, width, std)
        self.types = table(config.type_vocab_size, width, std)
        self.norm = LayerNorm(width, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.layers = [Block(config) for _ in range(config.num_hidden_layers)]
        if config.architecture == "BertForMaskedLM":
            self.transform = dense(width, width, std)
            self.transform_norm = LayerNorm(width, config.layer_norm_eps)
            self._activation = activation(config.hidden_act)
            if not config.tie_word_embeddings:
                self.head = dense(width, config.vocab_size, std, with_bias=False)
        else:
            self.pooler = dense(width, width, std)
        if config.architecture == "BertForSequenceClassification":
            rate = config.classifier_dropout
            self.last_dropout = Dropout(config.hidden_dropout_prob if rate is None else rate)
            self.classifier = dense(width, config.num_labels, std)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        if self.config.architecture != "BertForMaskedLM":
            return {}
        return {"bias": zeros((self.config.vocab_size,), dtype=dtype, device=device)}

    def _is_body(self) -> bool:
        return self.config.architecture == "BertModel"

    @staticmethod
    def _legacy(name: str) -> str:
        """The first files call scale and offset of a norm gamma and beta."""
        for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
            if name.endswith(old):
                return name.removesuffix(old) + new
        return name

    def _forward(
        self,
        tokens: Array,
        *,
        mask: Array | None = None,
        token_types: Array | None = None,
        return_hidden_states: bool = False,
    ) -> Any:
        types = weight_of(self.types)[0] if token_types is None else self.types(token_types)
        x = self.words(tokens) + types + weight_of(self.positions)[: tokens.shape[1]]
        x = self.dropout(self.norm(x))
        seen = None if mask is None else real_keys(mask)
        states = [x]
        for layer in self.layers:
            x = layer(x, seen)
            states.append(x)
        result = self._result(x)
        return (result, tuple(states)) if return_hidden_states else result

    def _result(self, x: Array) -> Any:
        if self.config.architecture == "BertForMaskedLM":
            x = self.transform_norm(self._activation(self.transform(x)))
            w = weight_of(self.words) if self.config.tie_word_embeddings else weight_of(self.head)
            return linear(x, w, bias=self.v.bias)
        pooled = tanh(self.pooler(x[:, 0]))
        if self.config.architecture == "BertModel":
            return Encoded(x, pooled)
        return self.classifier(self.last_dropout(pooled))

    def embed(self, tokens: Array, *, mask: Array | None = None, normalize: bool = True) -> Array:
        """One vector (batch, hidden_size) for each text: the mean over its real tokens.

        With `normalize` it has length one, as sentence models such as MiniLM expect.

        >>> import numpy as np
        >>> from trellis import models
        >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16}
        >>> model = models.Bert(models.BertConfig(vocab_size=30, num_hidden_layers=1, **sizes))
        >>> model.eval().embed(np.array([[2, 7, 3], [2, 3, 0]]), mask=np.array([[1, 1, 1],
        ...     [1, 1, 0]])).shape
        (2, 8)
        """
        states = self(tokens, mask=mask, return_hidden_states=True)[1][-1]
        if mask is None:
            mean_state = mean(states, axis=1)
        else:
            weights = expand_dims(astype(mask, str(dtype_of(states))), axis=-1)
            mean_state = sum_(states * weights, axis=1) / sum_(weights, axis=1)
        if not normalize:
            return mean_state
        return mean_state / vector_norm(mean_state, axis=-1, keepdims=True)
