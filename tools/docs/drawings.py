"""The drawings of `How it works`: the layers, a call, the tape, a converted model."""

from __future__ import annotations

from svg import Drawing, Palette

FRAMEWORKS = ("NumPy", "JAX", "PyTorch", "TensorFlow")


def house(colours: Palette) -> str:
    """The layers, and the packages of each."""
    picture = Drawing(760, 430, colours, "Layers and data flow")
    left, right = 30, 730
    rows: list[tuple[str, list[tuple[str, str]]]] = [
        (
            "what users import",
            [("trellis, trellis.nn, trellis.optim, ...", "public modules: only re-export")],
        ),
        (
            "L5",
            [("train", "loops, checkpoints"), ("convert", "models in"), ("testing", "comparing")],
        ),
        (
            "L4",
            [
                ("functional", "layers as functions"),
                ("nn", "modules"),
                ("optim", "optimizers"),
                ("graph", "the small graph"),
            ],
        ),
        ("L3", [("arrays", ""), ("random", ""), ("gradients", "")]),
        ("L2", [(name, "backend") for name in FRAMEWORKS]),
        ("L0-1", [("dispatch, data types, pytrees, settings, errors, files", "the core")]),
    ]
    y = 20
    for floor, rooms in rows:
        picture.text(left, y + 32, floor if len(floor) < 5 else "", anchor="start", size=12)
        start = left + 50
        gap = 10
        width = (right - start - gap * (len(rooms) - 1)) / len(rooms)
        for i, (name, what) in enumerate(rooms):
            is_strong = floor == "L2"
            picture.box(start + i * (width + gap), y, width, 52, name, below=what, strong=is_strong)
        y += 66
    picture.text(
        left + 50,
        y + 6,
        "A package imports only packages below it. Frameworks are imported only in L2.",
        anchor="start",
        size=12,
    )
    return picture.svg()


def dispatch(colours: Palette) -> str:
    """One call, from the user's array to the framework and back."""
    picture = Drawing(760, 190, colours, "A call: the arrays decide")
    picture.box(20, 60, 150, 60, "trellis.abs(x)", below="x: a torch.Tensor", code=True)
    picture.arrow(170, 90, 232, 90, "type(x)")
    picture.box(236, 60, 150, 60, "table of types", below="one look-up")
    picture.arrow(386, 90, 448, 90, "backend")
    for i, name in enumerate(FRAMEWORKS):
        picture.box(452, 12 + 43 * i, 120, 36, name, strong=name == "PyTorch")
    picture.arrow(572, 116, 628, 96, "")
    picture.box(632, 60, 112, 60, "torch.abs(x)", below="a torch.Tensor", code=True)
    return picture.svg()


def tape(colours: Palette) -> str:
    """Reverse mode on NumPy."""
    picture = Drawing(760, 230, colours, "The tape on NumPy")
    steps = ["x", "sin", "square", "sum"]
    for i, name in enumerate(steps):
        x = 40 + 180 * i
        picture.box(x, 30, 120, 50, name, strong=name == "x", code=True)
        if i:
            picture.arrow(x - 60, 55, x - 4, 55, "recorded")
    backward = ["gradient of x", "derivative of sin", "derivative of square", "1"]
    inside = ["", "g · cos(x)", "g · 2y", ""]
    for i, name in enumerate(backward):
        x = 40 + 180 * i
        picture.box(x, 140, 120, 50, name, below=inside[i], strong=i == 0)
        if i < 3:
            picture.arrow(x + 180, 165, x + 124, 165, "g")
        picture.line(x + 60, 80, x + 60, 140, dashed=True)
    picture.text(40, 20, "forward: each call is recorded", anchor="start", size=12)
    picture.text(40, 214, "backward: the derivatives run in reverse", anchor="start", size=12)
    return picture.svg()


def graph(colours: Palette) -> str:
    """From a foreign model to what it can do here."""
    picture = Drawing(760, 250, colours, "A converted model")
    sources = ["torch.export", "ONNX file", "jaxpr", "TensorFlow graph"]
    for i, name in enumerate(sources):
        y = 16 + 56 * i
        picture.box(16, y, 140, 44, name)
        picture.arrow(156, y + 22, 222, 112 + 9 * i, "reader" if i == 0 else "")
    picture.box(226, 90, 150, 70, "Graph", below="variables, nodes", strong=True)
    picture.arrow(376, 125, 436, 125, "passes")
    picture.box(440, 96, 120, 58, "smaller Graph", below="constants folded")
    targets = [
        ("run on all four", "public functions"),
        ("train it", "gradients, fit"),
        ("source code", "readable Python"),
    ]
    for i, (name, what) in enumerate(targets):
        y = 20 + 76 * i
        picture.arrow(560, 125, 606, y + 29)
        picture.box(610, y, 136, 58, name, below=what)
    return picture.svg()


ALL = {"house": house, "dispatch": dispatch, "tape": tape, "graph": graph}
