"""``torch.onnx``: programs can import its names; exporting to ONNX is left out, and calling them raises the reason."""
from __future__ import annotations

from enum import IntEnum
from typing import Any

from .._base.left_out import reason
from .._methods.elsewhere import refusing


class OnnxExporterError(RuntimeError):
    """An export that failed (``torch.onnx.OnnxExporterError``)."""


class TensorProtoDataType(IntEnum):
    """ONNX's numbers for dtypes (``torch.onnx.TensorProtoDataType``)."""

    UNDEFINED, FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64 = range(8)
    STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(8, 14)


class ONNXProgram:
    """Stands for a program in ONNX's format, and has no instances (``torch.onnx.ONNXProgram``)."""


class _Absent:
    """A module of ONNX's translations: each name is there, and calling it raises the reason."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _refuse(f"{self._name}.{name}")


def _refuse(name: str) -> Any:
    return refusing(lambda _: OnnxExporterError(reason(f"onnx.{name}")), [name], "onnx")[name]


def is_in_onnx_export() -> bool:
    """Return False: nothing is exported (``torch.onnx.is_in_onnx_export``)."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Do nothing: the translation is never asked for (``torch.onnx.register_custom_op_symbolic``)."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Do nothing (``torch.onnx.unregister_custom_op_symbolic``)."""


export = _refuse("export")
symbolic_opset9, symbolic_opset10, symbolic_opset11, symbolic_opset12, operators = map(_Absent, (
    "symbolic_opset9", "symbolic_opset10", "symbolic_opset11", "symbolic_opset12", "operators"))
__all__ = ["ONNXProgram", "OnnxExporterError", "TensorProtoDataType", "export", "is_in_onnx_export", "operators",
           "register_custom_op_symbolic", "symbolic_opset10", "symbolic_opset11", "symbolic_opset12", "symbolic_opset9",
           "unregister_custom_op_symbolic"]
__dir__ = __all__.copy
