"""The modes of a model's modules while it is trained or evaluated, and as before afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..nn.module.module import Module


@contextmanager
def training_mode(model: "Module") -> Iterator[None]:
    """A model in evaluation mode is trained all the same; in one that is in training mode, modules
    that were set to evaluation stay so: a frozen batch norm keeps its statistics."""
    with _restored(model):
        if not model.training:
            model.train()
        yield


@contextmanager
def evaluation_mode(model: "Module") -> Iterator[None]:
    with _restored(model):
        model.eval()
        yield


@contextmanager
def _restored(model: "Module") -> Iterator[None]:
    from ..nn.module.queries import below  # loaded with the model, not with this package

    modes = {id(each): each.training for each in below(model)}
    try:
        yield
    finally:
        for each in below(model):
            # Those that were built meanwhile take the mode of the whole.
            each.training = modes.get(id(each), modes[id(model)])
