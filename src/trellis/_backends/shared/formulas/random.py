"""Keys, for a framework without a key type of its own."""

from typing import Any

from ...array_api import Native
from . import xp


def as_raw_key(key: Native) -> Native:
    return key


def key_device(x: Native) -> Any:
    return xp.device(x)
