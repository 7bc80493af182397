"""Trains the demo on all four frameworks and keeps its losses: docs/data/demo_losses.json.

python tools/docs/demo_curves.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from trellis import demo
from trellis._core.dispatch import BACKENDS

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "demo_losses.json"
EPOCHS = 8


def main() -> None:
    losses, accuracies = {}, {}
    for backend in BACKENDS:
        curve, accuracies[backend] = demo.train(backend, EPOCHS)
        losses[backend] = [round(loss, 5) for loss in curve]
    DATA.parent.mkdir(exist_ok=True)
    kept = {"epochs": EPOCHS, "accuracies": accuracies, "losses": losses}
    DATA.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    print(f"written: {DATA}")


if __name__ == "__main__":
    main()
