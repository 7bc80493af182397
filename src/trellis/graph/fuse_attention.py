"""Attention, which foreign models write as two products with a softmax between them."""

from typing import Any

from .graph import Node, Value
from .matching import AnyOf, Matcher

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]


def attention(m: Matcher, node: Node) -> Call | None:
    """`softmax(scale * query @ key + bias) @ value` with products that are einsums of four axes, or
    matrix products.

    A mask applied with `where` is not replaced: a query whose keys are all masked has another
    result there.
    """
    if node.op.__name__ == "einsum" and len(node.args) == 3:
        return _of_einsum(m, node)
    if node.op.__name__ == "matmul":
        return _of_matmul(m, node)
    return None


def _of_matmul(m: Matcher, node: Node) -> Call | None:
    key = AnyOf(("matrix_transpose", "?key"), ("permute_dims", "?key", (0, 1, 3, 2)))
    scores = _scaled(("matmul", "?query", key))
    found = m.match(("matmul", ("softmax", scores), "?value"), node)
    if found is None or _rank(found["?query"]) != 4 or _rank(found["?value"]) != 4:
        return None
    options = _options(found)
    if options is None:
        return None
    import trellis

    arrays = (found["?query"], found["?key"], found["?value"])
    return trellis.scaled_dot_product_attention, arrays, options


def _of_einsum(m: Matcher, node: Node) -> Call | None:
    """The letters of an einsum identify the axes."""
    equation, first, second = node.args
    for weights, value, is_first in ((first, second, True), (second, first, False)):
        inner = m.node_of(weights)
        if inner is None:
            continue
        scores = _scaled(("einsum", "?inner", "?query", "?key"))
        found = m.match(("softmax", scores), inner)
        if found is None or _rank(value) != 4:
            continue
        order = _orders(found["?inner"], equation, is_first)
        if order is None:
            continue
        options = _options(found)
        if options is None:
            continue
        import trellis

        sources = (found["?query"], found["?key"], value)
        arrays = tuple([_permuted(m, x, axes) for x, axes in zip(sources, order)])
        if order[3] == (0, 1, 2, 3):
            return trellis.scaled_dot_product_attention, arrays, options
        whole = m.new(trellis.scaled_dot_product_attention, *arrays, **options)
        return trellis.permute_dims, (whole, order[3]), {}
    return None


def _scaled(product: object) -> AnyOf:
    """A product, or one by a number, with or without a bias that is added."""
    by_number = AnyOf(("multiply", product, "?times"), ("divide", product, "?over"))
    plain = AnyOf(by_number, product)
    return AnyOf(plain, ("add", plain, "?bias"))


def _options(found: dict[str, Any]) -> dict[str, Any] | None:
    times, over = found.get("?times", 1.0), found.get("?over", 1.0)
    if not isinstance(times, float) or not isinstance(over, float) or over == 0:
        return None
    options: dict[str, Any] = {"scale": times / over}
    if "?bias" in found:
        if not isinstance(found["?bias"], Value) or "float" not in str(found["?bias"].dtype):
            return None
        options["mask"] = found["?bias"]
    return options


def _orders(inner: object, outer: object, weights_first: bool) -> list[tuple[int, ...]] | None:
    """The axes of query, key and value that are (batch, head, length, feature), and where these
    are in the result; None if the equations are no attention."""
    if not isinstance(inner, str) or not isinstance(outer, str):
        return None
    (query, key), scores = _terms(inner)
    (left, right), result = _terms(outer)
    weights, value = (left, right) if weights_first else (right, left)
    if any([len(term) != 4 for term in (query, key, scores, weights, value, result)]):
        return None
    batch, head, q, k = list(scores)
    feature = [c for c in query if c not in scores]
    if len(feature) != 1 or set(query) != {batch, head, q, feature[0]}:
        return None
    if set(key) != {batch, head, k, feature[0]}:
        return None
    names = dict(zip(weights, scores))  # of the outer equation, by those of the inner one
    inside = [c for c in value if c not in weights]
    if len(inside) != 1:
        return None
    value = "".join([names.get(c, "!") for c in value])
    result = "".join([names.get(c, "!") for c in result])
    if set(value) != {batch, head, k, "!"} or set(result) != {batch, head, q, "!"}:
        return None
    return [
        tuple([query.index(c) for c in (batch, head, q, feature[0])]),
        tuple([key.index(c) for c in (batch, head, k, feature[0])]),
        tuple([value.index(c) for c in (batch, head, k, "!")]),
        tuple([(batch, head, q, "!").index(c) for c in result]),
    ]


def _terms(equation: str) -> tuple[list[str], str]:
    given, _, out = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    return (terms, out) if len(terms) == 2 else (["", ""], out)


def _permuted(m: Matcher, x: object, axes: tuple[int, ...]) -> Any:
    if axes == (0, 1, 2, 3):
        return x
    import trellis

    return m.new(trellis.permute_dims, x, axes)


def _rank(x: object) -> int | None:
    return len(x.shape) if isinstance(x, Value) and x.shape is not None else None
