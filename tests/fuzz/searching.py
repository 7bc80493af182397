"""Hypothesis looks for a call that the frameworks answer differently, and makes it small."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from .allowed import Allowed, reason_for
from .comparing import Difference, differences
from .drawing import STRATEGIES

# Four frameworks run each example, and compilers some: how long that takes says nothing.
UNTIMED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
SHRINK_SECONDS = 15


@dataclass
class Search:
    """What was tried so far, over all functions."""

    examples: dict[str, int] = field(default_factory=dict)
    used: set[Allowed] = field(default_factory=set)

    def run(
        self,
        op: str,
        seed: int,
        examples: int,
        known: Collection[tuple[Any, ...]] = (),
        modes: tuple[str, ...] = ("eager", "gradient", "eager", "gradient", "compiled"),
        shrink: bool = True,
    ) -> Difference | None:
        """The first difference that is neither allowed nor known, or None."""
        goal: list[tuple[Any, ...]] = []
        smallest: list[Difference] = []
        ends: list[float] = []

        def attempt(call: Any, mode: str) -> None:
            if (mode == "gradient" and not call.gradient) or (
                mode == "compiled" and not call.compiled
            ):
                mode = "eager"
            self.examples[op] = self.examples.get(op, 0) + 1
            if ends and time.monotonic() > ends[0]:
                raise KeyboardInterrupt  # the one thing that ends hypothesis at once
            for difference in differences(call, mode):
                key = difference.key
                if key in known or reason_for(difference, self.used) or goal not in ([], [key]):
                    continue
                if not goal:
                    ends.append(time.monotonic() + SHRINK_SECONDS)
                goal[:] = [key]
                smallest[:] = [difference]
                raise _FoundError

        phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
        search = hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=phases,
            suppress_health_check=UNTIMED,
            report_multiple_bugs=False,
            verbosity=hypothesis.Verbosity.quiet,
        )(hypothesis.given(STRATEGIES[op], st.sampled_from(modes))(attempt))
        try:
            hypothesis.seed(seed)(search)()
        except _FoundError:
            return smallest[0]
        except KeyboardInterrupt:
            if ends and time.monotonic() > ends[0]:
                return smallest[0]
            raise
        return None


class _FoundError(Exception):
    pass
