"""The losses of every example that trains, step by step, on MLX and on NumPy.

    python packages/mlx/benchmarks/curves.py

stores the largest differences (figures.py), in float32 and in float64.
"""

import contextlib
import importlib.util
import io
import os
from pathlib import Path
from typing import Any
from unittest import mock

import figures
import numpy as np

import trellis

EXAMPLES = Path(__file__).parents[3] / "examples"
# The examples that train; sentence_embeddings.py reads a model.
NAMES = ("mlp", "cnn", "lstm", "character_transformer", "custom_gradient", "four_backends", "pinn")


def curve(name: str, backend: str) -> list[float]:
    """The losses of all steps. The example itself is run; what it calls is watched."""
    losses: list[float] = []
    fit, compiler, execute = (
        trellis.train.fit, trellis.compile, trellis.execute_with_gradients
    )  # fmt: skip

    def watched_fit(*args: Any, **kwargs: Any) -> Any:
        history = fit(*args, **kwargs)
        losses.extend([float(x) for x in history.losses])
        return history

    def watched(fn: Any) -> Any:
        compiled = compiler(fn)

        def call(*args: Any) -> Any:
            result = compiled(*args)
            (loss,) = [x for x in result if getattr(x, "shape", None) == ()]
            losses.append(float(loss))
            return result

        return call

    def watched_execute(*args: Any) -> Any:
        result = execute(*args)
        losses.append(float(result[0]))
        return result

    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    example = importlib.util.module_from_spec(spec)
    with (
        mock.patch.object(trellis.train, "fit", watched_fit),
        mock.patch.object(trellis, "compile", watched),
        mock.patch.object(trellis, "execute_with_gradients", watched_execute),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        spec.loader.exec_module(example)
        example.main(backend)
    return losses


def distance(name: str, dtype: str) -> dict[str, Any]:
    """How far the two curves of an example are apart, at most, and at which step."""
    with trellis.using_default_dtype(dtype):
        found, wanted = [np.array(curve(name, backend)) for backend in ("mlx", "numpy")]
    assert len(found) == len(wanted) > 50 and np.isfinite(wanted).all(), name
    apart = np.abs(found - wanted)
    print(f"{name:24} {dtype} {len(found):4} steps, {apart.max():.1e} at step {apart.argmax() + 1}")
    return {"steps": len(found), "difference": float(apart.max()), "at": int(apart.argmax()) + 1}


def main() -> None:
    rows = {name: {k: distance(name, k) for k in ("float32", "float64")} for name in NAMES}
    figures.store("curves", rows)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
