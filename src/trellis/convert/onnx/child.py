"""The process in which native code sees models: onnxruntime, and onnx itself.

It stays for the next model: to start it takes longer than to run most of them.
"""

from ..apart import Apart

child = Apart("onnx")
