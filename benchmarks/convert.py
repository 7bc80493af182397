"""What does a converted model cost, compared with its source?

BERT (4 layers of width 256, 4 x 64 words) and a ResNet of 18 layers (4 images of 64 x 64), forward,
on one core: transformers' own on torch, eager and compiled; hand-written JAX over the same weights.
Then the time that conversion takes beyond torch's own exporter, and the memory of a process that
serves the model.

    python benchmarks/convert.py [--quick]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import QUICK, Report, one_core

one_core()
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np

import trellis
from trellis import convert

EAGER, COMPILED, MEMORY = 1.5, 1.1, 1.2
HEADS = 4


def network(name):
    """The model of transformers, its arguments, and the key of the output that is compared."""
    import torch
    from transformers import BertConfig, BertModel, ResNetConfig, ResNetModel

    torch.manual_seed(0)
    if name == "bert":
        config = BertConfig(
            hidden_size=256, num_hidden_layers=4, num_attention_heads=HEADS, intermediate_size=1024
        )
        words = torch.randint(0, 30000, (4, 64))
        return BertModel(config).eval(), {
            "input_ids": words,
            "attention_mask": torch.ones_like(words),
        }
    config = ResNetConfig(
        embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic"
    )
    model = ResNetModel(config).eval()
    for layer in model.modules():  # statistics as after training, not zeros and ones
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
    return model, {"pixel_values": torch.randn(4, 3, 64, 64)}


def native_in_jax(name, model, kwargs):
    import jax
    import jax.numpy as jnp
    from native import networks_in_jax

    p = {key: jnp.asarray(x.numpy()) for key, x in model.state_dict().items()}
    if name == "bert":
        ids, mask = [jnp.asarray(x.numpy().astype("int32")) for x in kwargs.values()]
        return jax.jit(lambda p, ids, mask: networks_in_jax.bert(p, ids, mask, HEADS)), (
            p,
            ids,
            mask,
        )
    return jax.jit(networks_in_jax.resnet), (p, jnp.asarray(kwargs["pixel_values"].numpy()))


def measure_torch(report, name):
    import torch

    model, kwargs = network(name)
    ours = convert.from_torch(model, kwargs=kwargs, to="torch")
    compiled_theirs, compiled_ours = torch.compile(model), trellis.compile(ours)
    for mode, limit, theirs, mine in (
        ("eager", EAGER, model, ours),
        ("compiled", COMPILED, compiled_theirs, compiled_ours),
    ):
        if QUICK and mode == "compiled":
            continue
        with torch.no_grad():
            expected = theirs(**kwargs)["last_hidden_state"].numpy()
            found = mine(**kwargs)["last_hidden_state"].numpy()
        np.testing.assert_allclose(found, expected, atol=1e-4 * abs(expected).max())

        def run(fn):
            def call():
                with torch.no_grad():
                    fn(**kwargs)

            return call

        row = {"native": run(theirs), "trellis": run(mine)}
        report.add(f"torch {name}, {mode}", row, limit=limit)


def measure_jax(report, name):
    import jax

    model, kwargs = network(name)
    ours = convert.from_torch(model, kwargs=kwargs, to="jax")
    inputs = {
        key: trellis.asarray(
            x.numpy().astype("int32") if name == "bert" else x.numpy(), backend="jax"
        )
        for key, x in kwargs.items()
    }
    fn, args = native_in_jax(name, model, kwargs)
    mine = trellis.compile(lambda v, inputs: ours(v=v, **inputs)["last_hidden_state"])
    expected = np.asarray(fn(*args))
    np.testing.assert_allclose(
        np.asarray(mine(ours.v, inputs)), expected, atol=1e-4 * abs(expected).max()
    )
    report.add(
        f"jax {name}, compiled",
        {
            "native": lambda: jax.block_until_ready(fn(*args)),
            "trellis": lambda: jax.block_until_ready(mine(ours.v, inputs)),
        },
        limit=COMPILED,
    )


def measure_conversion(report, name):
    """Seconds beyond the exporter's own, and for each hundred calls of the graph."""
    import torch

    model, kwargs = network(name)
    torch.export.export(model, (), kwargs, strict=False)  # what only the first export pays
    start = time.process_time()
    torch.export.export(model, (), kwargs, strict=False)
    middle = time.process_time()
    found = convert.from_torch(model, kwargs=kwargs, to="torch", verify=False)
    end = time.process_time()
    extra = (end - middle) - (middle - start)
    each = extra / max(len(found.graph.nodes), 1) * 100
    report.notes.append(
        f"Converting {name}, {len(found.graph.nodes)} calls: {middle - start:.2f} s in torch's "
        f"exporter and {extra:.2f} s beyond it, {each:.2f} s for a hundred calls (limit 1)."
    )
    print(report.notes[-1], flush=True)


def serve(name, folder, who):
    """In a process of its own: load, run, and print the most memory it had, in megabytes."""
    import torch

    if who == "native":
        model, kwargs = network(name)
        model.load_state_dict(torch.load(Path(folder) / "state.pt", mmap=True))
    else:
        space = {}
        exec((Path(folder) / "model.py").read_text(), space)
        model = space["Model"](backend="torch").eval()
        model.load_weights(Path(folder) / "weights.safetensors")
        kwargs = dict(torch.load(Path(folder) / "inputs.pt"))
    with torch.no_grad():
        for _ in range(3):
            model(**kwargs)
    print(most_memory())


def most_memory():
    """In megabytes. Not getrusage: that counts the process that started this one too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure_memory(report, name):
    import torch

    with tempfile.TemporaryDirectory() as folder:
        model, kwargs = network(name)
        found = convert.from_torch(model, kwargs=kwargs, to="torch", verify=False)
        (Path(folder) / "model.py").write_text(found.to_source("Model"))
        found.save_weights(Path(folder) / "weights.safetensors")
        torch.save(model.state_dict(), Path(folder) / "state.pt")
        torch.save(kwargs, Path(folder) / "inputs.pt")
        taken = {}
        for who in ("native", "trellis"):
            command = [sys.executable, __file__, "--serve", name, folder, who]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            taken[who] = float(done.stdout.splitlines()[-1])
    ratio = taken["trellis"] / taken["native"]
    report.notes.append(
        f"Memory of a process that serves {name} on torch: {taken['native']:.0f} MB with "
        f"transformers, {taken['trellis']:.0f} MB converted, {ratio:.2f} times (limit {MEMORY})."
    )
    print(report.notes[-1], flush=True)


def main():
    report = Report("convert", "A converted model, forward, compared with its source")
    for name in ("bert",) if QUICK else ("bert", "resnet"):
        measure_torch(report, name)
        measure_jax(report, name)
        measure_conversion(report, name)
        measure_memory(report, name)
    report.save()


if __name__ == "__main__":
    serve(*sys.argv[2:5]) if "--serve" in sys.argv else main()
