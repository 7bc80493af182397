"""What the standard says of operations: the types of their attributes."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import onnx

from ..._core.errors import ArgumentError


@lru_cache(None)
def _types(name: str, version: int, domain: str) -> dict[str, Any]:
    try:
        schema: Any = onnx.defs.get_schema(name, version, domain)
    except Exception:  # an operation of others, or one that was added later
        return {}
    return {key: int(each.type) for key, each in schema.attributes.items()}


def check_attributes(node: onnx.NodeProto, versions: Mapping[str, int]) -> None:
    """Raise for text where the standard has a number, and for an attribute that is there twice."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    if domain not in versions and node.domain not in versions:
        return
    known = _types(node.op_type, versions.get(domain, versions.get(node.domain, 0)), domain)
    names = [attribute.name for attribute in node.attribute]
    if len(set(names)) < len(names):
        raise ArgumentError("it has an attribute twice")
    for attribute in node.attribute:
        if known.get(attribute.name, attribute.type) != attribute.type:
            words = onnx.AttributeProto.AttributeType
            given = words.Name(attribute.type) if attribute.type in words.values() else "unknown"
            raise ArgumentError(
                f"its attribute {attribute.name!r} is of the type {given}, where "
                f"{words.Name(known[attribute.name])} is expected"
            )
