"""Layers under the names that other libraries have for them."""

from difflib import get_close_matches

# Those that differ by more than capitals and the order of words.
_OURS = {
    "Dense": "Linear",
    "LazyLinear": "Linear",
    "Model": "Module",
    "Layer": "Module",
    "Embed": "Embedding",
    "SimpleRNN": "RNN",
    "GRUCell": "GRU",
    "LSTMCell": "LSTM",
    "OptimizedLSTMCell": "LSTM",
    "Conv": "Conv2D",
    "ConvTranspose": "Conv2DTranspose",
    "BatchNorm": "BatchNorm2D",
    "InstanceNorm": "InstanceNorm2D",
    "AdaptiveAvgPool2d": "AdaptiveAvgPool",
    "AdaptiveMaxPool2d": "AdaptiveMaxPool",
    "AdaptiveAveragePooling2D": "AdaptiveAvgPool",
    "AdaptiveMaxPooling2D": "AdaptiveMaxPool",
    "GlobalAveragePooling2D": "GlobalAvgPool",
    "GlobalMaxPooling2D": "GlobalMaxPool",
    "BatchNormalization": "BatchNorm2D",
    "L1Loss": "MAELoss",
    "MeanAbsoluteError": "MAELoss",
    "MeanSquaredError": "MSELoss",
    "BCEWithLogitsLoss": "BinaryCrossEntropyLoss",
    "BinaryCrossentropy": "BinaryCrossEntropyLoss",
    "SparseCategoricalCrossentropy": "CrossEntropyLoss",
    "CategoricalFocalCrossentropy": "FocalLoss",
    "CTC": "CTCLoss",
    "Hinge": "HingeLoss",
    "Huber": "HuberLoss",
    "CosineEmbeddingLoss": "CosineLoss",
    "CosineSimilarity": "CosineLoss",
    "MultiMarginLoss": "HingeLoss",
    "TripletMarginLoss": "TripletLoss",
    "KLDivLoss": "KLDivergenceLoss",
    "Poisson": "PoissonNLLLoss",
    "UpSampling1D": "Upsample",
    "UpSampling2D": "Upsample",
    "UpSampling3D": "Upsample",
    "RNNCell": "RNN",
    "SimpleRNNCell": "RNN",
}
_WORDS = {"average": "avg", "pooling": "pool", "normalization": "norm", "spatial": ""}


def ours_for(name: str, known: list[str], is_exact: bool = False) -> str | None:
    """The layer of ours that is meant by `name`, or None; `is_exact`: not one that looks alike.

    >>> ours_for("Dense", ["Linear"]), ours_for("Conv2d", ["Conv1D", "Conv2D"])
    ('Linear', 'Conv2D')
    """
    if name in _OURS:
        return _OURS[name]
    plain = {_plain(ours): ours for ours in known}
    if _plain(name) in plain:
        return plain[_plain(name)]
    if is_exact:
        return None
    close = get_close_matches(_plain(name), list(plain), n=1, cutoff=0.8)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    """Small letters, short words, "transpose" at the end."""
    name = name.lower()
    for word, short in _WORDS.items():
        name = name.replace(word, short)
    if "transpose" in name:
        name = name.replace("transpose", "") + "transpose"
    return name
