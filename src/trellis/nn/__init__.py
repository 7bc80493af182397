"""Modules and layers, written once over the public functions; they never import a framework."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._core.exports import public_names as _public_names
from . import adapters as adapters
from . import init as init
from .adapters.managing import lora as lora
from .layers.activation import ELU as ELU
from .layers.activation import GEGLU as GEGLU
from .layers.activation import GELU as GELU
from .layers.activation import GLU as GLU
from .layers.activation import SELU as SELU
from .layers.activation import HardSigmoid as HardSigmoid
from .layers.activation import HardSwish as HardSwish
from .layers.activation import HardTanh as HardTanh
from .layers.activation import LeakyReLU as LeakyReLU
from .layers.activation import LogSigmoid as LogSigmoid
from .layers.activation import LogSoftmax as LogSoftmax
from .layers.activation import Mish as Mish
from .layers.activation import PReLU as PReLU
from .layers.activation import ReLU as ReLU
from .layers.activation import ReLU6 as ReLU6
from .layers.activation import Sigmoid as Sigmoid
from .layers.activation import SiLU as SiLU
from .layers.activation import Softmax as Softmax
from .layers.activation import Softplus as Softplus
from .layers.activation import Softsign as Softsign
from .layers.activation import SwiGLU as SwiGLU
from .layers.activation import Tanh as Tanh
from .layers.attention import MultiHeadAttention as MultiHeadAttention
from .layers.conv import Conv1D as Conv1D
from .layers.conv import Conv2D as Conv2D
from .layers.conv import Conv3D as Conv3D
from .layers.conv_separable import DepthwiseConv2D as DepthwiseConv2D
from .layers.conv_separable import SeparableConv2D as SeparableConv2D
from .layers.conv_transpose import Conv1DTranspose as Conv1DTranspose
from .layers.conv_transpose import Conv2DTranspose as Conv2DTranspose
from .layers.conv_transpose import Conv3DTranspose as Conv3DTranspose
from .layers.dropout import AlphaDropout as AlphaDropout
from .layers.dropout import Dropout as Dropout
from .layers.dropout import Dropout1D as Dropout1D
from .layers.dropout import Dropout2D as Dropout2D
from .layers.dropout import Dropout3D as Dropout3D
from .layers.dropout import DropPath as DropPath
from .layers.embedding import Embedding as Embedding
from .layers.experts import MixtureOfExperts as MixtureOfExperts
from .layers.linear import Bilinear as Bilinear
from .layers.linear import Linear as Linear
from .layers.loss import BinaryCrossEntropyLoss as BinaryCrossEntropyLoss
from .layers.loss import CosineLoss as CosineLoss
from .layers.loss import CrossEntropyLoss as CrossEntropyLoss
from .layers.loss import CTCLoss as CTCLoss
from .layers.loss import FocalLoss as FocalLoss
from .layers.loss import HingeLoss as HingeLoss
from .layers.loss import HuberLoss as HuberLoss
from .layers.loss import KLDivergenceLoss as KLDivergenceLoss
from .layers.loss import MAELoss as MAELoss
from .layers.loss import MSELoss as MSELoss
from .layers.loss import NLLLoss as NLLLoss
from .layers.loss import PoissonNLLLoss as PoissonNLLLoss
from .layers.loss import TripletLoss as TripletLoss
from .layers.mamba import Mamba as Mamba
from .layers.norm import BatchNorm1D as BatchNorm1D
from .layers.norm import BatchNorm2D as BatchNorm2D
from .layers.norm import BatchNorm3D as BatchNorm3D
from .layers.norm import GroupNorm as GroupNorm
from .layers.norm import InstanceNorm1D as InstanceNorm1D
from .layers.norm import InstanceNorm2D as InstanceNorm2D
from .layers.norm import InstanceNorm3D as InstanceNorm3D
from .layers.norm import LayerNorm as LayerNorm
from .layers.norm import RMSNorm as RMSNorm
from .layers.pooling import AdaptiveAvgPool as AdaptiveAvgPool
from .layers.pooling import AdaptiveMaxPool as AdaptiveMaxPool
from .layers.pooling import AvgPool1D as AvgPool1D
from .layers.pooling import AvgPool2D as AvgPool2D
from .layers.pooling import AvgPool3D as AvgPool3D
from .layers.pooling import GlobalAvgPool as GlobalAvgPool
from .layers.pooling import GlobalMaxPool as GlobalMaxPool
from .layers.pooling import MaxPool1D as MaxPool1D
from .layers.pooling import MaxPool2D as MaxPool2D
from .layers.pooling import MaxPool3D as MaxPool3D
from .layers.rearrange import Fold as Fold
from .layers.rearrange import PixelShuffle as PixelShuffle
from .layers.rearrange import PixelUnshuffle as PixelUnshuffle
from .layers.rearrange import Unfold as Unfold
from .layers.rearrange import Upsample as Upsample
from .layers.recurrent import GRU as GRU
from .layers.recurrent import LSTM as LSTM
from .layers.recurrent import RNN as RNN
from .layers.sequential import Checkpoint as Checkpoint
from .layers.sequential import Flatten as Flatten
from .layers.sequential import Identity as Identity
from .layers.sequential import Sequential as Sequential
from .layers.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from .layers.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from .layers.transformer_stack import Transformer as Transformer
from .layers.transformer_stack import TransformerDecoder as TransformerDecoder
from .layers.transformer_stack import TransformerEncoder as TransformerEncoder
from .layers.weights import SpectralNorm as SpectralNorm
from .layers.weights import WeightNorm as WeightNorm
from .module.module import Module as Module
from .quantized.stored import quantize as quantize


def __dir__() -> list[str]:
    return _public_names(__name__, "adapters", "init")


if not _TYPE_CHECKING:  # to a type checker, every name would exist

    def __getattr__(name: str) -> object:
        from .layers.foreign import ours_for

        ours = None if name.startswith("_") else ours_for(name, __dir__())
        hint = "" if ours is None else f". Did you mean trellis.nn.{ours}?"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
