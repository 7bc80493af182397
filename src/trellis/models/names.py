"""Which variable here is which array there.

A model's table maps the chain of a layer to Hugging Face's name of it; `*` stands for a number.
The last parts, "w" and "weight", are added here.
"""

import re
from collections.abc import Iterable, Mapping

_LEAVES = {"w": "weight", "b": "bias", "mean": "running_mean", "var": "running_var"}
_NUMBER = re.compile(r"(?<=/)v(\d+)(?=/)")


def pattern_of(chain: str) -> tuple[str, list[str]]:
    """A chain with stars for its numbers, and the numbers.

    >>> pattern_of("layers/v10/query/w")
    ('layers/*/query/w', ['10'])
    """
    return _NUMBER.sub("*", chain), _NUMBER.findall(chain)


def name_of(chain: str, table: Mapping[str, str]) -> str:
    """Hugging Face's name of a variable.

    >>> name_of("layers/v10/query/w", {"layers/*/query": "encoder.layer.*.attention.query"})
    'encoder.layer.10.attention.query.weight'
    """
    pattern, numbers = pattern_of(chain)
    if pattern in table:
        name = table[pattern]
    else:
        head, _, leaf = pattern.rpartition("/")
        name = f"{table[head]}.{_LEAVES[leaf]}"
    for number in numbers:
        name = name.replace("*", number, 1)
    return name


def names_of(chains: Iterable[str], table: Mapping[str, str]) -> dict[str, str]:
    """`{chain here: name there}`."""
    return {chain: name_of(chain, table) for chain in chains}
