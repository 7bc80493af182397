"""`Container`: a dict with attribute access, key paths and leaf-wise arithmetic."""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .errors import ArgumentTypeError, KeyChainError, TracingError


class Container(dict[str, Any]):
    """A pytree of arrays with names: `c.a.b`, `c["a/b"]`, `"a/b" in c`, `c * 2`.

    Nested dicts become Containers, and so do key paths: `Container({"a/b": 1})` has `c.a.b`. Keys
    are kept sorted, unless made with `alphabetical_keys=False`. Containers pass through `jax.jit`,
    `torch.compile` and `tf.function`, and an array function called with a Container maps over its
    leaves.

    >>> import trellis
    >>> c = trellis.Container({"b": 2, "a": {"w": 1}})
    >>> c
    Container(a=Container(w=1), b=2)
    >>> c["a/w"], c.a.w, "a/w" in c
    (1, 1, True)
    >>> c * 10
    Container(a=Container(w=10), b=20)
    """

    # `_is_held`: a module keeps its variables here, so that nothing may enter that does not last.
    __slots__ = ("_alphabetical", "_is_held")

    def __init__(
        self,
        mapping: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
        /,
        *,
        alphabetical_keys: bool = True,
        **entries: Any,
    ):
        object.__setattr__(self, "_alphabetical", alphabetical_keys)
        try:
            items = dict({} if mapping is None else mapping, **entries)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"Container() expects a dict or (key, value) pairs, got {mapping!r}."
            ) from None
        for key in sorted(items) if alphabetical_keys else items:
            if "/" in key:
                self._set_chain(key, items[key])
            else:
                dict.__setitem__(self, key, _contained(items[key], alphabetical_keys))

    def _set_chain(self, chain: str, value: object) -> None:
        """Set a key path, without writing into a Container that the caller still has."""
        head = chain.partition("/")[0]
        if isinstance(dict.get(self, head), Container):
            dict.__setitem__(self, head, dict.__getitem__(self, head).copy())
        self[chain] = value

    # Key paths -----------------------------------------------------------------------------------

    # Not __getitem__, which would make each `v["w"]` a call of a Python function.
    def __missing__(self, key: str) -> Any:
        found: Any = self
        if not isinstance(key, str):
            raise KeyChainError(_missing(self, key))
        for part in key.split("/"):
            if not isinstance(found, dict) or part not in dict.keys(found):
                raise KeyChainError(_missing(self, key))
            found = dict.__getitem__(found, part)
        return found

    def __setitem__(self, key: str, value: object) -> None:
        head, _, rest = key.partition("/")
        alphabetical = self._alphabetical
        if rest:
            if head not in dict.keys(self):
                self[head] = Container(alphabetical_keys=alphabetical)
            owner = dict.__getitem__(self, head)
            if not isinstance(owner, dict):
                raise KeyChainError(
                    f"{head!r} is a leaf of this Container, so it cannot contain {key!r}."
                )
            owner[rest] = value
            return
        if getattr(self, "_is_held", False):  # torch.compile does not go through __getattr__
            value = _lasting(value, key)
        is_new = head not in dict.keys(self)
        dict.__setitem__(self, head, _contained(value, alphabetical))
        if is_new and alphabetical:
            entries = dict(dict.items(self))
            dict.clear(self)
            # Only the keys are sorted: torch.compile cannot sort what holds tensors.
            for key in sorted(entries):
                dict.__setitem__(self, key, entries[key])

    def __delitem__(self, key: str) -> None:
        head, _, last = key.rpartition("/")
        owner = self[head] if head else self
        if not isinstance(owner, dict) or last not in dict.keys(owner):
            raise KeyChainError(_missing(self, key))
        dict.__delitem__(owner, last)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            found: Any = self
            for part in key.split("/"):
                if not isinstance(found, dict) or part not in dict.keys(found):
                    return False
                found = dict.__getitem__(found, part)
            return True
        if isinstance(key, dict):
            return _is_same(self, key) or any(
                [isinstance(v, Container) and v.__contains__(key) for v in dict.values(self)]
            )
        return False

    def get(self, key: str, default: object = None) -> Any:
        return self[key] if key in self else default

    def pop(self, key: str, *default: Any) -> Any:
        if default and key not in self:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def setdefault(self, key: str, default: object = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: object, **entries: object) -> None:
        for key, value in dict(*args, **entries).items():
            self[key] = value

    def __ior__(self, other: Any) -> "Container":  # type: ignore[override,misc]
        self.update(other)
        return self

    def copy(self) -> "Container":
        """A new Container of the same leaves; nested Containers are copied too."""
        copied = Container(alphabetical_keys=self._alphabetical)
        for key, value in dict.items(self):
            dict.__setitem__(copied, key, value.copy() if isinstance(value, Container) else value)
        return copied

    __copy__ = copy

    def hold(self) -> None:
        """From now on raise for values that end with the running function (tracers), here and
        below."""
        object.__setattr__(self, "_is_held", True)
        for value in dict.values(self):
            if isinstance(value, Container):
                value.hold()

    def __getattr__(self, name: str) -> Any:
        if name in dict.keys(self):
            return dict.__getitem__(self, name)
        if name == "_is_held":  # a slot that most Containers leave empty: they are made often
            return False
        raise AttributeError(f"{_missing(self, name)} Attributes of a Container are its keys.")

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in dict.keys(self):
            raise AttributeError(_missing(self, name))
        dict.__delitem__(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dict.keys(self)]

    def key_chains(self) -> list[str]:
        """The key paths of all leaves, in order.

        >>> import trellis
        >>> trellis.Container(a={"w": 1, "b": 2}, c=3).key_chains()
        ['a/b', 'a/w', 'c']
        """
        chains: list[str] = []
        for key, value in dict.items(self):
            if isinstance(value, Container):
                chains += [f"{key}/{chain}" for chain in value.key_chains()]
            else:
                chains.append(key)
        return chains

    def flat(self, separator: str = "/") -> "Container":
        """A flat Container, whose keys are the key paths joined with `separator`.

        >>> import trellis
        >>> trellis.Container(a={"w": 1}).flat("__")
        Container(a__w=1)
        """
        flat = Container(alphabetical_keys=False)
        for chain in self.key_chains():
            dict.__setitem__(flat, chain.replace("/", separator), self[chain])
        return flat

    # Leaf-wise arithmetic -------------------------------------------------------------------------

    def _map(self, fn: Callable[..., Any], *others: Any) -> "Container":
        from .tree import map as tree_map

        result: Container = tree_map(fn, self, *others)
        return result

    def __add__(self, other: object) -> "Container":
        return self._map(operator.add, other)

    def __radd__(self, other: object) -> "Container":
        return self._map(lambda x, y: y + x, other)

    def __sub__(self, other: object) -> "Container":
        return self._map(operator.sub, other)

    def __rsub__(self, other: object) -> "Container":
        return self._map(lambda x, y: y - x, other)

    def __mul__(self, other: object) -> "Container":
        return self._map(operator.mul, other)

    def __rmul__(self, other: object) -> "Container":
        return self._map(lambda x, y: y * x, other)

    def __truediv__(self, other: object) -> "Container":
        return self._map(operator.truediv, other)

    def __rtruediv__(self, other: object) -> "Container":
        return self._map(lambda x, y: y / x, other)

    def __floordiv__(self, other: object) -> "Container":
        return self._map(operator.floordiv, other)

    def __mod__(self, other: object) -> "Container":
        return self._map(operator.mod, other)

    def __pow__(self, other: object) -> "Container":
        return self._map(operator.pow, other)

    def __rpow__(self, other: object) -> "Container":
        return self._map(lambda x, y: y**x, other)

    def __matmul__(self, other: object) -> "Container":
        return self._map(operator.matmul, other)

    def __neg__(self) -> "Container":
        return self._map(operator.neg)

    def __pos__(self) -> "Container":
        return self._map(operator.pos)

    def __abs__(self) -> "Container":
        return self._map(operator.abs)

    def __lt__(self, other: object) -> "Container":
        return self._map(operator.lt, other)

    def __le__(self, other: object) -> "Container":
        return self._map(operator.le, other)

    def __gt__(self, other: object) -> "Container":
        return self._map(operator.gt, other)

    def __ge__(self, other: object) -> "Container":
        return self._map(operator.ge, other)

    # `==` must answer leaf by leaf, as arrays do; dict's answer would ask arrays for their truth.
    def __eq__(self, other: object) -> Any:
        return self._map(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._map(operator.ne, other)

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Any) -> "Container":  # type: ignore[override]
        """The union of two Containers, as for dicts: entries of the right one win."""
        return Container({**self, **other}, alphabetical_keys=self._alphabetical)

    def __repr__(self) -> str:
        return "Container(" + ", ".join([f"{k}={v!r}" for k, v in dict.items(self)]) + ")"

    def _repr_html_(self) -> str:
        """What notebooks show: a line for each leaf."""
        from . import html, tree  # for notebooks only

        leaves = zip(tree.key_chains(self), tree.leaves(self), strict=True)
        return html.table(["leaf", "value"], [[chain, _outline(leaf)] for chain, leaf in leaves])

    def __reduce__(self) -> Any:
        return _rebuild, (tuple(dict.keys(self)), self._alphabetical, list(dict.values(self)))


def _outline(leaf: Any) -> str:
    """An array by its data type and shape, anything else by its repr."""
    if hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        return f"{leaf.dtype} {tuple(leaf.shape)}"
    shown = repr(leaf)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _contained(value: object, alphabetical: bool) -> Any:
    """Nested dicts become Containers; a Container stays the object that it is."""
    if isinstance(value, dict) and not isinstance(value, Container):
        return Container(value, alphabetical_keys=alphabetical)
    return value


def _is_same(x: Mapping[str, Any], y: Mapping[str, Any]) -> bool:
    """Whether two pytrees have the same keys and, leaf by leaf, the same objects."""
    if x.keys() != y.keys():
        return False
    for key in y:
        a, b = x[key], y[key]
        if isinstance(a, dict) and isinstance(b, dict):
            if not _is_same(a, b):
                return False
        elif a is not b:
            return False
    return True


def _missing(container: Container, key: object) -> str:
    known = container.key_chains()
    listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    return f"There is no {key!r} in this Container; it has: {listed or 'nothing'}."


def _lasting(value: object, key: str) -> Any:
    """A value for a Container in which a module keeps its variables."""
    from .tracing import lasts
    from .tree import leaves

    if not all([lasts(leaf) for leaf in leaves(value)]):
        raise TracingError(
            f"The variable {key!r} of a module would become a value of the function that is being "
            "compiled or differentiated, which is not valid after it ends. Pass the variables to "
            "the call, `y = module(x, v=v)`, return the new ones from the function, and assign "
            "them outside."
        )
    value = _contained(value, True)
    if isinstance(value, Container):
        value.hold()
    return value


def _rebuild(keys: tuple[str, ...], alphabetical: bool, children: list[Any]) -> Container:
    return unflatten_container((keys, alphabetical), children)


def flatten_container(container: Container) -> tuple[list[Any], tuple[tuple[str, ...], bool]]:
    """Children and the static part, in the form that pytree registries ask for."""
    return list(dict.values(container)), (tuple(dict.keys(container)), container._alphabetical)


def unflatten_container(static: tuple[tuple[str, ...], bool], children: Iterable[Any]) -> Container:
    """The inverse of `flatten_container`; children may be anything (tracers, specs, None)."""
    keys, alphabetical = static
    # Not through the constructor, which sorts and looks at the values: this runs for every node at
    # every step.
    container = Container.__new__(Container)
    object.__setattr__(container, "_alphabetical", alphabetical)
    dict.update(container, zip(keys, children, strict=True))
    return container
