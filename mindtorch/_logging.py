"""``torch._logging``: what the compiler logs."""
from __future__ import annotations

from typing import Any

from ._compile.logs import ARTIFACTS, ENABLED

__all__ = ["set_logs"]
__dir__ = __all__.copy
#: PyTorch's logs, which take a level.
LOGS = "all aot autograd c10d ddp distributed dtensor dynamic dynamo export fsdp inductor onnx"
#: PyTorch's artifacts, which are switched by True and False.
SWITCHED = """
    aot_graphs aot_joint_graph autotuning benchmarking bytecode caching compiled_autograd compiled_autograd_verbose
    compute_dependencies cudagraph_static_inputs cudagraphs ddp_graphs fusion graph graph_breaks graph_code
    graph_code_verbose graph_region_expansion graph_sizes guards hierarchical_compile incremental inductor_metrics
    ir_post_fusion ir_pre_fusion kernel_code onnx_diagnostics output_code overlap perf_hints post_grad_graphs
    pre_grad_graphs recompiles recompiles_verbose schedule side_effects sym_node trace_bytecode trace_call trace_source
"""


def set_logs(*, modules: Any = None, **artifacts: Any) -> None:
    """Log these artifacts from now on, and no others (``torch._logging.set_logs``).

    ``graph_code``, ``guards``, ``recompiles``, ``graph_breaks``, ``output_code`` and ``bytecode`` (the Python around
    the graphs) are switched by True and False; ``dynamo`` takes a level of ``logging`` too, and stands for all but
    ``output_code``. PyTorch's other logs and artifacts are taken, and there is nothing to log. The environment variable
    ``TORCH_LOGS`` names them, divided by commas.

    Raises:
        TypeError: if PyTorch has no such log or artifact.
        ValueError: if an artifact is switched by something else than True and False.
    """
    switched = SWITCHED.split()
    for name, wanted in artifacts.items():
        if name not in [*LOGS.split(), *switched]:
            raise TypeError(f"set_logs() got an unexpected keyword argument {name!r}; artifacts that are logged are "
                            f"{', '.join(ARTIFACTS)}")
        if name in switched and not isinstance(wanted, bool):
            raise ValueError(f"Expected bool to enable artifact {name}, received {wanted}")
    ENABLED.clear()
    ENABLED.update(name for name, wanted in artifacts.items() if wanted and name in ARTIFACTS)
