"""Names and shapes of tensors in what torch.save has pickled, without unpickling it.

A pickle is a program for a small stack machine. Here its instructions are looked at and never
obeyed: a class is a name, a call is a tuple of the name and its arguments, and nothing is imported.
"""

import pickletools
from typing import Any

from ..signature import Port
from .damage import Damaged

_MARK = object()
_MOST = 1_000_000  # values that are visited
_AXES = 64
_REBUILD = ("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter")
_TYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip


class _Call:
    """A call that was not made."""

    def __init__(self, name: Any, args: Any):
        self.name, self.args = name, args


def tensors_in(content: bytes) -> list[Port]:
    """The tensors of a pickle by the keys that lead to them."""
    found: list[Port] = []
    try:
        _Visit(found).collect(_look(content), ())
    except Damaged:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"its pickle cannot be followed: {error}.") from error
    return found


def _look(content: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    for opcode, argument, _ in pickletools.genops(content):
        name = opcode.name
        if name in ("PROTO", "FRAME"):
            continue
        if name == "STOP":
            return stack[-1]
        if name in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
            memo[len(memo) if argument is None else int(argument)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo[int(argument or 0)])
        elif name == "MARK":
            stack.append(_MARK)
        elif name in _MAKING:
            stack.append(_MAKING[name](argument))
        elif name in _USING:
            _USING[name](stack)
        else:
            stack.append(argument)  # a number or text
    raise Damaged("its pickle has no end.")


def _since_mark(stack: list[Any]) -> list[Any]:
    at = len(stack) - 1
    while stack[at] is not _MARK:
        at -= 1
        if at < 0:
            raise Damaged("its pickle ends what it did not begin.")
    found = stack[at + 1 :]
    del stack[at:]
    return found


def _tuple(count: int) -> Any:
    def use(stack: list[Any]) -> None:
        found = tuple(stack[len(stack) - count :])
        del stack[len(stack) - count :]
        stack.append(found)

    return use


def _set_items(stack: list[Any], items: list[Any]) -> None:
    target = stack[-1]
    pairs = [(key, value) for key, value in zip(items[::2], items[1::2])]
    if isinstance(target, _Call):  # an OrderedDict, say
        if not isinstance(target.args, list):
            target.args = list(target.args)
        target.args.extend(pairs)
    elif isinstance(target, dict):
        target.update([(_key(key), value) for key, value in pairs])


def _append(stack: list[Any], items: list[Any]) -> None:
    if isinstance(stack[-1], list):
        stack[-1].extend(items)


def _call(stack: list[Any]) -> None:
    args, name = stack.pop(), stack.pop()
    stack.append(_Call(name, args))


def _global(stack: list[Any]) -> None:
    name, module = stack.pop(), stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise Damaged("its pickle names something by what is no text.")
    stack.append(f"{module} {name}")


def _drop_state(stack: list[Any]) -> None:
    stack.pop()


def _one_item(stack: list[Any]) -> None:
    value, key = stack.pop(), stack.pop()
    _set_items(stack, [key, value])


def _one_more(stack: list[Any]) -> None:
    value = stack.pop()
    _append(stack, [value])


def _items(stack: list[Any]) -> None:
    found = _since_mark(stack)
    _set_items(stack, found)


def _appends(stack: list[Any]) -> None:
    found = _since_mark(stack)
    _append(stack, found)


_MAKING: dict[str, Any] = {
    "EMPTY_DICT": lambda _: {},
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
    "EMPTY_SET": lambda _: [],
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "GLOBAL": lambda name: name,
}
_USING: dict[str, Any] = {
    "TUPLE": lambda stack: stack.append(tuple(_since_mark(stack))),
    "LIST": lambda stack: stack.append(_since_mark(stack)),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "SETITEM": _one_item,
    "SETITEMS": _items,
    "APPEND": _one_more,
    "APPENDS": _appends,
    "ADDITEMS": _appends,
    "REDUCE": _call,
    "NEWOBJ": _call,
    "STACK_GLOBAL": _global,
    "BUILD": _drop_state,
    "BINPERSID": lambda stack: stack.append(_Call("stored", stack.pop())),
    "POP": lambda stack: stack.pop(),
    "POP_MARK": _since_mark,
    "DUP": lambda stack: stack.append(stack[-1]),
}


class _Visit:
    """Collects tensors. What is shared is visited once for each way that leads to it, as in a state
    dict with tied weights; a few bytes can make more ways than can ever be followed."""

    def __init__(self, found: list[Port]):
        self._found = found
        self._left = _MOST

    def collect(self, value: Any, path: tuple[str, ...]) -> None:
        """The tensors of a value and of what it holds."""
        self._left -= 1
        if self._left < 0:
            raise Damaged(f"its pickle has more than {_MOST} values or characters in names.")
        if isinstance(value, _Call):
            name = "/".join(path) or "tensor"
            port = _tensor(value, name)
            if port is not None:
                self._found.append(port)
                self._left -= len(name) // 100
                return
            for item in value.args if isinstance(value.args, (list, tuple)) else ():
                if isinstance(item, tuple) and len(item) == 2:
                    self.collect(item[1], (*path, _key(item[0])))
        elif isinstance(value, dict):
            for key, item in value.items():
                self.collect(item, (*path, str(key)))
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                self.collect(item, (*path, str(i)))


def _tensor(call: _Call, name: str) -> Port | None:
    if call.name == _REBUILD[1] and isinstance(call.args[0], _Call):
        return _tensor(call.args[0], name)
    if call.name != _REBUILD[0]:
        return None
    storage, shape = call.args[0], call.args[2]
    if not isinstance(storage.args[1], str) or len(shape) > _AXES:
        raise Damaged("a tensor in its pickle has no type, or too many axes.")
    kind = storage.args[1].rpartition(" ")[2].removesuffix("Storage")
    return Port(name, tuple([int(size) for size in shape]), _TYPES.get(kind, kind))


def _key(key: Any) -> str:
    return str(key) if isinstance(key, (str, int, float)) else type(key).__name__
