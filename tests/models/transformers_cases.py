"""Tiny models of transformers, saved by transformers, and the same ones here.

`CASES` maps a name to the class of transformers, the options of its configuration, and the kind of
arguments it takes. `expected` and `found` give outputs and hidden states in one order.
"""

import numpy as np
from hugging_face_configs import GROUPED, IMAGE, STAGES, TEXT, arguments, randomise
from hugging_face_configs import MODELS as SOURCES

import trellis
from oracles import torch

LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}  # fmt: skip
_T5 = SOURCES["t5"][1]

# The models as the documentation names them.
CASES = {
    name: SOURCES[name]
    for name in ("llama", "mistral", "qwen3", "gpt2", "bert", "t5", "vit", "resnet", "whisper",
                 "clip")
} | {"qwen2": ("Qwen2ForCausalLM", GROUPED, "text")}  # fmt: skip

# Other architectures, and options that change what is computed.
MORE = {
    "llama_tied": (
        "LlamaForCausalLM",
        {**GROUPED, "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True,
         "rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.0}},
        "text",
    ),
    "llama3": ("LlamaForCausalLM", {**TEXT, "rope_parameters": LLAMA3}, "text"),
    "qwen2_window": (
        "Qwen2ForCausalLM",
        {**GROUPED, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1},
        "text",
    ),
    "gpt2_scaled": (
        "GPT2LMHeadModel",
        {**SOURCES["gpt2"][1], "scale_attn_by_inverse_layer_idx": True, "n_inner": 20,
         "activation_function": "relu"},
        "text",
    ),
    "bert_words": ("BertForMaskedLM", TEXT, "text"),
    "bert_labels": ("BertForSequenceClassification", {**TEXT, "num_labels": 3}, "text"),
    "t5_gated": (
        "T5ForConditionalGeneration",
        {**_T5, "feed_forward_proj": "gated-gelu", "num_decoder_layers": 1,
         "tie_word_embeddings": False},
        "seq2seq",
    ),
    "vit_body": ("ViTModel", {**IMAGE, "qkv_bias": False}, "image"),
    "resnet_bottleneck": (
        "ResNetForImageClassification",
        {**STAGES, "layer_type": "bottleneck", "downsample_in_first_stage": True, "num_labels": 3},
        "image",
    ),
    "resnet_body": (
        "ResNetModel", {**STAGES, "layer_type": "bottleneck", "downsample_in_bottleneck": True},
        "image",
    ),
}  # fmt: skip
ALL = CASES | MORE

# Which of transformers' arguments are the positional ones here, and the mask.
INPUTS = {
    "text": ("input_ids",),
    "seq2seq": ("input_ids", "decoder_input_ids"),
    "image": ("pixel_values",),
    "clip": ("input_ids", "pixel_values"),
    "whisper": ("input_features", "decoder_input_ids"),
}


def build(name, folder, **saving):
    """A model of transformers, its arguments, and its files in the folder."""
    import transformers

    class_name, options, kind = ALL[name]
    model_class = getattr(transformers, class_name)
    torch.manual_seed(0)
    config = model_class.config_class(**options)
    model = model_class(config).eval()
    randomise(model)
    model.save_pretrained(folder, **saving)
    return model, arguments(kind, config)


def call_there(model, given):
    """Outputs and hidden states of transformers, as torch tensors."""
    out = model(**given, output_hidden_states=True)
    kind = type(out).__name__
    if hasattr(out, "logits_per_text"):
        outputs = [out.text_embeds, out.image_embeds, out.logits_per_text, out.logits_per_image]
        states = [*model.text_model(given["input_ids"], given["attention_mask"],
                                    output_hidden_states=True).hidden_states,
                  *model.vision_model(given["pixel_values"],
                                      output_hidden_states=True).hidden_states]  # fmt: skip
    elif "Seq2Seq" in kind:
        outputs = [out.logits]
        states = [*out.encoder_hidden_states, *out.decoder_hidden_states]
    else:
        has_head = hasattr(out, "logits")
        outputs = [out.logits] if has_head else [out.last_hidden_state, out.pooler_output]
        states = list(out.hidden_states)
    if "NoAttention" in kind:  # feature maps of convolutions, channels first there
        states = [x.permute(0, 2, 3, 1) for x in states]
        if len(outputs) == 2:
            outputs = [outputs[0].permute(0, 2, 3, 1), outputs[1].flatten(1)]
    return outputs, states


def call_here(model, kind, given, **options):
    """The same here."""
    out, states = model(
        *[given[name] for name in INPUTS[kind]], return_hidden_states=True, **masks(given),
        **options,
    )  # fmt: skip
    outputs = list(out) if isinstance(out, tuple) else [out]
    nested = len(states) == 2 and isinstance(states[0], tuple)
    return outputs, [*states[0], *states[1]] if nested else list(states)


def masks(given):
    return {"mask": given["attention_mask"]} if "attention_mask" in given else {}


def as_arrays(given, backend):
    """Arguments as arrays of a backend, integers as int32."""
    made = {}
    for name, x in given.items():
        x = x.numpy()
        x = x.astype("int32") if x.dtype.kind == "i" else x
        made[name] = trellis.to_backend(x, backend)
    return made


def difference(here, there, mask=None):
    """The largest difference, over real tokens where a mask says which are."""
    x, y = trellis.to_numpy(here), there.detach().numpy()
    assert x.shape == y.shape
    if mask is not None and x.shape[:2] == tuple(mask.shape):
        real = mask.numpy() != 0
        x, y = x[real], y[real]
    return float(np.abs(x - y).max())
