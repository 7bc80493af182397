"""Models written once in plain Trellis, and their weights from folders in Hugging Face's format.

>>> from trellis import models
>>> config = models.BertConfig(hidden_size=8, num_attention_heads=2, num_hidden_layers=1)
>>> models.Bert(config, backend="numpy").config.hidden_act
'gelu'
"""

from .._core.exports import public_names as _public_names
from .bert import Bert as Bert
from .bert import BertConfig as BertConfig
from .clip import CLIP as CLIP
from .clip import CLIPConfig as CLIPConfig
from .clip import CLIPOutput as CLIPOutput
from .clip import CLIPTowerConfig as CLIPTowerConfig
from .configuration import Configuration as Configuration
from .from_folder import from_pretrained as from_pretrained
from .gpt2 import GPT2 as GPT2
from .gpt2 import GPT2Config as GPT2Config
from .llama import Llama as Llama
from .llama import LlamaConfig as LlamaConfig
from .llama import Mistral as Mistral
from .llama import MistralConfig as MistralConfig
from .llama import Qwen2 as Qwen2
from .llama import Qwen2Config as Qwen2Config
from .llama import Qwen3 as Qwen3
from .llama import Qwen3Config as Qwen3Config
from .pretrained import Encoded as Encoded
from .pretrained import Pretrained as Pretrained
from .resnet import ResNet as ResNet
from .resnet import ResNetConfig as ResNetConfig
from .seq2seq import Memory as Memory
from .seq2seq import Seq2SeqCache as Seq2SeqCache
from .t5 import T5 as T5
from .t5 import T5Config as T5Config
from .tokenizing import load_tokenizer as load_tokenizer
from .vit import ViT as ViT
from .vit import ViTConfig as ViTConfig
from .whisper import Whisper as Whisper
from .whisper import WhisperConfig as WhisperConfig


def __dir__() -> list[str]:
    return _public_names(__name__)
