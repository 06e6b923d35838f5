"""mindtorch: a PyTorch-shaped tensor library whose insides can be seen."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _utils as _utils, _wiring as _wiring, functional as functional, random as random
from ._autograd.engine import backward as backward
from ._autograd.grad_mode import (
    enable_grad as enable_grad, inference_mode as inference_mode, is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled, no_grad as no_grad, set_grad_enabled as set_grad_enabled,
)
from ._backends.random import (
    Generator as Generator, default_generator as default_generator, get_rng_state as get_rng_state,
    initial_seed as initial_seed, manual_seed as manual_seed, seed as seed, set_rng_state as set_rng_state,
)
from ._base.errors import OutOfMemoryError as OutOfMemoryError
from ._base.formats import (
    LAYOUTS as _LAYOUTS, QSCHEMES as _QSCHEMES, channels_last as channels_last, channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format, e as e, inf as inf, layout as layout, memory_format as memory_format,
    nan as nan, newaxis as newaxis, pi as pi, preserve_format as preserve_format, qscheme as qscheme,
    strided as strided,
)
from ._base.lazy import lazily as _lazily
from ._base.size import Size as Size
from ._base.streams import Event as Event, Stream as Stream
from ._base.symbolic import SymBool as SymBool, SymFloat as SymFloat, SymInt as SymInt
from ._creation import (
    LEGACY_TENSORS as _LEGACY_TENSORS, arange as arange, as_tensor as as_tensor, asarray as asarray,
    bartlett_window as bartlett_window, blackman_window as blackman_window, conversion as _conversion, empty as empty,
    empty_like as empty_like, empty_permuted as empty_permuted, empty_strided as empty_strided, eye as eye,
    from_dlpack as from_dlpack, from_file as from_file, from_numpy as from_numpy, frombuffer as frombuffer,
    full as full, full_like as full_like, hamming_window as hamming_window, hann_window as hann_window,
    kaiser_window as kaiser_window, linspace as linspace, logspace as logspace, ones as ones, ones_like as ones_like,
    range as range, scalar_tensor as scalar_tensor, tensor as tensor, to_dlpack as to_dlpack,
    tril_indices as tril_indices, triu_indices as triu_indices, zeros as zeros, zeros_like as zeros_like,
)
from ._creation.random import (
    normal as normal, rand as rand, rand_like as rand_like, randint as randint, randint_like as randint_like,
    randn as randn, randn_like as randn_like, randperm as randperm,
)
from ._device import (
    device as device, get_default_device as get_default_device, set_default_device as set_default_device,
)
from ._dispatch.observers import observe as observe, subscribe as subscribe
from ._dispatch.pipeline import pipeline as pipeline
from ._dispatch.schemas import registry as registry
from ._dispatch.torch_function import overridable_names as _overridable_names
from ._dtype import (
    DTYPE_ALIASES as _DTYPE_ALIASES, DTYPES as _DTYPES, NARROW as _NARROW, QUANTIZED as _QUANTIZED, RARE as _RARE,
    DType as dtype, can_cast as can_cast, finfo as finfo, get_default_dtype as get_default_dtype, iinfo as iinfo,
    promote_types as promote_types, set_default_dtype as set_default_dtype,
)
from ._methods import apply as _apply, indexing as _indexing
from ._methods.api import FUNCTIONS as _FUNCTIONS, result_type as result_type
from ._methods.predicates import (
    get_device as get_device, is_complex as is_complex, is_conj as is_conj, is_floating_point as is_floating_point,
    is_inference as is_inference, is_neg as is_neg, is_nonzero as is_nonzero, is_same_size as is_same_size,
    is_signed as is_signed, is_storage as is_storage, is_tensor as is_tensor, numel as numel, typename as typename,
)
from ._methods.removed import eig as eig, lstsq as lstsq, matrix_rank as matrix_rank, solve as solve, symeig as symeig
from ._storage import (
    LEGACY_STORAGES as _LEGACY_STORAGES, TypedStorage as TypedStorage, UntypedStorage as UntypedStorage,
)
from ._tensor import Tensor as Tensor, values as _values
from ._tensor.printing import get_printoptions as get_printoptions, set_printoptions as set_printoptions
from .functional import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, block_diag as block_diag,
    broadcast_shapes as broadcast_shapes, broadcast_tensors as broadcast_tensors, cartesian_prod as cartesian_prod,
    chain_matmul as chain_matmul, einsum as einsum, lu as lu, meshgrid as meshgrid, split as split,
    tensordot as tensordot, unravel_index as unravel_index,
)
from .torch_version import __version__ as __version__

if TYPE_CHECKING:  # what many programs do not use is loaded when they do: see ``_base.lazy``
    from . import (
        _C as _C, __config__ as __config__, __future__ as __future__, _dynamo as _dynamo, _guards as _guards,
        _higher_order_ops as _higher_order_ops, _logging as _logging, _ops as _ops, _prims as _prims,
        _prims_common as _prims_common, _subclasses as _subclasses, accelerator as accelerator, amp as amp, ao as ao,
        autograd as autograd, backends as backends, compiler as compiler, cpu as cpu, cuda as cuda,
        distributed as distributed, distributions as distributions, fft as fft, func as func, futures as futures,
        fx as fx, hub as hub, jit as jit, library as library, linalg as linalg, masked as masked, monitor as monitor,
        mps as mps, multiprocessing as multiprocessing, nested as nested, nn as nn, npu as npu, onnx as onnx,
        optim as optim, overrides as overrides, profiler as profiler, quasirandom as quasirandom,
        serialization as serialization, signal as signal, sparse as sparse, special as special, storage as storage,
        testing as testing, torch_version as torch_version, types as types, utils as utils, version as version,
        widgets as widgets, xpu as xpu,
    )
    from ._autograd.anomaly import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled, is_anomaly_enabled as is_anomaly_enabled,
        set_anomaly_enabled as set_anomaly_enabled,
    )
    from ._C import Tag as Tag
    from ._creation.sparse import (
        _validate_compressed_sparse_indices as _validate_compressed_sparse_indices,
        _validate_sparse_compressed_tensor_args as _validate_sparse_compressed_tensor_args,
        _validate_sparse_coo_tensor_args as _validate_sparse_coo_tensor_args,
        _validate_sparse_csr_tensor_args as _validate_sparse_csr_tensor_args, sparse_bsc_tensor as sparse_bsc_tensor,
        sparse_bsr_tensor as sparse_bsr_tensor, sparse_compressed_tensor as sparse_compressed_tensor,
        sparse_coo_tensor as sparse_coo_tensor, sparse_csc_tensor as sparse_csc_tensor,
        sparse_csr_tensor as sparse_csr_tensor,
    )
    from ._dispatch import return_types as return_types
    from ._dispatch.overloads import ops as ops
    from ._dynamo.decorators import _disable_dynamo as _disable_dynamo
    from ._dynamo.eval_frame import compile as compile
    from ._higher_order_ops.cond import cond as cond
    from ._methods.checks import (
        _assert as _assert, _check as _check, _check_index as _check_index, _check_is_size as _check_is_size,
        _check_not_implemented as _check_not_implemented, _check_tensor_all as _check_tensor_all,
        _check_type as _check_type, _check_value as _check_value, _check_with as _check_with,
    )
    from ._methods.elsewhere import get_device_module as get_device_module
    from ._methods.lobpcg import lobpcg as lobpcg
    from ._methods.lowrank import pca_lowrank as pca_lowrank, svd_lowrank as svd_lowrank
    from ._methods.settings import (
        are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
        get_deterministic_debug_mode as get_deterministic_debug_mode,
        get_float32_matmul_precision as get_float32_matmul_precision,
        get_num_interop_threads as get_num_interop_threads, get_num_threads as get_num_threads,
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
        is_warn_always_enabled as is_warn_always_enabled, set_default_tensor_type as set_default_tensor_type,
        set_deterministic_debug_mode as set_deterministic_debug_mode,
        set_float32_matmul_precision as set_float32_matmul_precision, set_flush_denormal as set_flush_denormal,
        set_num_interop_threads as set_num_interop_threads, set_num_threads as set_num_threads,
        set_warn_always as set_warn_always, use_deterministic_algorithms as use_deterministic_algorithms,
    )
    from ._methods.symbolic import (
        _sym_acos as _sym_acos, _sym_asin as _sym_asin, _sym_atan as _sym_atan, _sym_cos as _sym_cos,
        _sym_cosh as _sym_cosh, _sym_log2 as _sym_log2, _sym_sin as _sym_sin, _sym_sinh as _sym_sinh,
        _sym_sqrt as _sym_sqrt, _sym_tan as _sym_tan, _sym_tanh as _sym_tanh, sym_float as sym_float,
        sym_int as sym_int, sym_ite as sym_ite, sym_max as sym_max, sym_min as sym_min, sym_not as sym_not,
        sym_sqrt as sym_sqrt, sym_sum as sym_sum,
    )
    from ._run.install import install_as_torch as install_as_torch, uninstall_as_torch as uninstall_as_torch
    from ._subclasses.functional_tensor import (
        _disable_functionalization as _disable_functionalization,
        _enable_functionalization as _enable_functionalization, _freeze_functional_tensor as _freeze_functional_tensor,
        _from_functional_tensor as _from_functional_tensor, _is_functional_tensor as _is_functional_tensor,
        _sync as _sync, _to_functional_tensor as _to_functional_tensor,
    )
    from ._transforms.batch import vmap as vmap
    from .amp.autocast_mode import (
        autocast as autocast, autocast_decrement_nesting as autocast_decrement_nesting,
        autocast_increment_nesting as autocast_increment_nesting, clear_autocast_cache as clear_autocast_cache,
        get_autocast_cpu_dtype as get_autocast_cpu_dtype, get_autocast_dtype as get_autocast_dtype,
        get_autocast_gpu_dtype as get_autocast_gpu_dtype, is_autocast_cache_enabled as is_autocast_cache_enabled,
        is_autocast_cpu_enabled as is_autocast_cpu_enabled, is_autocast_enabled as is_autocast_enabled,
        set_autocast_cache_enabled as set_autocast_cache_enabled, set_autocast_cpu_dtype as set_autocast_cpu_dtype,
        set_autocast_cpu_enabled as set_autocast_cpu_enabled, set_autocast_dtype as set_autocast_dtype,
        set_autocast_enabled as set_autocast_enabled, set_autocast_gpu_dtype as set_autocast_gpu_dtype,
    )
    from .amp.grad_scaler import GradScaler as GradScaler
    from .ao._tensor import (
        dequantize as dequantize, quantize_per_channel as quantize_per_channel,
        quantize_per_tensor as quantize_per_tensor, quantize_per_tensor_dynamic as quantize_per_tensor_dynamic,
    )
    from .futures import Future as Future
    from .introspect.checks import check as check
    from .jit import ScriptFunction as ScriptFunction, ScriptModule as ScriptModule
    from .jit.annotations import (
        AnyType as AnyType, BoolType as BoolType, ComplexType as ComplexType, DeviceObjType as DeviceObjType,
        DictType as DictType, FloatType as FloatType, FutureType as FutureType, IntType as IntType,
        ListType as ListType, NoneType as NoneType, NumberType as NumberType, OptionalType as OptionalType,
        PyObjectType as PyObjectType, StreamObjType as StreamObjType, StringType as StringType,
        SymBoolType as SymBoolType, SymIntType as SymIntType, TensorType as TensorType, TupleType as TupleType,
        Type as Type, UnionType as UnionType,
    )
    from .serialization import PyTorchFileReader as PyTorchFileReader, load as load, save as save

globals().update({**_DTYPES, **_RARE, **_QUANTIZED, **_NARROW, **_QSCHEMES})
globals().update({**_DTYPE_ALIASES, **_LAYOUTS}, legacy_contiguous_format=contiguous_format)
for _name, _function in _FUNCTIONS.items():
    globals().setdefault(_name, _function)
_segment_reduce = _FUNCTIONS["segment_reduce"]  # PyTorch has it under both names
spmm, dsmm, hsmm, saddmm = (_FUNCTIONS[_name] for _name in ("mm", "mm", "hspmm", "sspaddmm"))
globals().update(_LEGACY_TENSORS)
globals().update(_LEGACY_STORAGES, Storage=_LEGACY_STORAGES["FloatStorage"])
_overridable_names(globals(), [*functional.__all__, "result_type", "is_complex", "is_conj", "is_floating_point",
                               "is_inference", "is_neg", "is_nonzero", "is_same_size", "is_signed", "numel",
                               "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"])
_overridable_names(globals(), ["as_tensor", "asarray", "tensor"], creates=True)
_overridable_names(globals(), ["range"], creates=True, refuses=True)


def _show(packet: str) -> None:
    """Have an operator that a user defines among the names of the package."""
    if packet in _FUNCTIONS:
        globals()[packet] = _FUNCTIONS[packet]
        if packet not in __all__:
            __all__.append(packet)


registry.on_define.append(_show)


def _draw(value: Any) -> str:
    """Draw a tensor or a module for a notebook without the extension."""
    from .viz import picture

    return str(picture(value))  # marimo asks a string of another class what it is, and does not find out


_conversion.draw = _draw


def load_ipython_extension(ip: Any) -> None:
    """Load cards for tensors and the magics: ``%load_ext mindtorch``."""
    from ._run.ipython import load

    load(ip)


def unload_ipython_extension(ip: Any) -> None:
    """Remove every trace of the extension: ``%unload_ext mindtorch``."""
    from ._run.ipython import unload

    unload(ip)


_getattr, _dir = _lazily(__name__, __file__, ": mindtorch does not have this name of PyTorch")
if not TYPE_CHECKING:
    __getattr__ = _getattr
__all__ = sorted(_name for _name in {*globals(), *_dir()}
                 if _name[0] != "_" and _name not in ("Any", "TYPE_CHECKING", "annotations"))
__dir__ = __all__.copy
