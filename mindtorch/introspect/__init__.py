"""Facts about what the library does, as dataclasses and named tuples: no HTML, no IPython. ``viz`` draws them."""
from typing import TYPE_CHECKING

from .._base.lazy import lazily

if TYPE_CHECKING:
    from .._dispatch.observers import DispatchEvent, Move, TensorMeta, Trace, observe
    from .broadcast import BroadcastFacts, Dimension, broadcast_facts, parse_shape
    from .checks import CheckFacts, Checking, Finding, check, checking
    from .chrome_trace import save_chrome_trace, to_chrome_trace
    from .compiled import CompileFacts, compile_facts, is_compiled, is_users, watch_compile
    from .container import ItemFacts, container_facts, holds_tensors
    from .dispatched import (
        Asked, AskedTrace, EventRun, LineCalls, ModuleCall, ModuleEvents, NodeCalls, argument_text, by_line, by_module,
        watch_dispatch,
    )
    from .folding import Fold, folded, modules_of, unfolded
    from .forward_blocks import Block, Flow, blocks
    from .forward_pass import ForwardFacts, Step, Value, forward, forward_or_error, watch_forward
    from .glossary import GLOSSARY, Term
    from .graph import GraphFacts, NodeFacts, Saved, graph_facts
    from .libraries import is_node, is_tensor, library_of
    from .memory import BlockFacts, DeferredFree, MemoryFacts, SegmentFacts, StorageUse, memory_facts
    from .module import MemberFacts, ModuleFacts, module_facts
    from .names import module_name, named_tensors, names_of, storage_number
    from .npu import NpuSource, start_npu
    from .off_host import Pending, Source, sources
    from .operator import OperatorFacts, Written, operator_facts
    from .overview import Overview, brightness, picture_layout, pictures, tensor_overview
    from .pipeline import Flush, PipelineFacts, Recorded, watch_pipeline
    from .profiler import Profile, Share, profile
    from .pytorch import Overhead
    from .races import Access, Race
    from .ranks import RankOutput, RankShare, lane_of, rank_and_lane, rank_shares, timeline_of_ranks
    from .schedule import ScheduleFacts, schedule_facts
    from .spans import Arrow, OperatorPath, Span, Timeline, timeline
    from .stages import Line, Origin, Remark, Stage, Stages
    from .stepper import BackwardSteps, GradientFacts, StepFacts
    from .storage import PLACES, Sharer, StorageFacts, StrideFacts, storage_facts, stride_facts
    from .tensor import (
        Cell, Statistics, TensorFacts, cells, pending_of, tensor_facts, tensors_facts, values_without_waiting,
    )
    from .traced import CallFacts, TracedFacts, graph_of, traced_facts
    from .training import Series, TrainingFacts, TrainingRecord, gradient_norms
    from .why import Explanation, explain, last_error
    from .writes import Write, watch_writes, watching_writes
else:
    __getattr__, __dir__ = lazily(__name__, __file__)
