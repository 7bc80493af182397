"""What the readers use of Keras that it does not promise, and the public way without it."""

from typing import Any


def layers_of(model: Any) -> list[Any]:
    """A model or layer, and all layers in it; without the private function only those that models
    list."""
    if hasattr(model, "_flatten_layers"):
        return list(model._flatten_layers())
    found = [model]
    for layer in getattr(model, "layers", []):
        found += layers_of(layer)
    return found


def statistics_of(model: Any) -> list[Any]:
    """Weights that no layer ever trains; without the private function those that are not trained
    now."""
    own = [v for x in layers_of(model) for v in getattr(x, "_non_trainable_variables", [])]
    return own or list(model.non_trainable_weights)
