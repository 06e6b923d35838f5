"""``torch.distributed.tensor.parallel.style``: how a module's parameters, inputs and outputs are divided."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...._tensor import Tensor
from ....nn.module import Module
from ....nn.modules.linear import Linear
from ....nn.modules.sparse import Embedding
from ....nn.parameter import Parameter
from ...device_mesh import DeviceMesh
from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel"]
Layouts = Placement | Sequence[Placement | None] | None


class ParallelStyle(ABC):
    """How a module is divided (``torch.distributed.tensor.parallel.ParallelStyle``)."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Divide a module in place."""

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value}" for name, value in vars(self).items() if name != "src_data_rank")
        return f"{type(self).__name__}({parts})"

    def _distribute(self, module: Module, mesh: DeviceMesh, placements: Mapping[str, Placement]) -> None:
        """Divide parameters by name; one that was divided so under another name stays the same parameter."""
        for name, parameter in list(module._parameters.items()):
            if parameter is None or isinstance(parameter, DTensor):
                continue
            lie = (placements.get(name, Replicate()),)
            made = getattr(parameter, "_divided", None)
            if made is None or (made.device_mesh, made.placements) != (mesh, lie):
                made = Parameter(distribute_tensor(parameter, mesh, lie, src_data_rank=self.src_data_rank),
                                 parameter.requires_grad)
                parameter._divided = made
            module.register_parameter(name, made)


def as_dtensor(value: Any, mesh: DeviceMesh, layout: Placement | None, desired: Placement | None,
               local: bool) -> Any:
    """Return a tensor that lies so as a DTensor that lies as desired, or its part; without a layout the value itself.
    """
    if layout is None or not isinstance(value, Tensor):
        return value
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, (layout,))
    if desired is not None:
        desired = Shard(desired.dim % value.dim()) if isinstance(desired, Shard) else desired
        if value.placements != (desired,):
            value = value.redistribute(placements=(desired,))
    return value.to_local() if local else value


class _Divided(ParallelStyle):
    """A layer whose first input and whose output are laid out."""

    #: For each kind of layer: placements of its parameters, and of its input.
    rows: ClassVar[dict[type[Module], tuple[dict[str, Placement], Placement]]]
    defaults: ClassVar[tuple[Placement, Placement]]

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
                 use_local_output: bool = True):
        self.input_layouts = (input_layouts or self.defaults[0],)
        self.output_layouts = (output_layouts or self.defaults[1],)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        found = next((row for kind, row in self.rows.items() if isinstance(module, kind)), None)
        if found is None:
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")
        placements, desired = found
        (layout,), (wanted,) = self.input_layouts, self.output_layouts
        return distribute_module(
            module, device_mesh, lambda name, layer, mesh: self._distribute(layer, mesh, placements),
            lambda layer, inputs, mesh: (as_dtensor(inputs[0], mesh, layout, desired, False), *inputs[1:]),
            lambda layer, output, mesh: as_dtensor(output, mesh, wanted, wanted, self.use_local_output))


class ColwiseParallel(_Divided):
    """A linear layer or an embedding whose output features are divided
    (``torch.distributed.tensor.parallel.ColwiseParallel``).

    Args:
        input_layouts: how the input lies; replicated unless given.
        output_layouts: how the output shall lie; divided along its last dimension unless given.
        use_local_output: return this process's part instead of a DTensor.
    """

    rows: ClassVar = {Linear: ({"weight": Shard(0), "bias": Shard(0)}, Replicate()),
                      Embedding: ({"weight": Shard(1)}, Replicate())}
    defaults = (Replicate(), Shard(-1))


class RowwiseParallel(_Divided):
    """A linear layer whose input features, or an embedding whose rows are divided
    (``torch.distributed.tensor.parallel.RowwiseParallel``).

    Args:
        input_layouts: how the input lies; divided along its last dimension unless given.
        output_layouts: how the output shall lie; replicated unless given.
        use_local_output: return this process's part instead of a DTensor.
    """

    rows: ClassVar = {Linear: ({"weight": Shard(1)}, Shard(-1)), Embedding: ({"weight": Shard(0)}, Replicate())}
    defaults = (Shard(-1), Replicate())


class SequenceParallel(ParallelStyle):
    """A norm or a dropout whose input is divided along the sequence
    (``torch.distributed.tensor.parallel.SequenceParallel``).

    Args:
        sequence_dim: the dimension of the sequence.
        use_local_output: return this process's part instead of a DTensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False):
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        (layout,) = self.sequence_sharding
        return distribute_module(
            module, device_mesh, lambda name, layer, mesh: self._distribute(layer, mesh, {}),
            lambda layer, inputs, mesh: (as_dtensor(inputs[0], mesh, layout, layout, False), *inputs[1:]),
            lambda layer, output, mesh: output.to_local() if self.use_local_output else output)


def _several(layouts: Layouts) -> tuple[Placement | None, ...] | None:
    return layouts if layouts is None else (layouts,) if isinstance(layouts, Placement) else tuple(layouts)


class PrepareModuleInput(ParallelStyle):
    """A module whose inputs are made DTensors, and redistributed
    (``torch.distributed.tensor.parallel.PrepareModuleInput``).

    Args:
        input_layouts, desired_input_layouts: how each input lies, and shall lie; None for what is no tensor.
        input_kwarg_layouts, desired_input_kwarg_layouts: those of inputs by name.
        use_local_output: give the module this process's parts.

    Raises:
        AssertionError: if there is no desired layout for each layout.
    """

    def __init__(self, *, input_layouts: Layouts = None, desired_input_layouts: Layouts = None,
                 input_kwarg_layouts: Mapping[str, Placement] | None = None,
                 desired_input_kwarg_layouts: Mapping[str, Placement] | None = None, use_local_output: bool = False):
        self.input_layouts, self.desired_input_layouts = _several(input_layouts), _several(desired_input_layouts)
        self.input_kwarg_layouts = dict(input_kwarg_layouts or {})
        self.desired_input_kwarg_layouts = dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _prepared(self, inputs: tuple[Any, ...], keywords: dict[str, Any], mesh: DeviceMesh) -> Any:
        if self.input_layouts is not None:
            assert self.desired_input_layouts is not None
            if len(inputs) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            inputs = tuple(as_dtensor(value, mesh, layout, desired, self.use_local_output) for value, layout, desired in
                           zip(inputs, self.input_layouts, self.desired_input_layouts, strict=True))
        return inputs, {name: as_dtensor(value, mesh, self.input_kwarg_layouts.get(name),
                                         self.desired_input_kwarg_layouts.get(name), self.use_local_output)
                        for name, value in keywords.items()}

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_pre_hook(lambda _, inputs, keywords: self._prepared(inputs, keywords, device_mesh),
                                         with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """A module whose outputs are made DTensors, and redistributed
    (``torch.distributed.tensor.parallel.PrepareModuleOutput``).

    Args:
        output_layouts, desired_output_layouts: how each output lies, and shall lie; None for what is no tensor.
        use_local_output: return this process's parts.

    Raises:
        AssertionError: if there is no desired layout for each layout.
    """

    def __init__(self, *, output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True):
        self.output_layouts, self.desired_output_layouts = _several(output_layouts), _several(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts or ()) != len(self.desired_output_layouts or ()):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _prepared(self, outputs: Any, mesh: DeviceMesh) -> Any:
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        layouts, wanted = self.output_layouts or (), self.desired_output_layouts or ()
        if len(several) != len(layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        made = tuple(as_dtensor(value, mesh, layout, desired, self.use_local_output)
                     for value, layout, desired in zip(several, layouts, wanted, strict=True))
        return made[0] if len(made) == 1 else made

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(lambda _, inputs, outputs: self._prepared(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both ``PrepareModuleInput`` and ``PrepareModuleOutput``
    (``torch.distributed.tensor.parallel.PrepareModuleInputOutput``).
    """

    def __init__(self, *, input_layouts: Layouts = None, desired_input_layouts: Layouts = None,
                 input_kwarg_layouts: Mapping[str, Placement] | None = None,
                 desired_input_kwarg_layouts: Mapping[str, Placement] | None = None, use_local_input: bool = False,
                 output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts, desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
