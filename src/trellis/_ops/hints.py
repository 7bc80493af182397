"""Which operation a name of another library means."""

from . import TABLE
from .record import FRAMEWORKS

# Names that users type and that are no framework's name in the table.
_ALSO = {
    "cat": "concat",
    "concatenate": "concat",
    "clamp": "clip",
    "power": "pow",
    "mod": "remainder",
    "transpose": "permute_dims",
    "view": "reshape",
}


def ours_for(name: str) -> str | None:
    """The operation that other libraries call `name`, by its full name; None if there is none.

    >>> ours_for("cat"), ours_for("softmax"), ours_for("clamp"), ours_for("nothing")
    ('trellis.concat', 'trellis.functional.softmax', 'trellis.clip', None)
    """
    if name in _ALSO:
        return f"trellis.{_ALSO[name]}"
    for op in TABLE.values():
        theirs = [op.counterpart(framework) or "" for framework in FRAMEWORKS]
        if name in [path.rpartition(".")[2] for path in (op.name, *theirs)]:
            return f"trellis.{op.name}"
    read = [op.name for op in TABLE.values() if name in " ".join(op.reads.values()).split()]
    return f"trellis.{read[0]}" if read else None
