"""Backends that run AOTAutograd's graphs operator by operator (``torch._dynamo.backends.debugging``)."""
from __future__ import annotations

from ..._functorch.compilers import default_decompositions, nop
from ..._functorch.partitioners import min_cut_rematerialization_partition
from .common import aot_autograd
from .registry import register_backend

aot_eager = aot_autograd(fw_compiler=nop, partition_fn=min_cut_rematerialization_partition,
                         keep_inference_input_mutations=True)
aot_eager_decomp_partition = aot_autograd(
    fw_compiler=nop, bw_compiler=nop, partition_fn=min_cut_rematerialization_partition,
    decompositions=default_decompositions)
register_backend(aot_eager, name="aot_eager", tags=("debug",))
register_backend(aot_eager_decomp_partition, name="aot_eager_decomp_partition", tags=("debug",))
