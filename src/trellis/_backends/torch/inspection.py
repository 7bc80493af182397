"""What this namespace can do, in the standard's words."""

from typing import Any

import torch

from ..._core.abilities import Abilities, capabilities
from ..._core.dtypes import KINDS
from ..exports import hand_on
from ._helpers import NATIVE, default_complex, default_float

ABILITIES = Abilities(has_compiler=True, has_fast_half=True)


class Info:
    """The answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        return capabilities(ABILITIES)

    def default_device(self) -> Any:
        return torch.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        return {
            "real floating": default_float(),
            "complex floating": default_complex(),
            "integral": torch.int64,
            "indexing": torch.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The data types of the standard; float16 and bfloat16 exist beside them."""
        standard = {name: d for name, d in NATIVE.items() if name not in ("float16", "bfloat16")}
        if kind is None:
            return standard
        names: list[str] = []
        for one in kind if isinstance(kind, tuple) else (kind,):
            names += KINDS[one]
        return {name: d for name, d in standard.items() if name in names}

    def devices(self) -> list[Any]:
        found = [torch.device("cpu")]
        if torch.accelerator.is_available():
            kind = torch.accelerator.current_accelerator().type
            found += [torch.device(kind, i) for i in range(torch.accelerator.device_count())]
        return found


def __array_namespace_info__() -> Info:
    return Info()


def layer_types() -> tuple[type, ...]:
    """The classes of the framework's own layers: Trellis does not see their parameters."""
    return (torch.nn.Module,)


hand_on(globals())
