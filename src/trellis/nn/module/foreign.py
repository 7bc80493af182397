"""Names of other libraries' modules: asked for, they raise an AttributeError that says what to
write here. Defined one by one, since a `__getattr__` would make every look-up in a module slower.
"""

from typing import NoReturn

_VARIABLES = (
    "Write model.parameters() for pairs of a name and an array, or model.v for all of them."
)
_DTYPE = "Write model.astype(dtype)."
_GRADIENTS = (
    "Gradients are results: trellis.value_and_grad(lambda v: loss(model(x, v=v), y))(model.v)."
)
_TRAINING = "Write trellis.train.{name}(model, ...)."
INSTEAD = {
    "named_parameters": _VARIABLES,
    "weights": _VARIABLES,
    "get_weights": _VARIABLES,
    "trainable_variables": _VARIABLES,
    "trainable_weights": _VARIABLES,
    "load_state_dict": "Write model.v = v, or model.load_weights(path).",
    "set_weights": "Write model.v = v, or model.load_weights(path).",
    "zero_grad": _GRADIENTS,
    "backward": _GRADIENTS,
    "requires_grad_": _GRADIENTS,
    "forward": "Call the model itself, model(x); a subclass defines _forward.",
    "call": "Call the model itself, model(x); a subclass defines _forward.",
    "compile": "Write trellis.compile(fn); trellis.train.fit takes the optimizer and the loss.",
    "fit": "Write trellis.train.fit(model, loss, (x, y), optimizer=...).",
    "evaluate": _TRAINING,
    "predict": _TRAINING,
    "cuda": "Write model.to_device(device), or Module(device=...).",
    "half": _DTYPE,
    "double": _DTYPE,
    "bfloat16": _DTYPE,
    "to": "Write model.astype(dtype), model.to_device(device), or "
    "model.v = trellis.to_backend(model.v, name).",
}


class _Foreign:
    """A name that is not ours. Attributes of instances and of subclasses come before it."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, module: object, cls: type) -> NoReturn:
        what = f"type object {cls.__name__!r}" if module is None else f"{cls.__name__!r} object"
        instead = INSTEAD[self._name].format(name=self._name)
        raise AttributeError(
            f"{what} has no attribute {self._name!r}. {instead}", name=self._name, obj=module or cls
        )


class ForeignNames:
    """What other libraries call things; not among the names of `dir`."""

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in INSTEAD]


# Not written in the class: type checkers would take them for attributes that exist.
for _name in INSTEAD:
    setattr(ForeignNames, _name, _Foreign(_name))
