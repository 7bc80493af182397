"""Modules that hold others, or only pass on."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Unpack

from ..._array.manipulation import reshape
from ..._core.errors import ArgumentError
from ..._core.typing import A
from ..._gradients.checkpoint import checkpoint
from ..module.module import Module
from .layer import Layer, Options

Layerlike = Module | Callable[[Any], Any]


class Sequential(Layer):
    """Modules one after the other; each gets what the one before returned.

    >>> import numpy as np, trellis
    >>> nn = trellis.nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
    >>> model(np.ones((3, 4), "float32")).shape
    (3, 2)
    >>> model.v.key_chains()
    ['layers/v0/b', 'layers/v0/w', 'layers/v2/b', 'layers/v2/w']

    A function of one array is a layer too:

    >>> nn.Sequential(nn.Linear(4, 8), lambda x: trellis.reshape(x, (-1, 2, 4)), nn.Tanh())(
    ...     np.ones((3, 4), "float32")
    ... ).shape
    (3, 2, 4)

    A dict names them:

    >>> model = nn.Sequential({"body": nn.Linear(4, 8), "head": nn.Linear(8, 2)})
    >>> model.v.key_chains(), model["head"]
    (['body/b', 'body/w', 'head/b', 'head/w'], Linear(8, 2))
    """

    def __init__(self, *modules: Layerlike | Mapping[str, Layerlike], **options: Unpack[Options]):
        """Modules in a row.

        Arguments:
            modules: the modules or functions, first to last; or one dict of them, with their names
            options: those of `Module`
        """
        self._names: tuple[str, ...] = ()
        self._layers: list[Any] = []
        given = {name: x for name, x in options.items() if isinstance(x, Module)}
        dicts = [each for each in modules if isinstance(each, Mapping)]
        if given or (dicts and len(modules) > 1):
            name = next(iter(given or dicts[0]), "name")
            raise ArgumentError(
                f"Names of modules are the keys of one dict: Sequential({{{name!r}: module, ...}})."
            )
        if dicts:
            self._set_named(dicts[0])
        else:
            self._layers = list(modules)
        super().__init__(**options)

    def _set_named(self, modules: Mapping[str, Layerlike]) -> None:
        """Each module as an attribute of its own, so that the name is that of its variables."""
        for name, module in modules.items():
            if not isinstance(name, str) or name.startswith("_") or hasattr(self, name):
                raise ArgumentError(
                    f"Sequential cannot name a module {name!r}: a name is a string that begins "
                    "with no underscore and is no attribute of modules already."
                )
            setattr(self, name, module)
        self._names = tuple(modules)

    def _in_order(self) -> list[Any]:
        return [getattr(self, name) for name in self._names] if self._names else self._layers

    def _forward(self, x: Any) -> Any:
        layers = self._in_order() if self._names else self._layers
        for layer in layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self._in_order())

    def __getitem__(self, i: int | str) -> Any:
        """The module at a position, or of a name."""
        if isinstance(i, str):
            if i not in self._names:
                raise ArgumentError(
                    f"This Sequential has no module {i!r}; it has {', '.join(self._names)}."
                    if self._names
                    else f"The modules of this Sequential have no names: write model[0], not {i!r}."
                )
            return getattr(self, i)
        return self._in_order()[i]


class Checkpoint(Layer):
    """A module whose intermediate values are not stored: the backward pass computes them again.

    Values, gradients, random draws and running statistics are those of the module without it; see
    `trellis.checkpoint`. Best around each block of a deep model.

    >>> import numpy as np, trellis
    >>> nn = trellis.nn
    >>> block = nn.Checkpoint(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)))
    >>> block(np.ones((3, 4), "float32")).shape
    (3, 4)
    >>> block.v.key_chains()[0]
    'module/layers/v0/b'
    """

    def __init__(self, module: Module, **options: Unpack[Options]):
        """A module that is computed again in the backward pass.

        Arguments:
            module: the module
            options: those of `Module`
        """
        self._module = module
        super().__init__(**options)

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        if not self._module.built:  # its variables last longer than what is traced
            self._module.build(*args, from_call=True, **kwargs)
        return checkpoint(self._module)(*args, **kwargs)


class Identity(Layer):
    """Returns its input."""

    def _forward(self, x: A) -> A:
        return x


class Flatten(Layer):
    """All axes from `start` on become one.

    >>> import numpy as np, trellis
    >>> trellis.nn.Flatten()(np.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start: int = 1, **options: Unpack[Options]):
        """The last axes as one.

        Arguments:
            start: the first of the axes that become one
            options: those of `Module`
        """
        self._start = start
        super().__init__(**options)

    def _forward(self, x: A) -> A:
        kept = tuple(x.shape[: self._start])
        if None in kept[1:]:
            return reshape(x, (*kept, -1))
        size = math.prod(x.shape[self._start :])
        return reshape(x, (*[-1 if n is None else n for n in kept], size))
