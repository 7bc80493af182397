"""LoRA and DoRA: against PEFT's outputs and files, merged and not, trained, several, converted."""

import copy
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import trellis
from conftest import compile_with
from oracles import torch
from trellis import errors, models, nn, optim
from trellis.conformance.compilers import forget_programs
from trellis.testing import assert_close
from trellis.train import fit

CLOSE = {"rtol": 0, "atol": 1e-6}  # what the formats promise: float32 in another order
SMALL = {"vocab_size": 30, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32,
         "num_hidden_layers": 2}  # fmt: skip
TOKENS = np.array([[2, 7, 3, 9], [1, 5, 20, 4]], "int32")
# The model here, its configuration, the class in transformers, layers for adapters in PEFT's words
# and as patterns.
PAIRS = {
    "llama": ("Llama", "LlamaConfig", SMALL, "LlamaForCausalLM", ["q_proj", "v_proj", "down_proj"],
              ["*/query", "*/value", "*/down"]),
    "bert": ("Bert", "BertConfig", {**SMALL, "max_position_embeddings": 16},
             "BertForSequenceClassification", ["query", "attention.output.dense"],
             ["*/query", "*/attention/out"]),
    "gpt2": ("GPT2", "GPT2Config",
             {"vocab_size": 30, "n_embd": 16, "n_head": 2, "n_layer": 2, "n_positions": 16},
             "GPT2LMHeadModel", ["c_attn", "mlp.c_proj", "wte"],
             ["*/inputs", "*/outer", "words"]),
}  # fmt: skip


def pair(name, folder):
    """The same model in transformers and, from its file, here."""
    import transformers

    ours, config, sizes, theirs, _, _ = PAIRS[name]
    torch.manual_seed(0)
    given = getattr(transformers, config)(**sizes)
    source = getattr(transformers, theirs)(given).eval()
    source.save_pretrained(folder)
    return source, ours


def ours_from(folder, backend):
    return models.from_pretrained(folder, backend=backend).eval()


def random_adapters(model, seed=0):
    """Adapters as if they were trained: none of their parts is zero."""
    random = np.random.default_rng(seed)
    v = model.v.copy()
    for chain in v.key_chains():
        if "/adapters/" in f"/{chain}":
            x = trellis.to_numpy(v[chain])
            new = (x + 0.3 * random.normal(size=x.shape)).astype(x.dtype)
            v[chain] = trellis.asarray(new, backend=trellis.backend_of(v[chain]))
    model.v = v
    return model


def as_array(tokens, backend):
    return trellis.asarray(tokens, backend=backend)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("variant", ["lora", "dora"])
@pytest.mark.parametrize("name", PAIRS)
def test_files_of_peft(name, variant, backend, tmp_path):
    """PEFT's file here, and ours in PEFT: the same outputs both ways."""
    peft = pytest.importorskip("peft")
    source, _ = pair(name, tmp_path / "base")
    modules = [m for m in PAIRS[name][4] if variant == "lora" or m != "wte"]
    config = peft.LoraConfig(r=3, lora_alpha=5, target_modules=modules, lora_dropout=0.1,
                             use_dora=variant == "dora", init_lora_weights=False,
                             fan_in_fan_out=name == "gpt2")  # fmt: skip
    theirs = peft.get_peft_model(copy.deepcopy(source), config).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    tokens = torch.as_tensor(TOKENS)
    with torch.no_grad():
        plain, expected = source(tokens).logits.numpy(), theirs(tokens).logits.numpy()
    ours = ours_from(tmp_path / "base", backend)
    nn.adapters.load(ours, tmp_path / "theirs")
    assert np.abs(plain - expected).max() > 1e-4
    assert_close(ours(as_array(TOKENS, backend)), expected, backend=backend, **CLOSE)

    where = [p for p in PAIRS[name][5] if variant == "lora" or p != "words"]
    mine = nn.lora(ours_from(tmp_path / "base", backend), 2, where, alpha=3.0, variant=variant)
    nn.adapters.save(random_adapters(mine), tmp_path / "ours")
    read = peft.PeftModel.from_pretrained(copy.deepcopy(source), tmp_path / "ours").eval()
    with torch.no_grad():
        found = read(tokens).logits.numpy()
    assert_close(mine(as_array(TOKENS, backend)), found, backend=backend, **CLOSE)
    assert np.abs(plain - found).max() > 1e-4


@pytest.mark.needs("torch")
def test_converted_models(backend, tmp_path):
    """Matrices of a graph: their adapters are PEFT's for the torch module it came from."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    source = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    x = torch.randn(6, 4)
    model = trellis.convert.from_torch(source, (x,), to=backend)
    config = peft.LoraConfig(r=2, target_modules=["0", "2"], use_dora=True, init_lora_weights=False)
    theirs = peft.get_peft_model(source, config).eval()
    theirs.save_pretrained(tmp_path)
    nn.adapters.load(model, tmp_path)
    ours = model(trellis.asarray(x.numpy(), backend=backend))
    assert_close(ours, theirs(x).detach().numpy(), backend=backend, **CLOSE)
    nn.adapters.save(model, tmp_path / "again")
    first = load_file(tmp_path / "adapter_model.safetensors")
    second = load_file(tmp_path / "again" / "adapter_model.safetensors")
    assert sorted(first) == sorted(second)
    assert all((first[key] == second[key]).all() for key in first)


class Net(trellis.Module):
    def __init__(self, **options):
        self.words = nn.Embedding(9, 4)
        self.attention = nn.MultiHeadAttention(4, num_heads=2)
        self.head = nn.Linear(4, 3)
        super().__init__(**options)

    def _forward(self, indices):
        x = self.words(indices)
        return self.head(self.attention(x))


def net(backend):
    trellis.seed(0)
    return Net(backend=backend)


@pytest.mark.parametrize("variant", ["lora", "dora"])
def test_merging(backend, variant):
    """Merged, the outputs are the same up to rounding; unmerged, the weights are the old bits."""
    model, x = net(backend), as_array(TOKENS % 9, backend)
    before = {chain: trellis.to_numpy(model.v[chain]).copy() for chain in model.v.key_chains()}
    plain = trellis.to_numpy(model(x))
    where = ["*"] if variant == "lora" else ["attention/*", "head"]
    nn.lora(model, 2, where, variant=variant)
    # Adapters begin without effect: exactly, but for the ratio of DoRA, which may be one ulp off.
    assert_close(model(x), plain, rtol=0, atol=0 if variant == "lora" else 1e-6, backend=backend)
    random_adapters(model)
    adapted = trellis.to_numpy(model(x))
    assert np.abs(adapted - plain).max() > 1e-2
    chains = model.v.key_chains()
    nn.adapters.merge(model)
    assert_close(model(x), adapted, rtol=1e-5, atol=1e-5, backend=backend)
    nn.adapters.unmerge(model)
    assert all((trellis.to_numpy(model.v[c]) == w).all() for c, w in before.items())
    assert model.v.key_chains() == chains
    assert_close(model(x), adapted, rtol=0, atol=1e-7, backend=backend)
    nn.adapters.remove(nn.adapters.merge(model))
    assert model.v.key_chains() == sorted(before)
    assert_close(model(x), adapted, rtol=1e-5, atol=1e-5, backend=backend)


def test_merged_adapters_are_not_trained_in_silence():
    """Merged, they have no effect of their own, and what they lie on is frozen."""
    model = nn.lora(net("numpy"), 2, "head")
    nn.adapters.merge(model)
    data = TOKENS % 9, np.zeros(len(TOKENS), "int64")
    with pytest.raises(errors.ArgumentError, match=r"call nn.adapters.unmerge\(model\) first"):
        fit(model, "cross_entropy", data, optimizer="sgd", progress=False)


def test_several_adapters(backend):
    """Two names, one, both and none."""
    model, x = net(backend), as_array(TOKENS % 9, backend)
    plain = trellis.to_numpy(model(x))
    outputs = {}
    for i, name in enumerate(("french", "german")):
        nn.lora(model, 2, "head", name=name)
        random_adapters(model, seed=i)
    for name in ("french", "german", ["french", "german"], None):
        nn.adapters.activate(model, name)
        outputs[str(name)] = trellis.to_numpy(model(x))
    assert nn.adapters.names(model) == ["french", "german"]
    both = outputs["french"] + outputs["german"] - plain  # a dense layer is linear
    assert_close(outputs["['french', 'german']"], both, rtol=1e-5, atol=1e-5)
    assert (outputs["None"] == plain).all()
    nn.adapters.remove(model, "french")
    nn.adapters.activate(model, "german")
    assert (trellis.to_numpy(model(x)) == outputs["german"]).all()
    twin = copy.deepcopy(model)
    assert (trellis.to_numpy(twin(x)) == outputs["german"]).all()


def test_training_leaves_the_model_alone(backend):
    """Only the active adapters have a state; the loss falls; compiled is eager."""
    model = nn.lora(net(backend), 2, ["attention/*", "head"])
    before = {chain: trellis.to_numpy(model.v[chain]).copy() for chain in model.v.key_chains()}
    y = np.zeros((2, 4, 3), "float32")
    opt = optim.Adam(1e-2)
    history = fit(model, lambda out, y: trellis.mean((out - y) ** 2), (TOKENS % 9, y),
                  optimizer=opt, epochs=10, progress=False, compile=False)  # fmt: skip
    assert history.losses[-1] < history.losses[0]
    assert all("adapters" in chain for chain in opt.state.m.key_chains())
    for chain, w in before.items():
        is_same = (trellis.to_numpy(model.v[chain]) == w).all()
        assert is_same == ("adapters" not in chain), chain
    forget_programs(backend)
    call = compile_with(backend, lambda v, x: model(x, v=v), autograph=False)
    x = as_array(TOKENS % 9, backend)
    # A compiler may round fused products once.
    assert_close(call(model.v, x), trellis.to_numpy(model(x)), rtol=1e-5, atol=1e-6,
                 backend=backend)  # fmt: skip


@pytest.mark.needs("torch")
def test_dropout_is_in_training_only():
    model = nn.lora(nn.Linear(50, 3, backend="numpy"), 4, dropout=0.5)
    random_adapters(model)
    x = np.ones((2, 50), "float32")
    assert (model(x) != model(x)).any()
    model.eval()
    assert (model(x) == model(x)).all()


def test_what_does_not_fit(tmp_path):
    model = net("numpy")
    for options, said in (
        ({"where": "haed"}, "'haed', which matches nothing. Did you mean 'head'"),
        ({"rank": 0}, "at least 1"),
        ({"variant": "lara"}, "'lora' or 'dora'"),
        ({"dropout": 1}, r"in \[0, 1\)"),
        ({"where": "attention/*", "dropout": 0.1}, "dense layers only"),
        ({"where": "words", "variant": "dora"}, "read by index"),
        ({"name": "a/b"}, "have names such as"),
        ({"name": "active"}, "have names such as"),
    ):
        with pytest.raises(errors.TrellisError, match=said):
            nn.lora(model, **options)
    assert nn.adapters.names(model) == []
    nn.lora(model)
    with pytest.raises(errors.ArgumentError, match="'default' already"):
        nn.lora(model)
    with pytest.raises(errors.ArgumentError, match="'french'; the adapters of this model are def"):
        nn.adapters.activate(model, "french")
    nn.adapters.save(model, tmp_path)
    with pytest.raises(errors.ShapeError, match="adapters for head, which Linear does not have"):
        nn.adapters.load(nn.Linear(4, 3, backend="numpy"), tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    for change, said in (
        ({"peft_type": "LOHA"}, "peft_type='LOHA'"),
        ({"modules_to_save": ["head"]}, "modules_to_save"),
        ({"lora_alpha": "two"}, "no number"),
        ({"use_dora": True}, "2 arrays for 'head', where 3"),
    ):
        (tmp_path / "adapter_config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(errors.TrellisError, match=said):
            nn.adapters.load(net("numpy"), tmp_path)
