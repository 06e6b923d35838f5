"""What is mutated, and which tests are to notice it. A name of an area is what the command line takes."""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Area(NamedTuple):
    """Modules below ``mindtorch`` and tests below ``tests``, as patterns."""

    modules: str
    tests: str

    def sources(self, tree: Path) -> list[str]:
        return _found(tree, "mindtorch", self.modules)

    def test_modules(self, tree: Path) -> list[str]:
        return _found(tree, "tests", self.tests)


def _found(tree: Path, top: str, patterns: str) -> list[str]:
    found = [sorted(tree.glob(f"{top}/{pattern}")) for pattern in patterns.split()]
    assert all(found), f"a pattern of {patterns} fits no file"
    return [str(path.relative_to(tree)) for paths in found for path in paths]


AREAS = {
    "pipeline": Area("_dispatch/pipeline.py", "dispatch/test_pipeline.py notebook/test_pipeline_magic.py"),
    "dispatcher": Area("_dispatch/dispatcher.py _dispatch/keys.py _dispatch/observers.py",
                       "dispatch/test_dispatcher.py dispatch/test_observers.py dispatch/test_registry.py "
                       "dispatch/test_pipeline.py dispatch/test_torch_function.py dispatch/test_torch_dispatch.py "
                       "dispatch/test_backends.py dispatch/test_foreach.py npu/test_tensors.py func/test_vmap.py "
                       "autograd/test_grad_mode.py notebook/test_states.py"),
    "allocator": Area("_backends/npu/allocator.py",
                      "npu/test_memory.py npu/test_asynchrony.py npu/test_runtime.py npu/test_sanitizer*.py "
                      "npu/test_simulator_faults.py npu/test_memory_model.py npu/test_return_codes.py "
                      "notebook/test_memory_magic.py"),
    "streams": Area("_backends/npu/streams.py",
                    "npu/test_asynchrony.py npu/test_runtime.py npu/test_sanitizer*.py npu/test_simulator_faults.py "
                    "npu/test_memory_model.py npu/test_return_codes.py notebook/test_timeline.py"),
    "optimizers": Area("optim/*.py", "optim/test_*.py test_amp.py"),
    "views": Area("_autograd/views.py _backends/common/view/*.py",
                  "test_views.py test_view_layouts.py test_boundaries.py test_memory.py test_math_bits.py "
                  "autograd/test_views.py autograd/test_engine.py autograd/test_graph.py "
                  "autograd/test_function.py"),
    "autograd": Area("_autograd/[!v_]*.py",
                     "autograd/test_engine.py autograd/test_graph.py autograd/test_views.py autograd/test_hooks.py "
                     "autograd/test_function.py "
                     "autograd/test_grad_mode.py autograd/test_backward_arguments.py autograd/test_random_graphs.py "
                     "autograd/test_subsets.py autograd/test_modes.py func/test_forward_ad.py "
                     "utils/test_checkpoint.py"),
    # What pictures are drawn of; what explains errors (`why`) and finds mistakes (`checks`) has tests of its own.
    "facts": Area("introspect/tensor.py introspect/storage.py introspect/names.py introspect/broadcast.py "
                  "introspect/graph.py introspect/folding.py introspect/module.py introspect/memory.py "
                  "introspect/npu.py introspect/pipeline.py introspect/profiler.py introspect/spans.py "
                  "introspect/dispatched.py introspect/overview.py introspect/container.py",
                  "notebook/test_facts.py notebook/test_graph_folding.py notebook/test_layouts.py "
                  "notebook/test_memory_magic.py notebook/test_modules.py notebook/test_pipeline_magic.py "
                  "notebook/test_profile.py notebook/test_states.py notebook/test_timeline.py "
                  "notebook/test_dispatch_magic.py notebook/test_overview.py notebook/test_containers.py "
                  "notebook/test_*_facts.py"),
}
