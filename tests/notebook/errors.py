"""Common errors, each raised for real: what ``%why`` knows of them, by the names of its rows."""
from __future__ import annotations

import functools
import importlib
import operator

import numpy as np

import mindtorch as torch
import mindtorch.nn.functional as F
from mindtorch import introspect, nn, optim
from tests.operators import forget

A, B = torch.ones(3, 4), torch.ones(2, 4)
SQUARE, VECTOR, SCORES = torch.ones(2, 3), torch.ones(4), torch.zeros(2, 3)
META, INTEGERS = torch.ones(2, 3, device="meta"), torch.arange(3)


def leaf():
    w = torch.ones(3, requires_grad=True)
    w[0] = 5


def modified():
    a = torch.ones(3, requires_grad=True)
    b = a.exp()
    b[1:].mul_(2)
    b.sum().backward()


def twice():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    loss.backward()


def of_many():
    w = torch.ones(3, requires_grad=True)
    y = w * 2
    y.backward()


def in_no_grad():
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        loss = (w * 2).sum()
    loss.backward()


def gradient_shape():
    w = torch.ones(3, requires_grad=True)
    y = w * 2
    y.backward(torch.ones(4))


def unused():
    v, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.grad(v.sum(), w)


def flag_of_result():
    y = torch.ones(2, requires_grad=True) * 2
    y.requires_grad_(False)


def detached():
    y = torch.ones(2, requires_grad=True) * 2
    z = y.sin().sum()
    y.detach_()
    z.backward()


def out_of_a_graph():
    w = torch.ones(3, requires_grad=True)
    torch.add(w, 1, out=torch.zeros(3))


def assigned_gradient():
    w, g = torch.ones(3, requires_grad=True), torch.ones(3, dtype=torch.float64)
    w.grad = g


def wrong_shape():
    w = torch.ones(3, requires_grad=True)
    w.grad = torch.ones(2)


def misspelt_import():
    from mindtorch.nn import Linaer  # noqa: F401


def gradient_of_none():
    w = torch.ones(3, requires_grad=True)
    w.grad.zero_()


def step_of_none():
    w = torch.ones(3)
    w.sub_(0.1 * w.grad)


def late_error():
    x = torch.ones(5, device="npu")
    y = x[torch.tensor([9], device="npu")]
    try:
        y.tolist()
    finally:
        torch.npu.synchronize()


def no_gradient():
    w = torch.ones(3, requires_grad=True)
    w.grad = 0


class Uninitialised(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(1, 1)


class Unmade(nn.Module):
    def __init__(self):
        self.size = 3

    def forward(self, x):
        return x


class Misspelt(nn.Module):
    def forwrad(self, x):
        return x


def assigned_parameter():
    layer = nn.Linear(2, 2)
    layer.weight = torch.ones(2, 2)


def one_of_views():
    a, b = (torch.ones(2, 2, requires_grad=True) * 1).unbind()
    a.mul_(b)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class Wide(Twice):
    @staticmethod
    def backward(ctx, grad):
        return torch.ones(3)


def weights_modified():
    w, x = torch.ones(3, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    loss = (x @ w).sum()
    with torch.no_grad():
        w -= 0.1
    loss.backward()


def hidden_state():
    w, h = torch.ones(4, 4, requires_grad=True), torch.zeros(2, 4)
    for x in torch.ones(3, 2, 4):
        h = torch.tanh(x + h @ w)
        loss = h.sum()
        loss.backward()


def frozen():
    model = nn.Linear(3, 2).requires_grad_(False)
    model(SQUARE).sum().backward()


def in_condition():
    if VECTOR > 0:
        raise AssertionError


def inference():
    with torch.inference_mode():
        a = torch.ones(2)
    a.requires_grad_()


def deep_copy():
    import copy

    y = torch.ones(2, requires_grad=True) * 2
    copy.deepcopy(y)


def two_layers():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 2))
    model(SQUARE)


def other_sizes():
    model = nn.Linear(3, 5)
    model.load_state_dict(nn.Linear(3, 4).state_dict())


def other_names():
    model = nn.Linear(3, 4)
    model.load_state_dict(nn.Sequential(model).state_dict())


def not_a_leaf():
    w = torch.ones(2, requires_grad=True) * 2
    optim.SGD([w], lr=0.1)


def in_pipeline():
    x = torch.arange(5.0)
    with torch.pipeline():
        y = x * 2
        z = y[torch.tensor([7])]
        z.sum()


def after_pipeline():
    x = torch.arange(5.0)
    try:
        with torch.pipeline():
            z = x[torch.tensor([7])] * 2
    except RuntimeError:
        pass
    z.tolist()


def no_kernel():
    name = "only_somewhere"
    torch.library.define(f"{name}(Tensor self) -> Tensor")
    try:
        torch.registry[name](A)
    finally:
        forget(name)


def in_place_broadcast():
    c = torch.ones(3)
    c.add_(SQUARE)


#: The row, what raises, and a part of what the explanation must say.
ERRORS = [
    ("broadcast", lambda: A + B, "A [3, 4] and B [2, 4] do not broadcast"),
    ("broadcast", lambda: functools.reduce(operator.mul, [VECTOR, torch.ones(3)]), "VECTOR [4] and other [3] do not"),
    ("broadcast", lambda: A + torch.ones(3), "torch.ones(3).unsqueeze(1)"),
    ("broadcast", lambda: torch.addmm(torch.ones(7), A, VECTOR.view(4, 1).expand(4, 5)), "A @ "),
    ("in-place broadcast", in_place_broadcast, "c larger: [3] would become [2, 3]"),
    ("matmul shapes", lambda: SQUARE @ SQUARE, "SQUARE @ SQUARE.T"),
    ("matmul shapes", lambda: torch.mm(SQUARE, A.t()), "A.t() [4, 3]"),
    ("matmul shapes", lambda: VECTOR @ SQUARE, "VECTOR [4] cannot be multiplied with SQUARE [2, 3]"),
    ("matmul vectors", lambda: SQUARE @ VECTOR, "3 elements there, 4 here"),
    ("matmul vectors", lambda: torch.dot(VECTOR, torch.ones(3)), "torch.outer(VECTOR, torch.ones(3))"),
    ("batched matmul shapes", lambda: torch.ones(2, 3, 4) @ torch.ones(2, 3, 4), "last dimensions do not pair"),
    ("batched matmul shapes", lambda: torch.ones(2, 3, 4) @ torch.ones(3, 4, 5), "their batches differ"),
    ("batched matmul shapes", lambda: torch.bmm(torch.ones(2, 3, 4), torch.ones(3, 4, 5)), "their batches differ"),
    ("matrices wanted", lambda: torch.bmm(SQUARE, A), "bmm takes tensors of 3 dimensions"),
    ("linear shapes", lambda: nn.Linear(784, 10)(torch.ones(2, 28, 28)), "torch.ones(2, 28, 28).flatten(1)"),
    ("linear shapes", two_layers, "takes 5 features, and input [2, 4] has 4"),
    ("einsum", lambda: torch.einsum("ij,jk->ik", SQUARE, A.t()), "'ij,jk->ik' has two sizes"),
    ("cat shapes", lambda: torch.cat([SQUARE, B]), "B [2, 4] differs from the first, [2, 3], in dimension 1"),
    ("cat dimensions", lambda: torch.cat([SQUARE, VECTOR]), "VECTOR.unsqueeze(0)"),
    ("nothing to join", lambda: torch.cat([]), "the list of tensors is empty"),
    ("stack shapes", lambda: torch.stack([torch.ones(3 + (i == 30)) for i in range(40)]), "27 more"),
    ("stack shapes", lambda: torch.stack([VECTOR, torch.ones(3)]), "[4] and [3] differ"),
    ("split sizes", lambda: torch.split(VECTOR, [2, 1]), "3 elements in all, the dimension has 4"),
    ("loss batch", lambda: F.cross_entropy(SCORES, INTEGERS), "2 rows of scores, but 3 targets"),
    ("target shape", lambda: F.cross_entropy(SCORES, INTEGERS[:2, None]), "INTEGERS[:2, None].squeeze(-1)"),
    ("target shape", lambda: F.cross_entropy(torch.zeros(2, 5, 3), INTEGERS[:2]), "should have the shape [2, 3]"),
    ("loss shapes", lambda: F.binary_cross_entropy(VECTOR, SCORES), "SCORES.view_as(VECTOR)"),
    ("view strides", lambda: A.t().view(12), "A.t().reshape(12)"),
    ("view elements", lambda: A.view(5, 2), "12 elements cannot be arranged as [5, 2]: that takes 10"),
    ("view elements", lambda: A.reshape(5, -1), "a multiple of 5"),
    ("view two unknown", lambda: A.view(-1, -1), "only one size can be worked out"),
    ("expand", lambda: A.expand(3, 5), "A [3, 4] cannot be expanded to [3, 5]"),
    ("expand", lambda: A.__setitem__(0, torch.ones(3)), "part [4] that it is assigned to"),
    ("expand dimensions", lambda: A.expand(4), "A has 2 dimensions, and 1 were asked for"),
    ("overlapping write", lambda: torch.ones(3, 1).expand(3, 4).add_(1), "lie at one place in memory"),
    ("dimension", lambda: A.sum(2), "2 is not a dimension of A [3, 4]"),
    ("dimension", lambda: A.unsqueeze(5), "5 is not a place for a new dimension of A"),
    ("permutation", lambda: A.permute(0, 1, 2), "[0, 1, 2] is no order of the 2 dimensions of A"),
    ("permutation", lambda: A.permute(0, 0), "one is named twice"),
    ("t of many dimensions", lambda: torch.ones(2, 3, 4).t(), "torch.ones(2, 3, 4).mT"),
    ("narrow", lambda: VECTOR.narrow(0, 2, 3), "VECTOR[2:5]"),
    ("no dimensions", lambda: list(torch.tensor(1.0)), "is one number, without dimensions"),
    ("no dimensions", lambda: torch.tensor(1.0) @ VECTOR, "torch.tensor(1.0).unsqueeze(0)"),
    ("one_hot classes", lambda: F.one_hot(INTEGERS, 2), "F.one_hot(INTEGERS, 3)"),
    ("one_hot classes", lambda: F.one_hot(-INTEGERS), "-2, -1 are no classes"),
    ("probabilities", lambda: F.binary_cross_entropy(VECTOR * 2, VECTOR), "F.binary_cross_entropy_with_logits("),
    ("probabilities", lambda: F.binary_cross_entropy(VECTOR, VECTOR + 1), "(VECTOR + 1) must hold probabilities"),
    ("range", lambda: torch.arange(5, 0), "torch.arange(5, 0, -1)"),
    ("range", lambda: torch.arange(0, 5, 0), "torch.linspace(0, 5, 10)"),
    ("repeat", lambda: SQUARE.repeat(2), "SQUARE.repeat(1, 2)"),
    ("negative size", lambda: torch.zeros(2, -3), "-3 is no size"),
    ("top k", lambda: VECTOR.topk(5), "5 elements were asked for, and dimension -1 of VECTOR has 4"),
    ("negative step", lambda: VECTOR[::-1], "VECTOR.flip(0)"),
    ("flatten order", lambda: SQUARE.flatten(1, 0), "SQUARE.flatten(0, 1)"),
    ("unflatten", lambda: SQUARE.unflatten(1, (2, 2)), "[2, 2] makes 4 elements, dimension 1 has 3"),
    ("nothing to reduce", lambda: torch.zeros(0).max(), "there is no max of nothing"),
    ("nothing to reduce", lambda: torch.zeros(0, 3).argmin(0), "there is no min of nothing"),
    ("index", lambda: VECTOR[5], "5 is no index of dimension 0 of VECTOR: there are 4"),
    ("index", lambda: A[0, -9], "-9 is no index of dimension 1 of A"),
    ("index", lambda: VECTOR[torch.tensor([1, 7])], "7 is no index of dimension 0 of VECTOR"),
    ("index", lambda: torch.gather(SQUARE, 1, torch.tensor([[5]])), "indices 0 to 2 there."),
    ("select", lambda: VECTOR.select(0, 5), "5 is no index of dimension 0 of VECTOR"),
    ("index in self", lambda: VECTOR.index_select(0, torch.tensor([1, 9])), "9 is no index"),
    ("element index", lambda: torch.take(SQUARE, torch.tensor([9])), "9 is no index into the 6 elements"),
    ("target class", lambda: F.cross_entropy(SCORES, torch.tensor([0, 3])), "SCORES has scores for 3"),
    ("too many indices", lambda: VECTOR[0, 0], "has 1 dimension, and was given 2 indices"),
    ("index type", lambda: VECTOR[1.5], "a float is no index"),
    ("index type", lambda: VECTOR[torch.ones(2)], "a float32 tensor is no index"),
    ("mask shape", lambda: VECTOR[torch.tensor([True, False])], "the mask [2] does not fit over VECTOR [4]"),
    ("index shapes", lambda: A[torch.tensor([0, 1]), INTEGERS], "rows[:, None], columns"),
    ("gather dimensions", lambda: torch.gather(SQUARE, 1, INTEGERS), "INTEGERS.unsqueeze(1)"),
    ("matmul dtypes", lambda: SQUARE @ SQUARE.t().double(), "float32 and float64 do not multiply"),
    ("matmul dtypes", lambda: nn.Linear(3, 2)(SQUARE.double()), "model.to(torch.float64)"),
    ("target dtype", lambda: F.cross_entropy(SCORES, torch.ones(2)), "one for each class: the shape [2, 3]"),
    ("result cast", lambda: INTEGERS.add_(0.5), "a float32 result cannot be written into INTEGERS, which is int64"),
    ("result cast", lambda: torch.add(A, 1, out=torch.zeros(3, 4, dtype=torch.int64)), "written into out"),
    ("result cast", lambda: F.binary_cross_entropy_with_logits(VECTOR, VECTOR.long()), "VECTOR.long() is int64"),
    ("loss dtype", lambda: F.binary_cross_entropy(VECTOR, VECTOR.long()), "VECTOR.long().to(VECTOR.dtype)"),
    ("loss dtype", lambda: F.cross_entropy(SCORES, SCORES.long()), "SCORES.long().argmax(1)"),
    ("mask dtype", lambda: A.masked_fill(A, 0), "A.bool()"),
    ("assigned dtype", lambda: INTEGERS.index_put_((INTEGERS,), torch.ones(3)), "INTEGERS.to(torch.float32)"),
    ("assigned dtype", lambda: VECTOR.scatter(0, INTEGERS, torch.ones(3).double()), "which is float32"),
    ("index dtype", lambda: F.one_hot(VECTOR), "VECTOR.long()"),
    ("index dtype", lambda: A.index_select(0, torch.ones(2)), "torch.ones(2).long()"),
    ("result cast", lambda: INTEGERS.div_(2), "rounding_mode='floor'"),
    ("not for this dtype", lambda: A & A, "bitwise_and does not exist for float32"),
    ("not for this dtype", lambda: F.softmax(INTEGERS, 0), "INTEGERS.float()"),
    ("mean of integers", lambda: INTEGERS.mean(), "INTEGERS.float().mean()"),
    ("minus of bools", lambda: -torch.tensor([True]), "~torch.tensor([True])"),
    ("minus of bools", lambda: torch.tensor([True]) - torch.tensor([True]), "^"),
    ("negative power", lambda: INTEGERS**-1, "INTEGERS.float() ** -1"),
    ("ragged list", lambda: torch.tensor([[1, 2], [3]]), "the rows have different lengths"),
    ("ragged list", lambda: torch.tensor([[1, 2], 3]), "one value, no sequence"),
    ("no number", lambda: torch.tensor([None, 1]), "float('nan')"),
    ("no number", lambda: torch.tensor(["a"]), "a str is nothing that a tensor can hold"),
    ("negative strides", lambda: torch.from_numpy(np.arange(4)[::-1]), "torch.from_numpy(a.copy())"),
    ("leaf in place", leaf, "with torch.no_grad(): w[0] = 5"),
    ("modified saved tensor", modified, "b was written in place after ExpBackward0 kept it"),
    ("backward twice", twice, "MulBackward0 has freed what it kept"),
    ("backward of many", of_many, "y.sum().backward()"),
    ("no graph", in_no_grad, "There are tensors that require grad (w"),
    ("no graph", lambda: torch.zeros(3).sum().backward(), "has no graph behind it"),
    ("gradient shape", gradient_shape, "the gradient [4] does not have the shape of y [3]"),
    ("unused input", unused, "w has no part in"),
    ("requires_grad of integers", lambda: INTEGERS.requires_grad_(), "only floats and complex numbers"),
    ("requires_grad of a result", flag_of_result, "y.detach()"),
    ("detached saved tensor", detached, "y left the graph by detach_(), after an operator had kept it for backward"),
    ("modified saved tensor", weights_modified, "w was written in place after MmBackward0 kept it"),
    ("modified saved tensor", weights_modified, "loss.backward(); optimizer.step()"),
    ("backward twice", hidden_state, "a part of this graph was used up"),
    ("backward twice", hidden_state, "- cut what comes from an earlier step, such as a hidden state:  h = h.detach()"),
    ("no graph", frozen, "model.requires_grad_()"),
    ("assigned gradient", wrong_shape, "its shape differs"),
    ("assigned gradient", no_gradient, "or None, and was to become int"),
    ("no gradient there", gradient_of_none, "w.grad is None: there is no gradient"),
    ("no gradient there", step_of_none, "w.requires_grad_()"),
    ("late error of a device", late_error, "aclnnIndex failed on npu:0; the host learnt of it here"),
    ("one of several views", one_of_views, "a = a * …"),
    ("no gradient", lambda: VECTOR.retain_grad(), "VECTOR.requires_grad_()"),
    ("no gradient", lambda: INTEGERS.register_hook(print), "INTEGERS.float().requires_grad_()"),
    ("gradients returned", lambda: Twice.apply(torch.ones(2, requires_grad=True)).sum().backward(), "2 gradients"),
    ("gradient returned", lambda: Wide.apply(torch.ones(2, requires_grad=True)).sum().backward(),
     "Wide returned a gradient [3] for an argument of shape [2]"),
    ("inference tensor", inference, "a was made in inference mode"),
    ("deep copy", deep_copy, "y.detach().clone()"),
    ("out of a graph", out_of_a_graph, "w requires grad, and add was to write"),
    ("assigned gradient", assigned_gradient, "w.grad = g.to(w)"),
    ("numpy of a device", lambda: SQUARE.to("npu").numpy(), ".cpu().numpy()"),
    ("module arguments", lambda: nn.Linear(3, 2)(), "Linear does not take these arguments: missing 1"),
    ("module arguments", lambda: nn.Linear(3, 2)(SQUARE, scale=2), "Tensor, scale=…"),
    ("before init", Uninitialised, "super().__init__()"),
    ("no forward", lambda: Misspelt()(SQUARE), "not forwrad"),
    ("no parameter", assigned_parameter, "module.weight = nn.Parameter(value)"),
    ("unknown argument", lambda: torch.zeros(3, dtyp=torch.int64), "dtype=…"),
    ("unknown argument", lambda: nn.Linear(3, 2, bais=False), "bias=…"),
    ("no tensor in a list", lambda: torch.cat([1, 2]), "a list of tensors has int at place 0"),
    ("mixed devices", lambda: SQUARE + META, "add was given tensors on cpu and meta"),
    ("mixed devices", lambda: nn.Linear(3, 2)(SQUARE.to("npu")), "linear was given tensors on npu:0 and cpu"),
    ("meta data", lambda: META.tolist(), "META is on the meta device"),
    ("meta data", lambda: META.numpy(), "META is on the meta device"),
    ("meta data", lambda: META.sum().item(), "is on the meta device"),
    ("meta data", lambda: META.to("cpu"), "META is on the meta device"),
    ("no attribute", lambda: nn.Linear(3, 2).wieght, ".weight"),
    ("no attribute", lambda: Unmade()(A), "super().__init__()"),
    ("state dict type", lambda: nn.Linear(3, 2).load_state_dict(nn.Linear(3, 2)), "other.state_dict()"),
    ("state dict type", lambda: nn.Linear(3, 2).load_state_dict("model.pt"), "read the file first"),
    ("state dict", lambda: nn.Linear(1, 1).load_state_dict({"weight": [[1]], "bias": torch.ones(1)}), "weight: list"),
    ("not a parameter", lambda: optim.SGD(nn.Linear(3, 2).state_dict(), lr=0.1), "given a str"),
    ("operands", lambda: VECTOR + [1, 2, 3, 4], "torch.tensor(values)"),
    ("operands", lambda: None * VECTOR, "a function without return"),
    ("no tensor", lambda: nn.Linear(3, 2)([1.0, 2.0]), "input: list"),
    ("no such device", lambda: A.to("cuda"), "there is no device cuda"),
    ("no such device", lambda: A.to("npu:99"), "there is no device npu:99"),
    ("numpy of a graph", lambda: torch.ones(2, requires_grad=True).numpy(), ".detach().numpy()"),
    ("truth of many", in_condition, "(VECTOR > 0).any()"),
    ("truth of many", lambda: bool(VECTOR), "VECTOR.any()"),
    ("truth of many", lambda: bool(torch.ones(0)), "torch.ones(0).numel() > 0"),
    ("number of many", lambda: VECTOR.item(), "VECTOR.tolist()"),
    ("indexed list", lambda: [1, 2][VECTOR], "VECTOR holds 4 numbers"),
    ("out of memory", lambda: torch.empty(1 << 44, device="npu"), "the device's memory is full"),
    ("out of memory", lambda: torch.zeros(10**15), "the host does not have that much memory"),
    ("state dict", other_sizes, "2 of other shapes"),
    ("state dict", other_names, "k.removeprefix('0.')"),
    ("no parameters", lambda: optim.SGD([], lr=0.1), "was given no parameters"),
    ("optimized result", not_a_leaf, "w was computed by MulBackward0"),
    ("one parameter", lambda: optim.SGD(A, lr=0.1), "optim.SGD([w], lr=0.1)"),
    ("missing kernel", no_kernel, "only_somewhere has no kernel for CPU"),
    ("unknown operator", lambda: torch.ops.aten.sofmax, "torch.ops.aten.softmax"),
    ("unknown operator", lambda: torch.registry["frobnicate"], "no operator is called frobnicate"),
    ("no such name", lambda: torch.sofmax(A), "mindtorch has no sofmax"),
    ("no such name", lambda: A.transpse(0, 1), "transpose"),
    ("no such module", lambda: importlib.import_module("mindtorch.frobnication"), "mindtorch has no frobnication"),
    ("no such module", misspelt_import, "from mindtorch.nn import Linear"),
    ("arguments", lambda: torch.add(A, "1"), "add does not take (Tensor, str)"),
    ("singular matrix", lambda: torch.linalg.inv(torch.zeros(2, 2)), "torch.zeros(2, 2) is singular"),
    ("singular matrix", lambda: torch.linalg.cholesky(-torch.eye(2)), "is not positive definite"),
    ("pipeline", in_pipeline, "aten::index.Tensor, recorded at line"),
    ("invalid tensor", after_pipeline, "z never got its values"),
]


def caught(function):
    """The error that a function raises."""
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def explain(error, namespace=None):
    """What ``%why`` knows of an error; its cures are not carried out, which takes a process for each."""
    return introspect.explain(error, namespace, try_fixes=False)
