"""The contents of `config.json` as typed dataclasses: one for each model.

Fields have Hugging Face's names, and the values that this format gives to keys that are absent. Any
other key raises an error that names it, unless it is in a list of harmless keys or has a fixed
value: it may change what the model computes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from .._core.errors import ArgumentError, ArgumentTypeError, NotSupportedError

# Keys that change no number of a forward pass: descriptions, training, and options of generation
# that older versions kept here. They are kept, and written again.
HARMLESS = frozenset(
    """
    _commit_hash _name_or_path attn_implementation _attn_implementation architectures bos_token_id
    chunk_size_feed_forward decoder_start_token_id dtype eos_token_id finetuning_task
    gradient_checkpointing is_encoder_decoder label2id output_attentions output_hidden_states
    pad_token_id prefix problem_type return_dict sep_token_id task_specific_params tokenizer_class
    torch_dtype torchscript transformers_version use_bfloat16 use_cache
    bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping
    encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id
    forced_decoder_ids forced_eos_token_id length_penalty max_length min_length
    no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores
    remove_invalid_values repetition_penalty return_dict_in_generate suppress_tokens temperature
    tf_legacy_loss top_k top_p typical_p
    """.split()
)
# Keys that may have one value only, whatever the model: the others are not built here.
FIXED: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False, None),
    "cross_attention_hidden_size": (None,),
    "is_decoder": (False, None),
    "pruned_heads": ({}, None),
    "tie_encoder_decoder": (False, None),
    "quantization_config": (None,),
}


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What all configurations share.

    >>> from trellis import models
    >>> models.GPT2Config(n_layer=2).n_layer
    2
    """

    model_type: ClassVar[str] = ""
    # Keys of this model that change no number, and those that may have the listed values only.
    harmless: ClassVar[frozenset[str]] = frozenset()
    fixed: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    architecture: str = ""  # Hugging Face's name of the class; "" is the one of the whole model
    extra: dict[str, Any] = field(default_factory=dict)  # harmless keys, as they were read

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, source: str = "config.json") -> Self:
        """The configuration in a dict; keys that are not known are refused.

        >>> from trellis import models
        >>> models.BertConfig.from_dict({"hidden_size": 32, "color": "red"})
        Traceback (most recent call last):
        trellis._core.errors.NotSupportedError: config.json has the key 'color', which BertConfig \
does not know: it may change what the model computes. ...
        """
        if not isinstance(given, Mapping):
            raise ArgumentTypeError(f"{source} should hold a dict, got {type(given).__name__}.")
        known = {f.name for f in fields(cls)} - {"architecture", "extra"}
        fixed = {**FIXED, **cls.fixed}
        values, extra, unknown = {}, {}, []
        for key, value in cls._renamed(dict(given)).items():
            if key in known:
                values[key] = value
            elif key in fixed:
                if value not in fixed[key]:
                    raise NotSupportedError(
                        f"{source} has {key}={value!r}, which {cls.__name__} does not build; it "
                        f"builds {' or '.join([repr(each) for each in fixed[key]])}."
                    )
                extra[key] = value
            elif key in HARMLESS or key in cls.harmless:
                extra[key] = value
            elif key != "model_type":
                unknown.append(key)
        if unknown:
            names = ", ".join([repr(key) for key in unknown])
            word = "key" if len(unknown) == 1 else "keys"
            raise NotSupportedError(
                f"{source} has the {word} {names}, which {cls.__name__} does not know: it may "
                "change what the model computes. If you know that it does not, remove it from the "
                "file."
            )
        named = given.get("architectures") or [""]
        return cls(**{"architecture": str(named[0]), "extra": extra, **values})

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds, in the form that transformers reads.

        >>> from trellis import models
        >>> models.ViTConfig().to_dict()["model_type"]
        'vit'
        """
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        extra = own.pop("extra")
        named = own.pop("architecture")
        whole = {**extra, **own, "model_type": self.model_type}
        return {**whole, "architectures": [named]} if named else whole

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Older names of keys as the newest one."""
        return given

    def _refuse(self, key: str, known: tuple[Any, ...]) -> None:
        value = getattr(self, key)
        if value not in known:
            raise NotSupportedError(
                f"{type(self).__name__} has {key}={value!r}; it builds "
                f"{' or '.join([repr(each) for each in known])}."
            )

    def _check_heads(self, width: int, heads: int) -> None:
        if heads < 1 or width % heads:
            raise ArgumentError(
                f"{type(self).__name__} has a width of {width} and {heads} heads, which must "
                "divide it."
            )


def with_num_labels(given: dict[str, Any]) -> dict[str, Any]:
    """`num_labels` out of the table of labels, where only that is there."""
    if "num_labels" not in given and given.get("id2label"):
        given["num_labels"] = len(given["id2label"])
    return given
