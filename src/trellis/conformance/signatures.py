"""Whether the functions of a backend can be called as the interface says."""

import inspect

from .._backends import interface


def members(protocol, prefix=""):
    """What a Protocol asks for: {name: signature, or None for a value}; extensions by their dotted
    names.
    """
    found = {}
    for cls in reversed(protocol.__mro__):
        if cls.__module__.startswith("trellis."):
            found |= {prefix + name: None for name in inspect.get_annotations(cls)}
            for name, value in vars(cls).items():
                if isinstance(value, property):
                    found |= members(value.fget.__annotations__["return"], f"{prefix}{name}.")
                elif inspect.isfunction(value) and not name.startswith(("_", "__class")):
                    found[prefix + name] = without_self(value)
    return found


def without_self(method):
    signature = inspect.signature(method)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


INTERFACE = members(interface.Backend)


def provided(xp, name):
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def shape_of_call(signature):
    """Parameters as (name, kind, default); those that are positional only have no name."""
    return [
        ("" if p.kind is p.POSITIONAL_ONLY else p.name, p.kind, repr(p.default))
        for p in signature.parameters.values()
    ]


def example_call(signature):
    """Positional and keyword arguments of a call that uses all parameters."""
    parameters = signature.parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [None] * len(positional), {p.name: None for p in parameters if p.kind is p.KEYWORD_ONLY}


def mismatch(value, expected):
    """Why something cannot serve as the function of that signature; None if it can."""
    if inspect.isfunction(value) and value.__module__.startswith("trellis._backends"):
        same = shape_of_call(inspect.signature(value)) == shape_of_call(expected)
        return None if same else f"{inspect.signature(value)} is not {expected}"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None if callable(value) else "it cannot be called"  # in C; the rows call it
    try:
        args, kwargs = example_call(expected)
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return None
