"""The progress bar: epoch, steps, loss, learning rate and metrics on one line."""

import sys
from importlib.util import find_spec
from typing import Any


class Progress:
    """A bar of tqdm, or nothing at all."""

    def __init__(self, is_shown: bool, total: int | None, done: int, name: str):
        self._bar: Any = None
        if is_shown:
            # Here, so that `import trellis` does not pay for it.
            is_terminal = sys.stderr.isatty()
            self._bar = _bar()(
                total=total,
                initial=done,
                desc=name,
                unit="step",
                dynamic_ncols=is_terminal,
                # A log file gets a line now and then, not ten a second.
                mininterval=0.1 if is_terminal else 2.0,
            )

    @property
    def is_shown(self) -> bool:
        return self._bar is not None

    def describe(self, text: str) -> None:
        if self._bar is not None:
            self._bar.set_description(text, refresh=False)

    def advance(self) -> None:
        if self._bar is not None:
            self._bar.update()

    def show(self, values: dict[str, float]) -> None:
        if self._bar is not None:
            self._bar.set_postfix(
                {name: f"{value:.4g}" for name, value in values.items()}, refresh=False
            )

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar() -> Any:
    """tqdm's bar: in notebooks that show widgets, the one made of them."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    is_notebook = running is not None and "IPKernelApp" in running.config
    if is_notebook and find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as notebook_bar

        return notebook_bar
    from tqdm import tqdm

    return tqdm
