"""The names of PyTorch that mindtorch leaves out, with the reasons that errors give (``tests/differences.md``)."""
from __future__ import annotations

from functools import wraps
from types import FunctionType, ModuleType
from typing import Any, NoReturn

#: Names below ``torch``, and a sentence that holds for all of them.
ROWS = {
    "_inductor": "`torch.compile` makes programs of NumPy's operations; `mindtorch/_compile` has them; `config`, "
                 "`compile_fx` and `decomposition` are there",
    "_higher_order_ops.inline_asm_elementwise": "its instructions are those of a GPU",
    "onnx": "programs are not exported to ONNX; `torch.save` keeps their state, `torch.fx` their code",
    "fx.experimental.graph_gradual_typechecker fx.experimental.migrate_gradual_types":
        "sizes are found by running a graph: with `ShapeProp`, fake tensors, symbolic sizes",
    "fx.experimental.accelerator_partitioner fx.experimental.partitioner_utils":
        "there are no such devices; `CapabilityBasedPartitioner` divides a graph for a backend",
    "ao.quantization nn.intrinsic nn.qat nn.quantized nn.quantizable":
        "of quantisation there are observers, fake quantisation, quantised tensors and dynamically quantised layers",
    "distributed.rpc": "there are no remote calls; collectives and `send`/`recv` exchange tensors and objects",
    "distributed.AllToAllOptions distributed.AllreduceCoalescedOptions distributed.AllreduceOptions "
    "distributed.BarrierOptions distributed.BroadcastOptions distributed.GatherOptions "
    "distributed.ReduceOptions distributed.ReduceScatterOptions distributed.ScatterOptions":
        "they belong to groups' methods in C++; the functions of `torch.distributed` take them as arguments",
    "distributed.BackendConfig distributed.BuiltinCommHookType distributed.Logger distributed.ProcessGroupGloo "
    "distributed.QueueEmptyError distributed.Reducer":
        "they are classes of C++; groups are MPI's, and hooks are functions in Python",
    "distributed.reduce_op": "it is deprecated; `ReduceOp` has the reductions",
    "distributed.register_rendezvous_handler":
        "ranks meet by `env://`, `tcp://`, `file://`, or a store of the program's own",
    "distributed.shrink_group": "only NCCL has it; ranks that are left make a group by `new_group`",
    "distributed.breakpoint": "ranks share one terminal; run the program in one process to stop in it",
    "distributed.remote_device": "there are no remote calls",
    "distributed.checkpoint.hf_storage distributed.checkpoint._consolidate_hf_safetensors":
        "`torch.load` and the library safetensors read and write these files",
    "mtia": "there is no such device",
    "sparse.SparseSemiStructuredTensor sparse.SparseSemiStructuredTensorCUTLASS "
    "sparse.SparseSemiStructuredTensorCUSPARSELT sparse.to_sparse_semi_structured sparse.solve":
        "PyTorch has them on CUDA alone; a dense or a CSR tensor gives the same numbers on a CPU",
    "sparse._triton_ops sparse._triton_ops_meta": "there is no Triton; products of compressed blocks are NumPy's",
    "package": "programs are not packed into archives",
    "utils.cpp_extension": "mindtorch is pure Python; `mindtorch.library` takes operators of one's own",
    "utils.bottleneck": "`%%profile` and `torch.profiler` show where the time goes",
    "utils.data.datapipes": "they are no longer developed; an `IterableDataset` does the same",
}
#: Modules that many programs import but do not use: their names are there, and calling one raises the sentence.
IMPORTED = ("_inductor", "sparse._triton_ops", "sparse._triton_ops_meta",
            "_higher_order_ops.inline_asm_elementwise", "onnx", "ao.quantization",
            "nn.intrinsic", "nn.qat", "nn.quantized", "nn.quantizable", "package",
            "distributed.rpc", "distributed.checkpoint.hf_storage",
            "distributed.checkpoint._consolidate_hf_safetensors")
LEFT_OUT = {name: why for names, why in ROWS.items() for name in names.split()}


def reason(name: str) -> str | None:
    """Return the sentence for a name below ``torch`` that is left out, or whose parent is; else None."""
    found = LEFT_OUT.get(name)
    if found is None:
        return reason(name.rpartition(".")[0]) if "." in name else None
    return f"mindtorch leaves out torch.{name}: {found}"


def is_imported(name: str) -> bool:
    """Return True for a module below ``torch`` that can be imported though it is left out."""
    return any(name == found or name.startswith(f"{found}.") for found in IMPORTED)


class _Refusing(type):
    """The type of a class that stands for a name of a left-out module: it can be a base, and calling it raises."""

    _name: str  #: below ``torch``

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise RuntimeError(f"{reason(cls._name)}: torch.{cls._name} cannot be used")

        if len(args) == 1 and isinstance(args[0], FunctionType) and not kwargs:  # a decorator, at a program's import
            return wraps(args[0])(refuse)
        refuse()

    def __getattr__(cls, name: str) -> Any:
        if name.startswith(("__", "_repr", "_ipython")):
            raise AttributeError(name)
        return refusing_class(f"{cls._name}.{name}")


def refusing_class(name: str) -> _Refusing:
    """Return a stand-in for a left-out name below ``torch``: a class that can be a base, and raises when called."""
    where, _, last = name.rpartition(".")
    return _Refusing(last, (), {"__module__": f"torch.{where}", "_name": name})


class Absent(ModuleType):
    """A left-out module that can be imported: each of its names is there, and calling one raises the reason."""

    def __init__(self, name: str):
        super().__init__(f"torch.{name}", f"{reason(name)}.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = refusing_class(f"{self.__name__.removeprefix('torch.')}.{name}")
        setattr(self, name, value)
        return value
