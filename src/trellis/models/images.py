"""Images and sounds in Hugging Face's layout, channels first."""

from typing import Any

from .._array.manipulation import permute_dims, reshape
from .._core.errors import ShapeError
from .._core.typing import Array

# Filters there are (out, in, kernel), here kernel + (in, out).
FILTERS_1D = (2, 1, 0)
FILTERS_2D = (2, 3, 1, 0)


def check_images(owner: object, images: Array, channels: int, size: int | None) -> None:
    """Raise for images in another layout, which might run and give meaningless results."""
    shape = tuple(images.shape)
    wanted = (channels, size, size)
    fits = len(shape) == 4
    if fits:
        fits = all([a is None or b is None or a == b for a, b in zip(shape[1:], wanted)])
    if not fits:
        height, width = ("height", "width") if size is None else (size, size)
        raise ShapeError(
            f"{type(owner).__name__} expects images of shape (batch, {channels}, {height}, "
            f"{width}), channels first as Hugging Face's processors give them, got {shape}."
        )


def image_patches(owner: Any, images: Array, projection: Any) -> Any:
    """One vector for each patch: (batch, patches, width)."""
    config = owner.config if hasattr(owner, "config") else owner._config
    check_images(owner, images, config.num_channels, config.image_size)
    x = projection(permute_dims(images, (0, 2, 3, 1)))
    batch, height, width, channels = x.shape
    return reshape(x, (-1 if batch is None else batch, height * width, channels))
