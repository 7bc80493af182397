"""Questions about the tree of modules: parents, children and their names."""

from collections.abc import Iterator
from typing import Any

from ..._core.container import Container
from ..._core.errors import ArgumentError
from ..._core.typing import Array
from .node import Owner
from .variables import variables


class TreeQueries(Owner):
    """The part of `Module` that answers questions about the tree. No name depends on memory
    addresses."""

    def top_mod(self, depth: int | None = None) -> Any:
        """The module `depth` steps up, at most the root; None gives the root, 0 the module
        itself."""
        if depth is not None and depth < 0:
            raise ArgumentError(
                f"top_mod() expects a depth of 0 or more, or None for the root, got {depth}."
            )
        node, steps = self.__node__, 0
        while node.link is not None and (depth is None or steps < depth):
            node, steps = node.link.parent, steps + 1
        return node.owner

    def parameters(self) -> Iterator[tuple[str, Array]]:
        """The variables of this module and all modules below, each with its key path.

        >>> import trellis
        >>> [(name, x.shape) for name, x in trellis.nn.Linear(2, 3).parameters()]
        [('b', (3,)), ('w', (3, 2))]
        """
        v = variables(self.__node__)
        return iter([(chain, v[chain]) for chain in v.key_chains()])

    def top_v(self, depth: int | None = None, flatten_key_chains: bool = False) -> Container:
        """The variables of `top_mod(depth)`."""
        return _flattened(self.top_mod(depth).v, flatten_key_chains)

    def mod_depth(self) -> int:
        """How many modules are above this one; a root has 0."""
        depth, link = 0, self.__node__.link
        while link is not None:
            depth, link = depth + 1, link.parent.link
        return depth

    def mod_height(self) -> int:
        """The longest way down the tree of modules; one without children has 0."""
        heights = [child.mod_height() for child in self.__node__.children.values()]
        return 1 + max(heights) if heights else 0

    def sub_mods(
        self, *, show_v: bool = True, depth: int | None = None, flatten_key_chains: bool = False
    ) -> Any:
        """The modules below by name, in the order of registration; at the leaves their variables.

        With `show_v=False` the leaves are "". `depth` limits how far down to go; 0 gives the
        variables of this module.
        """
        children = self.__node__.children
        if depth == 0 or not children:
            return _flattened(variables(self.__node__), flatten_key_chains) if show_v else ""
        below = Container(alphabetical_keys=False)
        for key, child in children.items():
            below[key] = child.sub_mods(show_v=show_v, depth=None if depth is None else depth - 1)
        return _flattened(below, flatten_key_chains)

    def v_with_top_v_key_chains(
        self, *, depth: int | None = None, flatten_key_chains: bool = False
    ) -> Container:
        """Only the variables of this module, at their place in `top_v(depth)`."""
        nested = variables(self.__node__)
        top, node = self.top_mod(depth).__node__, self.__node__
        while node is not top:
            assert node.link is not None, "top_mod() only goes up along the links"
            for key in reversed(node.link.path):
                nested = Container({key: nested})
            node = node.link.parent
        return _flattened(nested, flatten_key_chains)

    def get_mod_key(self, *, top_mod: Owner | None = None) -> str:
        """A name such as "  Linear_2": one space per level, the class, and a number within the
        tree.

        The number counts the modules of that class name below `top_mod` (None: the root), children
        before their parents.
        """
        name, number = type(self).__name__, 0
        for module in below(self.top_mod() if top_mod is None else top_mod):
            if module is self:
                break
            number += type(module).__name__ == name
        return f"{' ' * self.mod_depth()}{name}_{number}"

    def mod_with_top_mod_key_chain(self, *, depth: int | None = None) -> list[str]:
        """The names from `top_mod(depth)`, which is called by its class, down to this module."""
        top, node = self.top_mod(depth).__node__, self.__node__
        keys: list[str] = []
        while node is not top:
            assert node.link is not None, "top_mod() only goes up along the links"
            keys.insert(0, node.link.key)
            node = node.link.parent
        return [type(top.owner).__name__, *keys]


def below(module: Owner) -> list[Any]:
    """All modules of a tree, each once, children before parents."""
    ordered: list[Any] = []
    seen: set[int] = set()

    def visit(module: Owner) -> None:
        seen.add(id(module))
        for child in module.__node__.children.values():
            if id(child) not in seen:
                visit(child)
        ordered.append(module)

    visit(module)
    return ordered


def _flattened(container: Container, is_wanted: bool) -> Container:
    return container.flat("__") if is_wanted else container
