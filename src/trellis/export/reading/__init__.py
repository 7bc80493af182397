"""Files read as data, for `describe`: no framework, no unpickling, no code of theirs."""

import zipfile
from pathlib import Path

from ..._core.errors import ArgumentError, TrellisError
from ..._core.files import check_regular
from ..._core.printable import printable
from ..description import Description
from .damage import Damaged


def read(path: Path) -> Description:
    """What is in a file or directory; the content says which format it is."""
    try:
        return _read(path)
    except (TrellisError, OSError):
        raise
    except (Damaged, zipfile.BadZipFile) as error:
        raise ArgumentError(
            f"{str(path)!r} is damaged, or not a file that can be described: {error}"
        ) from error
    except Exception as error:  # a number where a name should be, a part that is missing
        raise ArgumentError(
            f"{str(path)!r} is damaged: {type(error).__name__} ({printable(error)})"
        ) from error


def _read(path: Path) -> Description:
    if path.is_dir():
        from .saved_model import read_saved_model

        return read_saved_model(path)
    check_regular(path)
    with open(path, "rb") as file:
        head = file.read(16)
    if len(head) < 16:
        raise Damaged("it is too short.")
    if head[:4] == b"PK\x03\x04":
        from .torch_archive import read_torch_archive

        return read_torch_archive(path)
    if head[4:8] == b"TFL3":
        from .tflite import read_tflite

        return read_tflite(path)
    if head[8:9] == b"{":
        from .weights import read_weights

        return read_weights(path)
    if path.suffix == ".onnx" or head[:1] == b"\x08":
        from .onnx import read_onnx

        return read_onnx(path)
    from .stablehlo import read_stablehlo

    return read_stablehlo(path)
