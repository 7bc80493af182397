"""Images in folders, decoded by Pillow."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from .._core.errors import ArgumentError, BackendNotInstalledError
from .._core.kinds import check_arguments

_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")


class Images:
    """The images in a folder, with one folder inside for each class.

    An example is the pair of the image, uint8 of shape (height, width, channels), and the number
    of its class in `classes`; an image alone if the folder has no folders. Names are sorted, so
    that numbers are the same everywhere. Pillow decodes the images.

    Args:
        path: The folder.
        mode: What Pillow converts images to: `"RGB"`, `"L"` for grey (one channel), `"RGBA"`.
        size: The height and width to which images are resized; None leaves them as they are.

    >>> import PIL.Image, pathlib, tempfile, trellis
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("cat", "dog"):
    ...         (pathlib.Path(folder) / name).mkdir()
    ...         PIL.Image.new("RGB", (4, 3)).save(f"{folder}/{name}/1.png")
    ...     images = trellis.data.Images(folder)
    ...     image, label = images[1]
    ...     image.shape, label, images.classes
    ((3, 4, 3), 1, ['cat', 'dog'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "RGB",
        size: tuple[int, int] | None = None,
    ):
        check_arguments(Images.__init__, locals())
        _pillow()
        folder = Path(path)
        if not folder.is_dir():
            raise ArgumentError(f"{folder} is not a folder.")
        self.classes = sorted(
            [each.name for each in folder.iterdir() if each.is_dir() and each.name[0] != "."]
        )
        self._mode, self._size = mode, size
        inside: list[tuple[Path, int | None]]
        inside = [(folder / name, i) for i, name in enumerate(self.classes)] or [(folder, None)]
        self._files = [(str(file), label) for each, label in inside for file in _images_in(each)]
        if not self._files:
            raise ArgumentError(
                f"There are no images in {folder}; names that end in {', '.join(_ENDINGS)} are "
                "looked for, in the folder itself or one below."
            )

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> Any:
        path, label = self._files[index]
        image = _decoded(path, self._mode, self._size)
        return image if label is None else (image, label)


def _images_in(folder: Path) -> list[Path]:
    return sorted(
        [
            each
            for each in folder.rglob("*")
            if each.suffix.lower() in _ENDINGS and each.name[0] != "." and each.is_file()
        ]
    )


def _decoded(path: str, mode: str, size: tuple[int, int] | None) -> Any:
    pillow = _pillow()
    try:
        with pillow.open(path) as file:
            image = file.convert(mode)
            if size is not None:
                image = image.resize((size[1], size[0]), pillow.Resampling.BILINEAR)
            pixels = np.asarray(image)
    except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises for damaged files
        raise ArgumentError(f"{path} cannot be read as an image: {error}") from error
    return pixels if pixels.ndim == 3 else pixels[..., None]


def _pillow() -> Any:
    try:
        import PIL.Image
    except ImportError:
        raise BackendNotInstalledError(
            "data.Images needs Pillow, which is not installed. Run: pip install pillow"
        ) from None
    return PIL.Image
