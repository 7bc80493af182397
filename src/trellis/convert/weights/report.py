"""What happened to each array when weights were loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class WeightsReport:
    """What happened to each array when weights were loaded; `print(report)` shows it.

    >>> report = WeightsReport(matched={"w": "weight"}, unexpected=("bias",))
    >>> report.is_complete
    False
    >>> print(report)
    1 loaded
        w <- weight
    1 unexpected: unknown here
        bias
    """

    matched: dict[str, str] = field(default_factory=dict)  # {key path: name there}
    missing: tuple[str, ...] = ()  # key paths of arrays that were not changed
    unexpected: tuple[str, ...] = ()  # names there that were not used
    wrong_shape: dict[str, tuple[Shape, Shape]] = field(default_factory=dict)  # (there, here)
    wrong_dtype: dict[str, tuple[str, str]] = field(default_factory=dict)  # (there, here)
    cast: dict[str, tuple[str, str]] = field(default_factory=dict)  # loaded, in the type here
    notes: tuple[str, ...] = ()  # other differences

    @property
    def is_complete(self) -> bool:
        """Whether everything here was loaded, and everything there was used."""
        return not (self.missing or self.unexpected or self.wrong_shape or self.wrong_dtype)

    def differences(self, source: str = "the file") -> list[str]:
        """What does not fit, one sentence each."""
        lines = [f"{chain!r} is missing in {source}" for chain in self.missing]
        lines += [f"{name!r} of {source} is unknown here" for name in self.unexpected]
        for chain, (there, here) in self.wrong_shape.items():
            lines.append(f"{chain!r} has shape {there} in {source}, {here} here")
        for chain, types in self.wrong_dtype.items():
            lines.append(f"{chain!r} is {types[0]} in {source}, {types[1]} here")
        return lines

    def _repr_html_(self) -> str:
        """What notebooks show: the same lines as `print`."""
        from ..._core import html  # for notebooks only

        return html.text(self)

    def __str__(self) -> str:
        pairs = [
            chain if chain == name else f"{chain} <- {name}" for chain, name in self.matched.items()
        ]
        sections = [
            ("loaded", pairs),
            ("missing: they keep their values", self.missing),
            ("unexpected: unknown here", self.unexpected),
            ("of another shape, skipped", _changes(self.wrong_shape)),
            ("of another kind of data, skipped", _changes(self.wrong_dtype)),
            ("cast to the type here", _changes(self.cast)),
            ("to look at", self.notes),
        ]
        lines = []
        for title, names in sections:
            if names or title == "loaded":
                lines += [f"{len(names)} {title}", *[f"    {name}" for name in names]]
        return "\n".join(lines)


def _changes(found: Mapping[str, tuple[Any, Any]]) -> list[str]:
    return [f"{name}: {there} there, {here} here" for name, (there, here) in found.items()]
