"""Models from ONNX files."""

from .reader import from_onnx as from_onnx
