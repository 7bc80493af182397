"""What language models of one stack of layers share: tokens in, logits out, a cache between."""

from typing import Any

from ..functional.dense import linear
from .pretrained import Pretrained


class Decoder(Pretrained):
    """The base of `GPT2` and `Llama`: `words`, `layers`, `norm` and, if it is not tied, `head`."""

    words: Any
    layers: Any
    norm: Any
    head: Any
    has_last_only = True  # trellis.generate asks for no more of a long prompt

    def _embedded(self, tokens: Any, cache: Any, mask: Any) -> tuple[Any, ...]:
        """The first states, and what each layer takes besides them."""
        raise NotImplementedError

    def _forward(
        self,
        tokens: Any,
        *,
        cache: Any = None,
        mask: Any = None,
        return_hidden_states: bool = False,
        last_only: bool = False,
    ) -> Any:
        x, *rest = self._embedded(tokens, cache, mask)
        states, caches = [x], []
        for i, layer in enumerate(self.layers):
            x, kept = layer(x, *rest, None if cache is None else cache[i])
            states.append(x)
            caches.append(kept)
        x = self.norm(x)
        last = x[:, -1:] if last_only else x
        is_tied = self.config.tie_word_embeddings
        logits = linear(last, self.words.v.w) if is_tied else self.head(last)
        result = (logits, (*states[:-1], x)) if return_hidden_states else logits
        return result if cache is None else (result, tuple(caches))
