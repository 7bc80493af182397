"""What of a model is trained: patterns of `fit(trainable=...)`, and optimizers that freeze a part.

An optimizer with `split` says which variables it trains: `fit` differentiates with respect to those
alone. Here an optimizer without groups gets one.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._core.container import Container
from .._core.errors import ArgumentError
from .._core.patterns import as_patterns, matches, require_matches
from .._core.typing import Nest
from .._gradients.transforms import WhenUnreached, differentiated

if TYPE_CHECKING:
    from ..nn.module.module import Module


def frozen_in(model: "Module") -> list[str]:
    """The key paths of variables that are frozen for good: by the source of a converted model, or
    under adapters."""
    # Who has a model has imported these; `import trellis.train` need not.
    from ..nn.adapters.managing import untrained
    from ..nn.adapters.targets import chain_from
    from ..nn.module.queries import below

    frozen = untrained(model)
    for module in below(model):
        own = chain_from(module, model)
        frozen += [f"{own}/{chain}" if own else chain for chain in getattr(module, "frozen", ())]
    return frozen


def trained_by(model: "Module", optimizer: Any, trainable: str | Sequence[str] | None) -> Any:
    """The optimizer, of only the variables that are trained."""
    from ..optim.grouping import Groups

    if isinstance(optimizer, Groups):
        if trainable is not None:
            raise ArgumentError(
                "fit() got trainable, and an optimizer of groups, which says itself what is "
                "trained: write groups(..., frozen=[...]), and leave trainable out."
            )
        return optimizer
    frozen = frozen_in(model)
    if trainable is None and not frozen:
        return optimizer
    chains = model.v.key_chains()
    patterns = ("*",) if trainable is None else as_patterns("fit", "trainable", trainable)
    require_matches("fit", patterns, chains)
    chosen = [chain for chain in chains if any([matches(p, chain) for p in patterns])]
    if trainable is None:
        chosen = [chain for chain in chosen if chain not in frozen]
    if chains and not chosen:
        raise ArgumentError(_nothing_trained(model, trainable))
    return optimizer if len(chosen) == len(chains) else Trained(optimizer, chosen)


def _nothing_trained(model: "Module", trainable: object) -> str:
    from ..nn.adapters.managing import are_merged

    if trainable is not None:
        return f"fit() got trainable={trainable!r}, which names nothing to be trained."
    if are_merged(model):
        return (
            "The adapters of this model are merged into its weights, so nothing would be trained: "
            "call nn.adapters.unmerge(model) first, or nn.adapters.remove(model) to train the "
            "weights."
        )
    return (
        "All variables of this model are frozen, so nothing would be trained. Activate adapters "
        'with nn.adapters.activate(), or name what is trained: fit(..., trainable="head/*").'
    )


class Trained:
    """An optimizer that sees only some of the variables; its state is that of those alone."""

    def __init__(self, optimizer: Any, chains: Sequence[str]):
        self._optimizer, self._chains = optimizer, list(chains)

    @property
    def state(self) -> Any:
        """The state of the optimizer itself."""
        return self._optimizer.state

    @state.setter
    def state(self, new: Any) -> None:
        self._optimizer.state = new

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy that is being made has no optimizer yet
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def split(self, v: Container, /) -> tuple[Container, Container]:
        """The variables that are trained, and the others."""
        free, rest = Container(), Container()
        for chain in v.key_chains():
            part = free if chain in self._chains else rest
            part[chain] = v[chain]
        return free, rest

    def join(self, v: Container, free: Container, /) -> Container:
        """All variables, with new ones for those that are trained."""
        new = v.copy()
        for chain in self._chains:
            new[chain] = free[chain]
        return new

    def averaged(self, v: Container, state: Any, /) -> Container:
        """All variables, with the average of those that are trained."""
        return self.join(v, self._optimizer.averaged(self.split(v)[0], state))

    def finished(self, v: Container, state: Any, /) -> tuple[Container, Any]:
        """What a run leaves, of an optimizer that keeps an average."""
        free, left = self._optimizer.finished(self.split(v)[0], state)
        return self.join(v, free), left

    def resumed(self, v: Container, state: Any, /) -> tuple[Container, Any]:
        """What it goes on with."""
        free, begun = self._optimizer.resumed(self.split(v)[0], state)
        return self.join(v, free), begun

    def init(self, v: Container, /) -> Any:
        """The first state, of what is trained."""
        return self._optimizer.init(self.split(v)[0])

    def update(self, v: Container, grads: Container, state: Nest, /) -> tuple[Container, Any]:
        """New variables and state; `grads` are of what is trained."""
        new, new_state = self._optimizer.update(self.split(v)[0], grads, state)
        return self.join(v, new), new_state


def keeps_average(optimizer: Any) -> bool:
    """Whether the variables to evaluate are others than those that an optimizer trains; it says how
    they are had (`optim.accumulation`)."""
    return bool(getattr(optimizer, "keeps_average", False))


def gradients_by(
    optimizer: Any, loss_of: Callable[..., Any], when_unreached: WhenUnreached | None
) -> Callable[[Container], Any]:
    """`value_and_grad` with auxiliary results, with respect to what the optimizer trains."""
    if not hasattr(optimizer, "split"):
        return differentiated(loss_of, 0, True, when_unreached)

    def evaluate(v: Container) -> Any:
        def loss_of_free(free: Container) -> Any:
            return loss_of(optimizer.join(v, free))

        return differentiated(loss_of_free, 0, True, when_unreached)(optimizer.split(v)[0])

    return evaluate


def gradients_like(optimizer: Any, v: Container) -> Container:
    """A pytree of the structure that the gradients have."""
    free: Container = optimizer.split(v)[0] if hasattr(optimizer, "split") else v
    return free
