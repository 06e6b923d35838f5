"""Casts of results into ``out``, and the messages of operators that reject a dtype."""
from __future__ import annotations

from ..._base.about import about
from ..._base.errors import CPP_NAMES, NAMES, cpu_type
from ..._dispatch.registry import Operator
from ..._dtype import DType, bool_, uint8

#: Messages of operators that reject an ``out`` of the wrong dtype, where they differ from the default. Fields: ``want``
#: and ``got`` as C++ types, ``Want`` and ``Got`` as ATen's names, ``wanted`` and ``given`` as tensor types. A key such
#: as ``frexp.exponent`` names one output.
WRONG_DTYPE = {name: message for names, message in {
    "abs ceil conj_physical frac floor softshrink hardshrink gelu neg round sign sgn trunc softplus bitwise_not clamp "
    "clip clamp_min clamp_max":
        "Found dtype {Got} but expected {Want}",
    "dot vdot matmul": "result dtype {Got} does not match input dtype {Want}",
    "cummax cummin logcumsumexp": "expected scalar_type {Want} but found {Got}",
    "signbit isposinf isneginf": "{name} does not support non-boolean outputs.",
    "masked_select index_select": "{name}(): self and result must have the same scalar type",
    "log_sigmoid linalg_solve_triangular": "expected scalar type {Want} but found {Got}",
    "all any": "{name} only supports bool tensor for result, got: {Got}",
    "amax amin": "Expected the dtype for input and out to match, but got {Want} for input's dtype and {Got} for out's "
                 "dtype.",
    "hash_tensor": "Expected result to be of dtype uint64, but got {Got}",
    "linalg_norm linalg_matrix_norm": "{name} expected out tensor dtype {Want} but got: {Got}",
    "complex polar": "Expected object of scalar type {Want} but got scalar type {Got} for argument 'out'",
    "frexp.mantissa": "torch.frexp() expects mantissa to have dtype {want} but got {got}",
    "frexp.exponent": "torch.frexp() expects exponent to have {want} dtype but got {got}",
    "kthvalue.values": "output values must be of same type as input",
    "kthvalue.indices": "output indices must be of scalar type {Want}",
    "median.values nanmedian.values":
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {given} does "
        "not equal {wanted} (while checking arguments for median)",
    "median.indices nanmedian.indices":
        "Expected tensor for argument #1 'indices' to have scalar type {Want}; but got {given} instead (while checking "
        "arguments for median)",
    "mode.values mode.indices": "expected scalar type '{Want}' but got '{Got}' for {part} output",
    "histc histogram": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {want} "
                       "and hist {got}",
    "histogram.bin_edges": "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got "
                           "input {want} and bin_edges {got} for dimension 0",
    "nan_to_num": "nan_to_num: dtype of out: {Got} should be same as input: {Want}",
    "addbmm": "self and mat2 must have the same dtype, but got {Got} and {Want}",
    "searchsorted bucketize":
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
        "whether out_int32 flag is True, but we got output tensor's dtype {Got} and out_int32 flag is {small}",
    "quantile nanquantile": "quantile() out tensor must be same dtype as the input tensor",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {Want} and out.dtype = {Got}",
    "multinomial": "multinomial expects Long tensor out, got: {Got}",
    "inner tensordot": "tensordot: Expected the output tensor to have dtype {Want}, but got an output tensor with "
                       "dtype {Got}",
    "float_power": "the output given to float_power has dtype {Got} but the operation's result requires dtype {Want}",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "where": "Expected out type to be {Want} but got {Got}",
    "nonzero nonzero_static": "{name}: Expected out tensor to have scalar type {Want} but got scalar type{Got}",
    "linalg_vecdot": "linalg.vecdot: Expected out of dtype{Want} but found {Got}",
    "linalg_multi_dot": "multi_dot(): expected out tensor to have dtype {want} but got {got}",
}.items() for name in names.split()}
#: Dtypes of ``out`` that operators take beside that of their result.
ALSO_TAKEN = {"all": (bool_, uint8), "any": (bool_, uint8)}
#: Messages of operators that reject an ``out`` to which their result cannot be cast; fields as in ``WRONG_DTYPE``.
NO_CAST = {name: message for names, message in {
    "cat concat concatenate stack hstack vstack row_stack dstack column_stack":
        "torch.cat(): input types can't be cast to the desired output type {Got}",
    "logsumexp": "logsumexp(): Expected floating point type for result tensor, but got: {Got}",
}.items() for name in names.split()}
NO_CAST |= {f"fft_{name}": f"{written} expects a {kind} output tensor, but got {{Got}}" for kind, packets in {
    "complex": {"fft": "fft", "ifft": "ifft", "rfft": "rfft", "ihfft": "ihfft", "fftn": "fft2 fftn ifft2 ifftn",
                "rfftn": "rfft2 rfftn", "ihfftn": "ihfft2 ihfftn"},
    "floating point": {"irfft": "irfft", "hfft": "hfft", "irfftn": "irfft2 irfftn", "hfftn": "hfft2 hfftn"},
}.items() for written, names in packets.items() for name in names.split()}


def check_cast(result: DType, target: DType, error: type[Exception] = RuntimeError, op: Operator | None = None) -> None:
    """Check that a result (of ``op``, if given) may be cast to a dtype: not to a lower category. Fourier transforms
    convert neither real to complex nor complex to real.

    Raises:
        error: with PyTorch's message.
    """
    if result.category > target.category or (op is not None and op.packet[:4] == "fft_"
                                        and target.is_complex is not result.is_complex):
        words = NO_CAST.get(op.packet if op is not None else "")
        raise about(error(f"result type {NAMES[result.name]} can't be cast to the desired output type "
                          f"{NAMES[target.name]}" if words is None or op is None else
                          in_words(words, op, result, target)), "result cast", result=result.name, target=target.name)


def wrong_dtype(op: Operator, want: DType, got: DType, part: str = "") -> RuntimeError:
    """Return PyTorch's error for an ``out`` (or its output ``part``) whose dtype is not the operator's."""
    message = WRONG_DTYPE.get(f"{op.packet}.{part}") or WRONG_DTYPE.get(
        op.packet, "Expected out tensor to have dtype {want}, but got {got} instead")
    return about(RuntimeError(in_words(message, op, want, got, part)), "result cast", result=want.name, target=got.name)


def in_words(message: str, op: Operator, want: DType, got: DType, part: str = "") -> str:
    """Fill in the fields of a message."""
    return message.format(
        name=op.packet.replace("linalg_", "linalg."), part=part, small=want.name == "int32", want=CPP_NAMES[want.name],
        got=CPP_NAMES[got.name], Want=NAMES[want.name], Got=NAMES[got.name], wanted=cpu_type(want), given=cpu_type(got))
