"""Changes of the library that the lessons' asserts notice: for each lesson a few, as Python that runs first."""

MUTATIONS = {
    "01_strides": {
        "expand copies": """
import mindtorch
own = mindtorch.Tensor.expand
mindtorch.Tensor.expand = lambda self, *sizes: own(self, *sizes).clone()
""",
        "t copies": """
import mindtorch
own = mindtorch.Tensor.t
mindtorch.Tensor.t = lambda self: own(self).contiguous()
""",
        "the offset is forgotten": """
import mindtorch
mindtorch.Tensor.storage_offset = lambda self: 0
""",
    },
    "02_views": {
        "reshape always copies": """
import mindtorch
own = mindtorch.Tensor.reshape
mindtorch.Tensor.reshape = lambda self, *shape: own(self, *shape).clone()
""",
        "reshape copies what is not contiguous": """
import mindtorch
own = mindtorch.Tensor.reshape
mindtorch.Tensor.reshape = lambda self, *shape: own(self.contiguous(), *shape)
""",
    },
    "03_broadcasting": {
        "no sum, only the first": """
from mindtorch._autograd import engine
def reduce_grad(grad, shape):
    while grad.dim() > len(shape):
        grad = grad[0]
    return grad[tuple(slice(0, size) for size in shape)]
engine.reduce_grad = reduce_grad
""",
        "gradients are averaged": """
from mindtorch._autograd import engine
own = engine.reduce_grad
engine.reduce_grad = lambda grad, shape: own(grad, shape) * (__import__("math").prod(shape) / grad.numel())
""",
    },
    "04_kernels": {
        "wrong promotion": """
from mindtorch import library, registry
own = registry["add.Tensor"].kernel(1).fn
library.impl("add.Tensor", "cpu", lambda self, other, *rest: own(self, other, *rest).to(self.dtype))
""",
        "alpha is forgotten": """
from mindtorch import library, registry
own = registry["add.Tensor"].kernel(1).fn
library.impl("add.Tensor", "cpu", lambda self, other, alpha=1: own(self, other))
""",
    },
    "05_keys": {
        "the key is not excluded": """
from contextlib import contextmanager
from mindtorch import course
@contextmanager
def excluded(name):
    yield
course.excluded = excluded
""",
        "autograd does not see casts": """
import mindtorch
own = mindtorch.Tensor.to
mindtorch.Tensor.to = lambda self, *args, **kwargs: own(self.detach(), *args, **kwargs)
""",
    },
    "06_derivatives": {
        "halved": """
from mindtorch import library
library.derivative("relu", self=lambda grad, result: grad * (result > 0) / 2)
""",
        "unstable": """
import mindtorch
mindtorch.Tensor.log_softmax = lambda self, dim: self.softmax(dim).log()
""",
    },
    "07_engine": {
        "overwrite instead of accumulate": """
from mindtorch._autograd import accumulate, engine
def overwrite(variable, grads):
    variable._grad = grads.pop()
accumulate.accumulate = engine.accumulate = overwrite
""",
        "what meets is not added": """
from mindtorch._autograd import engine
engine.add = engine.add_ = lambda have, new: have
""",
    },
    "08_saving": {
        "the version is not checked": """
from mindtorch._autograd import saved
own = saved.Saved.unpack
def unpack(self, node, attach=False):
    if self.tensor is not None and self.tensor._version_counter is not None:
        self.version = self.tensor._version_counter[0]
    return own(self, node, attach)
saved.Saved.unpack = unpack
""",
        "detach copies": """
import mindtorch
own = mindtorch.Tensor.detach
mindtorch.Tensor.detach = lambda self: own(self).clone()
""",
    },
    "09_optimizers": {
        "no bias correction": """
import mindtorch
def step(self, closure=None):
    with mindtorch.no_grad():
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m = state["exp_avg"] = state.get("exp_avg", 0) * 0.9 + p.grad * 0.1
                s = state["exp_avg_sq"] = state.get("exp_avg_sq", 0) * 0.999 + p.grad * p.grad * 0.001
                p -= group["lr"] * m / (s.sqrt() + 1e-8)
mindtorch.optim.Adam.step = step
""",
        "no momentum": """
import mindtorch
own = mindtorch.optim.SGD.__init__
def init(self, params, lr=1e-3, momentum=0, **settings):
    own(self, params, lr=lr, **settings)
mindtorch.optim.SGD.__init__ = init
""",
        "modules forget what is inside": """
import mindtorch
own = mindtorch.nn.Module.named_parameters
mindtorch.nn.Module.named_parameters = lambda self, prefix="", recurse=True, **more: own(self, prefix, False)
""",
    },
    "10_lazy": {
        "in-place reordered": """
from mindtorch._dispatch.pipeline import Pipeline
own = Pipeline.flush
def flush(self):
    self.pending.sort(key=lambda entry: not entry.op.is_inplace)
    own(self)
Pipeline.flush = flush
""",
        "nothing is recorded": """
from mindtorch._dispatch.pipeline import Pipeline
own = Pipeline._record
def record(self, op, kernel, backend, args):
    return self._run_now(op, args)
Pipeline._record = record
""",
    },
    "11_streams": {
        "wait does nothing": """
import mindtorch
mindtorch.npu.Stream.wait_event = lambda self, event: None
""",
        "an event is recorded in another stream": """
import mindtorch
own = mindtorch.npu.Stream.record_event
mindtorch.npu.Stream.record_event = lambda self, event=None: own(mindtorch.npu.default_stream())
""",
    },
    "12_allocator": {
        "record_stream does nothing": """
import mindtorch
mindtorch.Tensor.record_stream = lambda self, stream: None
""",
        "blocks are never used again": """
from mindtorch._backends.npu.allocator import Allocator
Allocator.fit = staticmethod(lambda fitting, size: None)
""",
    },
    "13_npu": {
        "offsets are not told": """
import mindtorch
mindtorch.Tensor.storage_offset = lambda self: 0
""",
        "views are copied": """
import mindtorch
own = mindtorch.Tensor.t
mindtorch.Tensor.t = lambda self: own(self).contiguous()
""",
    },
    "14_engines": {
        "the mean is forgotten": """
from mindtorch.nn.parallel import distributed
def launch(self, group, hook=None, size=0):
    self.work = distributed.all_reduce(self.flat, group=group, async_op=True)
distributed.Bucket.launch = launch
""",
        "ranks begin with parameters of their own": """
from mindtorch.nn.parallel import distributed
distributed.DistributedDataParallel._broadcast = lambda self, tensors: None
""",
        "the last bucket is left out": """
from mindtorch.nn.parallel import distributed
own = distributed.buckets_of
distributed.buckets_of = lambda parameters, capacity: own(parameters, capacity)[:1]
own_arrived = distributed.DistributedDataParallel._arrived
distributed.DistributedDataParallel._arrived = lambda self, p: p in self._bucket_of and own_arrived(self, p)
""",
    },
    "15_clinic": {
        "leaves forget what was there": """
from mindtorch._autograd import accumulate, engine
def overwrite(variable, grads):
    variable._grad = grads.pop()
accumulate.accumulate = engine.accumulate = overwrite
""",
        "lists are searched for parameters": """
import mindtorch
own = mindtorch.nn.Module.__setattr__
def setattr(self, name, value):
    own(self, name, mindtorch.nn.ModuleList(value) if isinstance(value, list) else value)
mindtorch.nn.Module.__setattr__ = setattr
""",
    },
    "16_names": {
        "the loss is not masked": """
import mindtorch
own = mindtorch.nn.functional.cross_entropy
def cross_entropy(scores, targets, ignore_index=-100, **more):
    return own(scores, targets.clamp(min=0), **more)
mindtorch.nn.functional.cross_entropy = cross_entropy
""",
        "positions are forgotten": """
import mindtorch
own = mindtorch.nn.functional.scaled_dot_product_attention
mindtorch.nn.functional.scaled_dot_product_attention = lambda q, k, v, is_causal=False: own(q, k, v)
""",
    },
    "17_fx": {
        "calls that nothing uses are dropped": """
import mindtorch
own = mindtorch.fx.Tracer.trace
def trace(self, root, concrete_args=None):
    graph = own(self, root, concrete_args)
    graph.eliminate_dead_code()
    return graph
mindtorch.fx.Tracer.trace = trace
""",
        "a proxy counts as true": """
import mindtorch
mindtorch.fx.proxy.TracerBase.to_bool = lambda self, proxy: True
""",
    },
    "18_dynamo": {
        "constants are not guarded": """
from mindtorch._dynamo.guards import Guards
Guards.constant = lambda self, source, value: None
""",
        "aliases are not guarded": """
from mindtorch._dynamo.guards import Guards
Guards.finish = lambda self: None
Guards.twins = lambda self, source, other: None
""",
    },
    "19_symbols": {
        "guards on sizes are left out": """
from mindtorch.fx.experimental.shape_env import ShapeEnv
ShapeEnv._add_guard = lambda self, condition, size_oblivious: None
""",
        "sizes are never symbols by themselves": """
import mindtorch
own = mindtorch.compile
mindtorch.compile = lambda *args, dynamic=None, **more: own(*args, dynamic=bool(dynamic), **more)
""",
    },
    "20_functionalization": {
        "a write goes into the view alone": """
from mindtorch._subclasses import functional_tensor
functional_tensor.written_back = lambda base, views, value, copies: base if views else value
""",
        "views are not computed again": """
from mindtorch._subclasses.functional_tensor import FunctionalTensor
FunctionalTensor.value = lambda self: self._memory.base if not self._views else self._value
""",
    },
    "21_partition": {
        "every product is computed again": """
from mindtorch._functorch._aot_autograd import min_cut
min_cut._is_dear = lambda node, passes, options: False
min_cut._weight = lambda node, passes: 1.0
""",
        "nothing is computed again": """
from mindtorch._functorch import aot_autograd, partitioners
partitioners.min_cut_rematerialization_partition = partitioners.default_partition
""",
    },
    "22_loops": {
        "sums are differences in loops": """
from mindtorch._compile import loops
loops.EXPRESSIONS["add"] = "{0} - {1}"
""",
        "a tensor has the bytes of one number": """
import mindtorch
mindtorch.Tensor.nbytes = property(lambda self: self.element_size())
""",
    },
    "23_profiles": {
        "own times are whole times": """
from mindtorch.autograd import profiler
profiler._subtract_children = lambda events: None
""",
        "ends are not noted": """
from mindtorch.autograd.profiler import profile
own = profile._add
profile._add = lambda self, name, start, duration, *rest: own(self, name, start, 0, *rest)
""",
    },
    "24_dtensor": {
        "a sum is taken for a whole": """
import mindtorch.course.lessons.dtensor as seen
own = seen.whole
seen.whole = lambda pieces, place: pieces[0] if place.is_partial() else own(pieces, place)
""",
        "the cheapest way is not looked for": """
from mindtorch.distributed.tensor import _dispatch
_dispatch.chosen = lambda call, rule, i, written: call.all(_dispatch.Replicate())
""",
    },
    "25_windows": {
        "as_strided copies": """
import mindtorch
own = mindtorch.Tensor.as_strided
mindtorch.Tensor.as_strided = lambda self, *args: own(self, *args).clone()
""",
        "strides are forgotten": """
import mindtorch
own = mindtorch.nn.functional.conv2d
mindtorch.nn.functional.conv2d = lambda *args, stride=1, **more: own(*args, **more)
""",
    },
    "26_numbers": {
        "round has the slope 1": """
import mindtorch
own = mindtorch.Tensor.round
mindtorch.Tensor.round = lambda self, **more: self + (own(self.detach(), **more) - self.detach())
""",
        "softmax is not in autocast's list": """
import mindtorch
own = mindtorch.Tensor.softmax
def softmax(self, dim, dtype=None):
    return own(self, dim, dtype).to(mindtorch.bfloat16 if mindtorch.is_autocast_enabled("cpu") else self.dtype)
mindtorch.Tensor.softmax = softmax
""",
    },
    "27_custom": {
        "opcheck passes everything": """
import mindtorch
mindtorch.library.opcheck = lambda op, args, **more: {"test_schema": "SUCCESS", "test_faketensor": "SUCCESS"}
""",
        "derivatives are doubled": """
from mindtorch.library import CustomOpDef
own = CustomOpDef.register_autograd
def register_autograd(self, backward, **more):
    own(self, lambda ctx, grad: 2 * backward(ctx, grad), **more)
CustomOpDef.register_autograd = register_autograd
""",
    },
    "28_checkpoints": {
        "every view gets memory of its own": """
from mindtorch import _utils
own = _utils._rebuild_tensor_v2
_utils._rebuild_tensor_v2 = lambda *args: own(*args).clone()
""",
        "an optimizer's averages are left out": """
import mindtorch
own = mindtorch.optim.Optimizer.state_dict
mindtorch.optim.Optimizer.state_dict = lambda self: own(self) | {"state": {}}
""",
        "what is missing is passed over": """
import mindtorch
own = mindtorch.nn.Module.load_state_dict
mindtorch.nn.Module.load_state_dict = lambda self, state, strict=True, **more: own(self, state, False, **more)
""",
    },
}
