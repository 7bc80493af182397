"""Adapters in PEFT's files: a JSON object of settings, and two or three arrays for each matrix."""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._array.casting import dtype as dtype_of
from ..._array.creation import asarray
from ..._array.device import device as device_of
from ..._array.interchange import to_numpy
from ..._core.dispatch import backend_of
from ..._core.errors import ArgumentError, NotSupportedError, ShapeError
from ..._core.files import read_arrays, replace_file, write_arrays
from ..._core.patterns import listed
from ...nn.adapters.managing import attach, check_name, holders, names
from ...nn.adapters.targets import Target, candidates, joined
from ...nn.module.module import Module

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_HEAD = "base_model.model."
# What a file may call the arrays of one adapter, and their names here.
_PARTS = {
    "lora_A.weight": "a",
    "lora_B.weight": "b",
    "lora_embedding_A": "a",
    "lora_embedding_B": "b",
    "lora_magnitude_vector": "m",
    "lora_magnitude_vector.weight": "m",
}
# Settings of PEFT that change what is computed, and the values at which they do not.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "lora_bias": (False, None),
    "layer_replication": (None,),
    "modules_to_save": (None, []),
    "trainable_token_indices": (None,),
    "alora_invocation_tokens": (None,),
    "use_qalora": (False, None),
    "target_parameters": (None, []),
}


def foreign_names(model: Module) -> dict[str, Target]:
    """The modules that may have adapters, by their names in the other library."""
    theirs = model.hugging_face_names() if hasattr(model, "hugging_face_names") else {}
    short = getattr(model, "_short", str)
    found = {}
    for target in candidates(model):
        for weight in target.weights:
            chain = joined(target.chain, weight)
            if chain in theirs:
                name = short(theirs[chain]).removesuffix(".weight")
            else:
                whole = chain if target.kind == "matrices" else target.chain
                name = whole.removesuffix("/weight").removesuffix("/kernel").replace("/", ".")
            found[name] = target._replace(weights=(weight,))
    return found


def save_adapters(model: Module, folder: str | os.PathLike[str], name: str | None) -> None:
    """See `nn.adapters.save`."""
    known = names(model)
    if name is None and len(known) == 1:
        name = known[0]
    if name not in known:
        which = "has no adapters" if not known else f"has the adapters {listed(known)}: name one"
        raise ArgumentError(f"save() got name={name!r}, and {type(model).__name__} {which}.")
    foreign = {(id(target.module), target.weights[0]): key
               for key, target in foreign_names(model).items()}  # fmt: skip
    arrays: dict[str, Any] = {}
    ranks, alphas, settings = {}, {}, {}
    for module, holder in holders(model):
        if name not in holder.names:
            continue
        settings = holder.settings[name]
        for weight, adapter in holder.adapters(name).items():
            key = foreign[id(module), weight]
            ranks[key], alphas[key] = adapter.rank, settings["alpha"]
            ends = ("lora_embedding_A", "lora_embedding_B") if holder.kind == "table" else (
                "lora_A.weight", "lora_B.weight")  # fmt: skip
            v = adapter.v
            arrays[f"{_HEAD}{key}.{ends[0]}"] = to_numpy(v["a"])
            arrays[f"{_HEAD}{key}.{ends[1]}"] = to_numpy(v["b"])
            if adapter.with_length:
                arrays[f"{_HEAD}{key}.lora_magnitude_vector"] = to_numpy(v["m"])
    rank, alpha = next(iter(ranks.values())), next(iter(alphas.values()))
    config = {
        "peft_type": "LORA",
        "task_type": None,
        "base_model_name_or_path": None,
        "inference_mode": True,
        "r": rank,
        "lora_alpha": alpha,
        "lora_dropout": settings["dropout"],
        "use_dora": settings["variant"] == "dora",
        "use_rslora": bool(settings.get("is_root")),
        "target_modules": sorted(ranks),
        "rank_pattern": {key: x for key, x in ranks.items() if x != rank},
        "alpha_pattern": {key: x for key, x in alphas.items() if x != alpha},
        "bias": "none",
        "fan_in_fan_out": bool(getattr(model, "layouts", {})),
        "init_lora_weights": True,
        "modules_to_save": None,
    }
    import json

    path = Path(folder)
    write_arrays(path / WEIGHTS, arrays, {"format": "pt"})
    replace_file(path / CONFIG, [json.dumps(config, indent=2, sort_keys=True).encode()])


def load_adapters(model: Module, folder: str | os.PathLike[str], name: str) -> None:
    """See `nn.adapters.load`. Nothing changes on the model where the files do not fit."""
    check_name(model, name)
    path = Path(folder)
    if (path / "adapter_model.bin").exists() and not (path / WEIGHTS).exists():
        raise ArgumentError(
            f"{path} has its adapters in adapter_model.bin, a file that can run code. Write "
            f"{WEIGHTS} once, with PEFT's save_pretrained(folder)."
        )
    config = _read_config(path / CONFIG)
    arrays, _ = read_arrays(path / WEIGHTS)
    found = _by_module(arrays, path)
    known = foreign_names(model)
    unknown = [key for key in found if key not in known]
    if unknown:
        raise ShapeError(
            f"{path / WEIGHTS} has adapters for {listed(unknown)}, which "
            f"{type(model).__name__} does not have; it has {listed(list(known))}."
        )
    wanted, placed = [], []
    for key, parts in found.items():
        target = known[key]
        settings = _settings(config, key, path)
        rank = _checked_rank(target, parts, settings, key, path)
        wanted.append((target, rank, settings))
        placed.append((target, parts))
    attach(model, _together(wanted), name)
    for target, parts in placed:
        holder: Any = target.module.adapters
        adapter = holder.adapters(name)[target.weights[0]]
        old = adapter.v
        adapter.v = {
            part: asarray(parts[part], dtype=str(dtype_of(old[part])),
                          backend=backend_of(old[part]), device=device_of(old[part]))
            for part in old
        }  # fmt: skip


def _together(
    wanted: list[tuple[Target, int, dict[str, Any]]],
) -> list[tuple[Target, int, dict[str, Any]]]:
    """One target for each module; its matrices have one rank."""
    by_module: dict[int, tuple[Target, int, dict[str, Any]]] = {}
    for target, rank, settings in wanted:
        if id(target.module) not in by_module:
            by_module[id(target.module)] = (target, rank, settings)
            continue
        first, its_rank, its_settings = by_module[id(target.module)]
        if (its_rank, its_settings) != (rank, settings):
            raise NotSupportedError(
                f"load() got adapters of the ranks {its_rank} and {rank}, or with other settings, "
                "for the matrices of one module; they need to be alike there."
            )
        both = (*first.weights, *target.weights)
        by_module[id(target.module)] = (first._replace(weights=both), rank, settings)
    return list(by_module.values())


def _read_config(path: Path) -> dict[str, Any]:
    import json

    from ..._core.files import check_regular

    check_regular(path)
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path.parent} has no {path.name}.") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} is not JSON: {error}.") from None
    if not isinstance(config, dict):
        raise ArgumentError(f"{path} should hold a JSON object, not {type(config).__name__}.")
    for key, plain in _PLAIN.items():
        if key in config and config[key] not in plain:
            raise NotSupportedError(
                f"{path} has {key}={config[key]!r}; load() reads adapters with {key}={plain[0]!r}."
            )
    return config


def _by_module(arrays: Mapping[str, Any], path: Path) -> dict[str, dict[str, Any]]:
    """The arrays of each module."""
    found: dict[str, dict[str, Any]] = {}
    for whole, x in arrays.items():
        plain = whole.removeprefix(_HEAD)
        ends = [end for end in _PARTS if plain.endswith(f".{end}") or plain == end]
        if not ends:
            raise ShapeError(
                f"{path / WEIGHTS} has {whole!r}; load() reads the arrays {listed(list(_PARTS))}."
            )
        key = plain[: -len(ends[0])].removesuffix(".")
        found.setdefault(key, {})[_PARTS[ends[0]]] = x
    return found


def _settings(config: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    alpha = _of_pattern(config.get("alpha_pattern") or {}, key, config.get("lora_alpha", 8))
    dropout = config.get("lora_dropout") or 0.0
    for what, number in (("lora_alpha", alpha), ("lora_dropout", dropout)):
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if not is_number or not math.isfinite(number):
            raise ArgumentError(f"{path / CONFIG} has {what}={number!r}, which is no number.")
    return {
        "alpha": alpha,
        "dropout": float(dropout),
        "variant": "dora" if config.get("use_dora") else "lora",
        "is_root": bool(config.get("use_rslora")),
    }


def _of_pattern(table: Any, key: str, default: Any) -> Any:
    """The entry for a module: PEFT takes keys for ends of names, as text here, and not as regular
    expressions."""
    if not isinstance(table, dict):
        raise ArgumentError(f"alpha_pattern should be a table of names and numbers, got {table!r}.")
    for pattern, value in table.items():
        plain = pattern.removeprefix("^")
        if key == plain or key.endswith(f".{plain}"):
            return value
        if re.search(r"[\\*+?()\[\]|$]", plain):
            raise NotSupportedError(
                f"alpha_pattern has the regular expression {pattern!r}; load() reads names."
            )
    return default


def _checked_rank(
    target: Target, parts: Mapping[str, Any], settings: Mapping[str, Any], key: str, path: Path
) -> int:
    from ...nn.adapters.attached import is_turned
    from ...nn.module.around import weight_of

    needed = {"a", "b", "m"} if settings["variant"] == "dora" else {"a", "b"}
    if set(parts) != needed:
        raise ShapeError(
            f"{path / WEIGHTS} has {len(parts)} arrays for {key!r}, where {len(needed)} are needed "
            f"for variant {settings['variant']!r}."
        )
    weight = target.weights[0]
    w = weight_of(target.module) if weight == "w" else target.module.v[weight]
    outputs, inputs = tuple(w.shape)
    if is_turned(target.kind, weight):
        outputs, inputs = inputs, outputs
    rank = parts["a"].shape[0] if len(parts["a"].shape) == 2 else 0
    shapes = {"a": (rank, inputs), "b": (outputs, rank), "m": (outputs,)}
    for part, x in parts.items():
        if tuple(x.shape) != shapes[part] or rank < 1:
            raise ShapeError(
                f"{path / WEIGHTS} has an array of shape {tuple(x.shape)} for {key!r}, where "
                f"{shapes[part]} was expected."
            )
        if not np.issubdtype(x.dtype, np.floating) and str(x.dtype) != "bfloat16":
            raise ShapeError(f"{path / WEIGHTS} has {x.dtype} for {key!r}, which is no float.")
    return int(rank)
