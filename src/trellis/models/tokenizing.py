"""`load_tokenizer`: the tokenizer of a folder, read by the `tokenizers` library."""

import os
from typing import Any

from .._core.errors import ArgumentError, BackendNotInstalledError
from .files import checked_folder


def load_tokenizer(folder: str | os.PathLike[str], /) -> Any:
    """The `tokenizers.Tokenizer` in `tokenizer.json` of a local folder; nothing is downloaded.

    The library comes with `pip install 'trellis-ml[models]'`. Its own methods do the rest:
    `tokenizer.encode(text).ids`, `encode_batch` after `enable_padding()`, `decode(tokens)`.

    >>> from trellis import models
    >>> models.load_tokenizer("no_such_folder")
    Traceback (most recent call last):
    FileNotFoundError: load_tokenizer() found no folder 'no_such_folder'. ...
    """
    path = checked_folder(folder, "load_tokenizer") / "tokenizer.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.parent} has no tokenizer.json. transformers writes it: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
        )
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise BackendNotInstalledError(
            "load_tokenizer() needs the library `tokenizers`: pip install 'trellis-ml[models]'."
        ) from None
    try:
        return Tokenizer.from_file(str(path))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # plain ones, and the panics of Rust, which are no Exception
        raise ArgumentError(f"{path} is not a tokenizer: {error}.") from None
