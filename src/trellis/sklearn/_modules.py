"""How an estimator gets its module: a function of the numbers of inputs and outputs."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from .._core.errors import ArgumentError
from ..nn import Dropout, Linear, Module, Sequential
from ..nn.layers.activation import activation_function


class Build:
    """A function that makes a module, with options that GridSearchCV can set.

    `Build(make, width=32)` calls `make(inputs, outputs, width=32)`; as the `module` of an
    estimator, its options are the parameters `module__width` and so on.

    >>> from trellis.sklearn import TrellisRegressor
    >>> model = TrellisRegressor(Build(mlp, hidden=(8,)))
    >>> model.set_params(module__hidden=(16, 16)).get_params()["module__hidden"]
    (16, 16)
    """

    def __init__(self, make: Callable[..., Module], **options: Any):
        """A function with options.

        Arguments:
            make: called with the numbers of inputs and outputs, and with the options
            options: arguments of `make` by their names
        """
        self.make, self.options = make, options

    def __call__(self, inputs: Any, outputs: int) -> Module:
        return self.make(inputs, outputs, **self.options)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The function and its options, as scikit-learn asks for them."""
        return {"make": self.make, **self.options}

    def set_params(self, **params: Any) -> Self:
        """Replace the function or options that were given before."""
        unknown = set(params) - {"make", *self.options}
        if unknown:
            raise ArgumentError(
                f"This Build has no option {sorted(unknown)[0]!r}; it has "
                f"{', '.join(['make', *self.options])}. Give the first value where it is made, "
                "Build(make, name=value)."
            )
        self.make = params.pop("make", self.make)
        self.options = {**self.options, **params}
        return self

    def __repr__(self) -> str:
        name = getattr(self.make, "__name__", repr(self.make))
        options = [f"{key}={value!r}" for key, value in self.options.items()]
        return f"Build({', '.join([name, *options])})"


def mlp(
    inputs: int,
    outputs: int,
    hidden: Sequence[int] = (64,),
    activation: str | Callable[[Any], Any] = "relu",
    dropout: float = 0.0,
) -> Module:
    """Dense layers of the sizes `hidden`, with an activation (and dropout) after each; then one of
    size `outputs`.

    >>> import numpy as np
    >>> mlp(4, 3, hidden=(8, 8))(np.ones((2, 4), "float32")).shape
    (2, 3)
    """
    if not isinstance(inputs, int):
        raise ArgumentError(
            f"mlp() takes examples that are vectors; these have shape {inputs}. Pass a function of "
            "(shape, outputs) as the module of the estimator."
        )
    layers: list[Any] = []
    for size in hidden:
        layers += [Linear(inputs, size), _Activation(activation)]
        layers += [Dropout(dropout)] if dropout else []
        inputs = size
    return Sequential(*layers, Linear(inputs, outputs))


class _Activation(Module):
    def __init__(self, activation: str | Callable[[Any], Any]):
        self._function = activation_function(activation)
        super().__init__()

    def _forward(self, x: Any) -> Any:
        return self._function(x)
