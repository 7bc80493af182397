"""`trellis doctor`: what is installed, which backends work, and why others do not."""

import argparse
import os
import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core.installed import BackendInfo

SUMMARY = "versions, devices, and which backends work"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "--backend", action="append", metavar="NAME", help="only this one (several times: these)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; 1 if an installed backend does not work."""
    # TensorFlow announces its build on standard error otherwise.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from .. import __version__
    from .._core.dispatch import backend_names

    print(f"trellis {__version__}, Python {platform.python_version()}, {platform.platform()}")
    results = [_examine(name) for name in arguments.backend or backend_names()]
    return int(not all(results))


def _examine(name: str) -> bool:
    """Print one line about a backend; whether it is sound. One that is not installed is."""
    from .._core.dispatch import load
    from .._core.errors import TrellisError
    from .._core.installed import backends

    try:
        info = backends(name)
        if not info.problem and not info.is_installed:
            print(f"{name:<11} not installed: pip install '{info.distribution}'")
            return True
        backend = load(name)
        loss = _trained(name)
    except TrellisError as error:
        print(f"{name:<11} {error}")
        return False
    except Exception as error:  # whatever is wrong with the installation is what is asked for
        print(f"{name:<11} does not work: {type(error).__name__}: {error}")
        return False
    devices = ", ".join([str(device) for device in backend.__array_namespace_info__().devices()])
    is_right = abs(loss - _LOSS) < 1e-6  # in float32 the four differ by 9e-8
    verdict = "works" if is_right else f"trains to a loss of {loss:.8f}, not {_LOSS:.8f}"
    print(f"{name:<11} {_version(info)}; devices: {devices}; {verdict}")
    return is_right


def _version(info: "BackendInfo") -> str:
    from .._core.versions import NEWEST_TESTED, numbers

    version, tested = info.version, NEWEST_TESTED.get(info.name)
    if tested is not None and numbers(version)[:2] > numbers(tested):
        return f"{version} (newer than {tested}, the newest that was tested)"
    has_own_package = info.name not in NEWEST_TESTED
    return f"{version}, by {info.package}" if has_own_package else version


_LOSS = 0.3069112  # of `_trained`, on every backend


def _trained(name: str) -> float:
    """A small model after ten steps: gradients, random numbers, modules and optimizers."""
    import trellis
    from trellis import nn, optim

    with trellis.using_backend(name), trellis.random.stream(0):
        x = trellis.random_uniform(shape=(16, 3))
        model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.Adam(lr=0.05)
    v, state, loss = model.v, optimizer.init(model.v), x
    for _ in range(10):
        loss, grads = trellis.value_and_grad(lambda v: trellis.mean((model(x, v=v) - 0.5) ** 2))(v)
        v, state = optimizer.update(v, grads, state)
    return float(loss)
