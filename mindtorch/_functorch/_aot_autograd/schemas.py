"""Side effects of a traced call on its inputs, and aliases among its outputs, which the compiled call reproduces."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

OutputType = Enum("OutputType", [
    "non_alias",  # its own memory, or memory that the graph's outputs share among themselves
    "alias_of_input",  # made again at run time, as a view of an input
    "is_input",  # an input itself
    "alias_of_intermediate_save_as_output",  # a view of a tensor that is no output: the graph returns that, too
    "alias_of_intermediate",  # another view of such a tensor
    "alias_of_intermediate_base_is_user_output",  # a view of another output
    "unsafe_view_alias",  # the only view of its base, which it need not know
    "custom_function_view",  # a view of an input that an ``autograd.Function`` returned
])


class MutationType(Enum):
    """Where an input is written: in the graph, or after it."""

    NOT_MUTATED = 1
    MUTATED_IN_GRAPH = 2
    MUTATED_OUT_GRAPH = 3


#: The outputs that the graph computes, and whose gradients are its tangents.
COMPUTED = (OutputType.non_alias, OutputType.unsafe_view_alias, OutputType.custom_function_view)


@dataclass(frozen=True)
class InputAliasInfo:
    """The effects of a call on one input."""

    is_leaf: bool
    mutates_data: bool
    mutates_metadata: bool  #: its shape or strides
    mutations_hidden_from_autograd: bool  #: by ``x.data``
    mutations_under_no_grad_or_inference_mode: bool
    mutates_storage_metadata: bool  #: by ``set_``
    requires_grad: bool  #: after the call
    writes: int  #: by how much its version grows
    keep_input_mutations: bool  #: whether the graph may write inputs

    @property
    def quiet(self) -> bool:
        """True if its writes have no derivative."""
        return self.mutations_hidden_from_autograd or self.mutations_under_no_grad_or_inference_mode

    @property
    def has_tangent(self) -> bool:
        """True if the value written into it has a gradient."""
        return self.mutates_data and self.requires_grad and not self.quiet

    @cached_property
    def mutation_type(self) -> MutationType:
        """Where the input is written: in the graph if that is allowed and autograd need not know."""
        if not (self.mutates_data or self.mutates_metadata):
            return MutationType.NOT_MUTATED
        if self.keep_input_mutations and not self.mutates_metadata and (self.quiet or not self.requires_grad):
            return MutationType.MUTATED_IN_GRAPH
        return MutationType.MUTATED_OUT_GRAPH


@dataclass(frozen=True)
class OutputAliasInfo:
    """The kind of one output."""

    output_type: Any
    raw_type: type
    base_idx: int | None  #: which input, output or intermediate tensor it aliases
    requires_grad: bool  #: not for views that were taken without grad mode
    views: tuple[Any, ...] = ()  #: the steps from that tensor to the output
    is_requiring_leaf: bool = False  #: whether it requires grad without a history, after ``requires_grad_``


@dataclass(eq=False)
class ViewAndMutationMeta:
    """All that a call does besides computing: which inputs it writes, and which outputs alias which tensors."""

    input_info: list[InputAliasInfo]
    output_info: list[OutputAliasInfo]
    num_intermediate_bases: int
    keep_input_mutations: bool
    traced_tangents: list[Any]  #: tensors in the layout of each output whose gradient the backward graph takes
    bases_require_grad: list[bool] = field(default_factory=list)
    grad_enabled_mutation: bool | None = None  #: the grad mode that the call leaves, if it is another one
    tokens: Mapping[Any, Any] = field(default_factory=dict)

    @cached_property
    def mutated_inp_runtime_indices(self) -> list[int]:
        """The inputs that are written after the graph has run."""
        return [i for i, info in enumerate(self.input_info) if info.mutation_type is MutationType.MUTATED_OUT_GRAPH]

    @cached_property
    def mutated_graph_handled_indices(self) -> list[int]:
        """The inputs that the graph writes."""
        return [i for i, info in enumerate(self.input_info) if info.mutation_type is MutationType.MUTATED_IN_GRAPH]

    @property
    def num_mutated_inp_runtime_indices(self) -> int:
        return len(self.mutated_inp_runtime_indices)

    @property
    def num_outputs(self) -> int:
        return len(self.output_info)

    @property
    def num_forward_returns(self) -> int:
        """The number of the graph's results: written inputs, outputs, intermediate bases."""
        return self.num_mutated_inp_runtime_indices + self.num_outputs + self.num_intermediate_bases

    @cached_property
    def returns_with_tangents(self) -> list[bool]:
        """For each of the graph's results, whether the backward graph takes its gradient."""
        inputs = [self.input_info[i].has_tangent for i in self.mutated_inp_runtime_indices]
        outputs = [info.output_type in COMPUTED and info.requires_grad for info in self.output_info]
        return [*inputs, *outputs, *self.bases_require_grad]


@dataclass
class AOTConfig:
    """How a function is compiled."""

    fw_compiler: Callable[..., Any] | None
    bw_compiler: Callable[..., Any] | None
    partition_fn: Callable[..., Any] | None
    decompositions: Mapping[Any, Callable[..., Any]]
    num_params_buffers: int = 0
    aot_id: int = 0
    keep_inference_input_mutations: bool = False
    aliases_as_eager: bool = False  #: whether each output that shares memory is made again, and inputs get no base
    is_export: bool = False
    no_tangents: bool = False
    dynamic_shapes: bool = False
    aot_autograd_arg_pos_to_source: Any = None
    static_input_indices: list[int] | None = None
    inference_compiler: Callable[..., Any] | None = None
    enable_log: bool = True
    pre_dispatch: bool = False
