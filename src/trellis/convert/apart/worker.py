"""The child: `python -m trellis.convert.apart.worker KIND` runs models of one kind, each within the
limits of its request. A request is one line of JSON on the standard input, the answer one line on
the standard output.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .arrays import read_arrays, write_arrays

try:
    import resource
except ImportError:  # Windows has no limits; the parent still ends what takes too long
    resource = None  # type: ignore[assignment]

Inputs = Any
_THREADS = 4  # each one reserves memory
_FRAMEWORKS = {
    "torch": "trellis.convert.torch.rehearsal",
    "saved_model": "trellis.convert.tensorflow.rehearsal",
}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # native code may print
    if sys.argv[1] in _FRAMEWORKS:
        run = import_module(_FRAMEWORKS[sys.argv[1]]).run
    else:
        run = {"onnx": _onnx, "keras": _keras}[sys.argv[1]]()
    print(json.dumps({"status": "ready"}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(run, json.loads(line))), file=answers, flush=True)


def _answer(run: Callable[..., Any], request: dict[str, Any]) -> dict[str, str]:
    try:
        with open(request["inputs"], "rb") as file:
            inputs = read_arrays(file)
        _limit(request["bytes"], request["seconds"])
        found = run(request["source"], inputs, request["options"])
        with open(request["outputs"], "wb") as file:
            write_arrays(file, found)
    except MemoryError:
        return {"status": "memory"}
    except Exception as error:
        text = str(error).strip() or repr(error)
        is_memory = any([word in text.lower() for word in _NO_MEMORY])
        return {"status": "memory"} if is_memory else {"status": "error", "why": text[:4000]}
    return {"status": "done"}


# What onnxruntime, torch, TensorFlow and HDF5 say.
_NO_MEMORY = ("bad_alloc", "allocat", "enough memory", "oom when", "out of memory")


def _limit(count: int, seconds: float) -> None:
    """Memory beside what the process has now, and processor time, so that a child without its
    parent ends as well."""
    if resource is None:
        return
    try:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (now + count, most))
    except (OSError, ValueError):
        pass  # other systems do not limit it
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    until = used.ru_utime + used.ru_stime + 2 * _THREADS * seconds
    resource.setrlimit(resource.RLIMIT_CPU, (int(until) + 1, most))


def _onnx() -> Callable[..., Any]:
    import onnx

    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        onnxruntime = None

    def with_runtime(source: Any, inputs: Inputs, is_optimized: bool) -> list[Any]:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = _THREADS
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = (
            levels.ORT_ENABLE_ALL if is_optimized else levels.ORT_DISABLE_ALL
        )
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        return list(session.run(None, inputs))

    def run(source: str, inputs: Inputs, options: dict[str, Any]) -> Any:
        if "step" in options:
            return _step(source, options)
        if options.get("values"):
            return _values(source, inputs, with_runtime)
        if onnxruntime is not None:
            try:
                return with_runtime(source, inputs, bool(options.get("optimized")))
            except Exception as error:
                if "bad_alloc" in str(error) or options.get("optimized"):
                    raise
        elif options.get("optimized"):
            raise ImportError("onnxruntime is not installed")
        from onnx.reference import ReferenceEvaluator

        return list(ReferenceEvaluator(source).run(None, inputs))

    def _step(source: str, options: dict[str, Any]) -> Any:
        """A function of onnx that is native code; the bytes of the new model."""
        from onnx import inliner, shape_inference

        model = onnx.load(source, load_external_data=False)
        if options["step"] == "infer":
            model = shape_inference.infer_shapes(model, data_prop=True)
        elif options["step"] == "inline":
            model = inliner.inline_local_functions(model)
        else:
            keep = [(domain, name) for domain, name in options["keep"]]
            model = inliner.inline_selected_functions(
                model, keep, exclude=True, inline_schema_functions=True
            )
        return np.frombuffer(model.SerializeToString(), np.uint8)

    def _values(source: str, inputs: Inputs, with_runtime: Callable[..., list[Any]]) -> Any:
        """Intermediate results by name."""
        model = onnx.load(source)
        known = {info.name for info in model.graph.output}
        names = [name for node in model.graph.node for name in node.output]
        names = [name for name in names if name and name not in known]
        model.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, names))
        found = with_runtime(model.SerializeToString(), inputs, False)
        return dict(zip(names, found[-len(names) :]))

    return run


def _keras() -> Callable[..., Any]:
    import keras

    def run(source: str, inputs: Inputs, options: dict[str, Any]) -> Any:
        model = keras.models.load_model(source, compile=False, safe_mode=True)
        shapes = [
            [2 if axis == 0 else size for axis, size in enumerate(x.shape)]
            for x in getattr(model, "inputs", None) or []
        ]
        if shapes and not any([None in shape for shape in shapes]):
            kinds = [x.dtype for x in model.inputs]
            zeros = [keras.ops.zeros(shape, kind) for shape, kind in zip(shapes, kinds)]
            model(zeros[0] if len(zeros) == 1 else zeros)

    return run


if __name__ == "__main__":
    main()
