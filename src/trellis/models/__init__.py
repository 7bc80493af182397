"""Models written once in plain Trellis, and their weights from folders in Hugging Face's form.

>>> from trellis import models
>>> config = models.BertConfig(hidden_size=8, num_attention_heads=2, num_hidden_layers=1)
>>> models.Bert(config, backend="numpy").config.hidden_act
'gelu'
"""

from .._core.exports import public_names as _public_names
from .bert import Bert as Bert
from .bert import BertConfig as BertConfig
from .llama import Llama as Llama
from .llama import LlamaConfig as LlamaConfig
from .llama import Mistral as Mistral
from .llama import MistralConfig as MistralConfig
from .llama import Qwen2 as Qwen2
from .llama import Qwen2Config as Qwen2Config
from .llama import Qwen3 as Qwen3
from .llama import Qwen3Config as Qwen3Config
from .loading import from_pretrained as from_pretrained
from .pretrained import Encoded as Encoded
from .pretrained import Pretrained as Pretrained


def __dir__() -> list[str]:
    return _public_names(__name__)
