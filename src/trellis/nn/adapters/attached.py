"""The adapters of one module, by name, and how they change what it computes."""

from typing import Any

from ..._core.container import Container
from ..._core.errors import ArgumentError
from ..layers.embedding import Embedding
from ..layers.linear import Linear
from ..module.around import forward, forward_with, weight_of
from ..module.module import Module
from .low_rank import Adapter


class Adapters(Module):
    """The adapters of a dense layer, a table, or of matrices that a module keeps itself.

    They are an attribute of that module, so that their variables are found below its own:
    "layers/v0/query/adapters/default/a".
    """

    def __init__(self, kind: str, **options: Any):
        self.kind = kind  # "dense", "table" or "matrices"
        self.names: list[str] = []
        self.active: list[str] = []
        self.settings: dict[str, dict[str, Any]] = {}  # of each name: alpha and the like
        self._chains: dict[str, str] = {}  # of the matrices, by the names of their adapters
        self._before: dict[str, Any] = {}  # weights as they were before they were merged
        super().__init__(**options)

    @property
    def is_merged(self) -> bool:
        return bool(self._before)

    def add(self, name: str, adapters: dict[str, Adapter], settings: dict[str, Any]) -> None:
        """One adapter for each matrix, by its key path, under one name."""
        if self.kind == "matrices":
            keys = {chain: chain.replace("/", ".") for chain in adapters}
            self._chains.update({key: chain for chain, key in keys.items()})
            setattr(self, name, {keys[chain]: adapter for chain, adapter in adapters.items()})
        else:
            setattr(self, name, adapters["w"])
        self.names.append(name)
        self.settings[name] = settings

    def drop(self, name: str) -> None:
        setattr(self, name, None)
        delattr(self, name)
        self.names.remove(name)
        self.active = [each for each in self.active if each != name]
        del self.settings[name]

    def adapters(self, name: str) -> dict[str, Adapter]:
        """Those of one name, by the key paths of their matrices."""
        if self.kind != "matrices":
            return {"w": getattr(self, name)}
        return {self._chains[key]: adapter for key, adapter in getattr(self, name).items()}

    def around(self, module: Any, level: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The module's own result, with the adapters that are active."""
        is_used = bool(self.active) and not self._before
        if self.kind == "matrices":
            v = self.changed(module) if is_used else module.v.copy()
            del v["adapters"]  # the module knows nothing of them
            return forward_with(module, v, level, args, kwargs)
        if not is_used:
            return forward(module, level, args, kwargs)
        y = forward(module, level, args, kwargs)
        x = args[0] if args else next(iter(kwargs.values()))
        total = y
        for name in self.active:
            adapter = getattr(self, name)
            if self.kind == "table":
                total = total + adapter.rows(x)
            else:
                w = weight_of(module) if adapter.with_length else None
                total = total + adapter.added(x, y, w, module.v.get("b"))
        return total

    def changed(self, module: Any) -> Container:
        """The variables of the module with the adapters in the weights."""
        v: Container = module.v.copy()
        for name in self.active:
            for chain, adapter in self.adapters(name).items():
                v[chain] = adapter.weight(v[chain], is_turned=is_turned(self.kind, chain))
        return v

    def merge(self, module: Any) -> None:
        """Put the active adapters into the weights."""
        if self._before or not self.active:
            return
        keys = [chain for name in self.active for chain in self.adapters(name)]
        if [chain for chain in keys if chain not in module.v]:
            raise ArgumentError(
                "merge() cannot change quantized weights: they would have to be rounded again. "
                "Merge first, then call nn.quantize()."
            )
        before = {chain: module.v[chain] for chain in keys}
        new = self.changed(module)
        self._before = before
        module.v = new

    def unmerge(self, module: Any) -> None:
        """Put back the weights as they were, bit for bit."""
        if not self._before:
            return
        v = module.v.copy()
        for chain, w in self._before.items():
            v[chain] = w
        self._before = {}
        module.v = v


def is_turned(kind: str, chain: str) -> bool:
    """Whether a weight is (inputs, outputs): tables are, and what others call kernels."""
    return kind == "table" or chain.rpartition("/")[2] == "kernel"


def kind_of(module: Any) -> str:
    """How adapters are attached to a module."""
    if isinstance(module, Linear):
        return "dense"
    return "table" if isinstance(module, Embedding) else "matrices"
