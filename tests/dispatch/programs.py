"""Programs whose operators PyTorch and mindtorch record alike: expressions of ``t``, the library, and of tensors.

``x`` (2, 3) and ``y`` (2, 3) require grad, ``z`` (3, 4) too; ``u`` (2, 3) does not, ``i`` holds int64 indices, ``m`` is
a mask, ``v`` a vector, ``s`` a square matrix, ``p`` a picture (1, 2, 6, 6). A result that requires grad is summed and
differentiated, so that a program stands for its backward pass, too.
"""
from __future__ import annotations

from typing import Any


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def each(form: str, names: str) -> list[str]:
    return [form.format(name) for name in names.split()]


PROGRAMS = [
    *each("x.{}()", """
        exp log1p sqrt sin cos tan tanh sigmoid relu neg abs reciprocal square erf expm1 floor ceil round sign trunc
        frac sinh cosh asinh atan rsqrt exp2 log log2 log10 lgamma erfc digamma sinc i0 logit"""),
    *each("(x * 1).{}_()", "exp sqrt tanh sigmoid relu neg abs square sin cos floor zero reciprocal"),
    *each("x.{}(y)", "add sub mul div pow atan2 maximum minimum fmod hypot copysign eq lt ge logaddexp"),
    *each("x.{}(2)", "add sub mul div pow fmod remainder eq ne gt le"),
    *each("(x * 1).{}_(u)", "add sub mul div copy"),
    *each("x.{}()", "sum mean prod max min norm var std argmax argmin"),
    *each("x.{}(1)", "sum mean prod max min argmax cumsum cumprod logsumexp softmax log_softmax amax var std norm"),
    *each("x.{}()", "t clone detach contiguous flatten double float int bool ravel numel unbind"),
    *each("t.nn.functional.{}(x)", """
        relu gelu silu elu selu leaky_relu softplus hardtanh hardsigmoid hardswish mish tanhshrink softsign logsigmoid
        softshrink hardshrink relu6 celu sigmoid tanh normalize"""),
    *lines("""
        x + 1
        1 + x
        x - y
        1 - x
        x * 2.5
        2 / x
        x / y
        x ** 2
        2 ** x
        u // 2
        -x
        x @ z
        x.mm(z)
        x[0] @ z
        x.T @ y
        x.matmul(v[:3])
        t.addmm(u[:, :1].expand(2, 4), x, z)
        t.bmm(x[None], z[None])
        t.einsum('ij,jk->ik', x, z)
        t.einsum('ij,ij->i', x, y)
        t.outer(v, v)
        t.dot(v, v)
        t.mv(z.t(), x[0])
        t.linalg.norm(x)
        t.linalg.det(s)
        t.linalg.inv(s)
        t.linalg.solve(s, s)
        t.cdist(x, y)
        t.clamp(x, 0, 1)
        x.clamp(min=0)
        x.clamp_min(0)
        t.where(m, x, y)
        t.where(m, x, 0.0)
        t.lerp(x, y, 0.5)
        t.addcmul(x, y, u)
        t.addcdiv(x, y, u)
        x.masked_fill(m, 0.0)
        x.view(3, 2)
        x.reshape(6)
        x.t().reshape(6)
        x.transpose(0, 1)
        x.permute(1, 0)
        x.unsqueeze(0)
        x[None].squeeze(0)
        x[None].squeeze()
        x.expand(4, 2, 3)
        x.repeat(2, 1)
        x.flip(0)
        x.roll(1, 0)
        x.narrow(1, 0, 2)
        x.select(0, 1)
        x.diagonal()
        x.tril()
        x.triu()
        x.chunk(2)[0]
        x.split(1)[1]
        x.unbind(0)[1]
        x.unfold(1, 2, 1)
        x.movedim(0, 1)
        x.swapaxes(0, 1)
        x.view_as(y)
        x.expand_as(y)
        x.type_as(u)
        x.to(t.float64)
        x.to(u)
        x.flatten(0, 1)
        x.unflatten(1, (3, 1))
        x.mT
        x.T
        t.cat([x, y])
        t.stack([x, y])
        t.hstack([x, y])
        t.vstack([x, y])
        t.tensor_split(x, 2)[0]
        x[0]
        x[0, 1]
        x[:, 1]
        x[:, 1:]
        x[..., 0]
        x[None]
        x[m]
        x[i]
        x[:, i]
        x[i, i]
        x[0:1, ::2]
        x.index_select(0, i)
        x.gather(1, j)
        x.take(i)
        t.index_add(x, 0, i, u)
        u.scatter(1, j, x[:, :2])
        u.scatter_add(1, j, x[:, :2])
        x.masked_select(m)
        x.topk(2)
        x.sort()
        x.argsort()
        x.kthvalue(1)
        x.median()
        x.cummax(1)
        u.unique()
        x.nonzero()
        x.any()
        x.all()
        x.isnan()
        x.isfinite()
        x.isinf()
        x.allclose(y)
        t.equal(x, y)
        x.item() if x.numel() == 1 else x.sum().item()
        bool(x.sum() > 0)
        float(x.detach().sum())
        x.sum(0, keepdim=True)
        x.sum((0, 1))
        x.mean((0, 1))
        x.std(0, unbiased=False)
        x.norm(2, 1)
        x.softmax(-1).log()
        (x - x.mean()) / x.std()
        (x * y).sum().sqrt()
        (x.exp() + y.sin()) * x
        x.sigmoid() * y.tanh()
        (x * 1).add_(y).mul_(2)
        (x * 1).view(-1).add_(1)
        put(x * 1, 0, y[0])
        put(x * 1, (slice(None), 1), 0.0)
        put(x * 1, m, 0.0)
        put(x * 1, i, y[i])
        (x * 1)[0].mul_(2)
        (x * 1).fill_(1.0)
        (x * 1).clamp_(0, 1)
        (x * 1).masked_fill_(m, 1.0)
        (x * 1).t_()
        (x * 1).unsqueeze_(0)
        (x * 1).index_fill_(0, i, 0.0)
        (x * 1).copy_(y)
        t.add(u, 1, out=t.empty(2, 3))
        t.mm(u, u.t(), out=t.empty(2, 2))
        t.exp(u, out=t.empty(2, 3))
        t.zeros(2, 3)
        t.ones(2)
        t.empty(2).shape
        t.full((2,), 3.0)
        t.full((2,), 3)
        t.rand(2)
        t.randn(2)
        t.randint(0, 5, (2,))
        t.randperm(4)
        t.arange(4)
        t.arange(1, 4)
        t.arange(0.0, 1.0, 0.25)
        t.linspace(0, 1, 5)
        t.eye(3)
        t.eye(2, 3)
        t.tensor([1.0, 2.0])
        t.tensor(3)
        t.zeros_like(x)
        t.ones_like(x)
        t.empty_like(x).shape
        t.full_like(x, 2.0)
        t.rand_like(x)
        t.randn_like(x)
        x.new_zeros(2)
        x.new_ones(2)
        x.new_full((2,), 1.0)
        x.new_empty(2).shape
        x.new_tensor([1.0])
        t.zeros(2, requires_grad=True) * 2
        t.bernoulli(t.full((3,), 0.5))
        t.normal(0.0, 1.0, (2,))
        t.multinomial(t.ones(3), 2)
        t.empty(3).uniform_()
        t.empty(3).normal_()
        t.nn.init.xavier_uniform_(t.empty(2, 3))
        t.nn.functional.linear(x, z.t())
        t.nn.functional.linear(x, z.t(), z[0])
        t.nn.functional.linear(x[None], z.t(), z[0])
        t.nn.functional.bilinear(x, y, t.ones(2, 3, 3))
        t.nn.functional.softmax(x, 1)
        t.nn.functional.log_softmax(x, -1)
        t.nn.functional.softmin(x, 1)
        t.nn.functional.glu(z)
        t.nn.functional.prelu(x, t.ones(1))
        t.nn.functional.threshold(x, 0.1, 2.0)
        t.nn.functional.dropout(x, 0.5, training=True)
        t.nn.functional.dropout(x, 0.5, training=False)
        t.nn.functional.layer_norm(x, (3,))
        t.nn.functional.layer_norm(x, (3,), z[:, 0], z[:, 1])
        t.nn.functional.batch_norm(x, t.zeros(3), t.ones(3), training=True)
        t.nn.functional.batch_norm(x, t.zeros(3), t.ones(3))
        t.nn.functional.group_norm(p, 2)
        t.nn.functional.instance_norm(p)
        t.nn.functional.rms_norm(x, (3,))
        t.nn.functional.embedding(i, z)
        t.nn.functional.one_hot(i)
        t.nn.functional.conv2d(p, k)
        t.nn.functional.conv2d(p, k, k[:, 0, 0, 0], stride=2, padding=1)
        t.nn.functional.conv1d(p[:, :, 0], k[:, :, 0])
        t.nn.functional.conv_transpose2d(p, k.transpose(0, 1))
        t.nn.functional.max_pool2d(p, 2)
        t.nn.functional.avg_pool2d(p, 2)
        t.nn.functional.adaptive_avg_pool2d(p, 1)
        t.nn.functional.adaptive_avg_pool2d(p, 2)
        t.nn.functional.adaptive_max_pool2d(p, 2)
        t.nn.functional.interpolate(p, scale_factor=2)
        t.nn.functional.interpolate(p, scale_factor=2, mode='bilinear')
        t.nn.functional.pad(x, (1, 1))
        t.nn.functional.pad(p, (1, 1, 1, 1), mode='reflect')
        t.nn.functional.pixel_shuffle(p.repeat(1, 2, 1, 1), 2)
        t.nn.functional.unfold(p, 2)
        t.nn.functional.mse_loss(x, y)
        t.nn.functional.l1_loss(x, u)
        t.nn.functional.smooth_l1_loss(x, u)
        t.nn.functional.huber_loss(x, u)
        t.nn.functional.cross_entropy(x, i)
        t.nn.functional.cross_entropy(x, i, label_smoothing=0.1)
        t.nn.functional.nll_loss(x, i)
        t.nn.functional.kl_div(x, u, reduction='batchmean')
        t.nn.functional.binary_cross_entropy(x.sigmoid(), u)
        t.nn.functional.binary_cross_entropy_with_logits(x, u)
        t.nn.functional.hinge_embedding_loss(x, t.ones(2, 3))
        t.nn.functional.margin_ranking_loss(x, y, u)
        t.nn.functional.cosine_similarity(x, y)
        t.nn.functional.cosine_embedding_loss(x, y, t.ones(2))
        t.nn.functional.triplet_margin_loss(x, y, u)
        t.nn.functional.poisson_nll_loss(x, u)
        t.nn.functional.gaussian_nll_loss(x, u, t.ones(2, 3))
        t.nn.functional.soft_margin_loss(x, u)
        t.nn.functional.scaled_dot_product_attention(q, q, q)
        t.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
        t.nn.Linear(3, 4)(x)
        t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 1))(x)
        t.nn.Conv2d(2, 3, 3, padding=1)(p)
        t.nn.BatchNorm2d(2)(p)
        t.nn.BatchNorm1d(3).eval()(x)
        t.nn.LayerNorm(3)(x)
        t.nn.GroupNorm(2, 2)(p)
        t.nn.Embedding(5, 3)(i)
        t.nn.Dropout()(x)
        t.nn.Flatten()(p)
        t.nn.MaxPool2d(2)(p)
        t.nn.Softmax(1)(x)
        t.nn.PReLU()(x)
        t.nn.RNNCell(3, 4)(x)
        t.nn.GRUCell(3, 4)(x)
        t.nn.LSTMCell(3, 4)(x)[0]
        t.nn.MSELoss()(x, y)
        t.nn.CrossEntropyLoss()(x, i)
        t.nn.BCEWithLogitsLoss()(x, u)
        step(t.optim.SGD, x, lr=0.1)
        step(t.optim.SGD, x, lr=0.1, momentum=0.9)
        step(t.optim.SGD, x, lr=0.1, weight_decay=0.1, foreach=False)
        step(t.optim.Adam, x)
        step(t.optim.Adam, x, foreach=True)
        step(t.optim.AdamW, x)
        step(t.optim.RMSprop, x)
        step(t.optim.Adagrad, x)
        step(t.optim.Adadelta, x)
        step(t.optim.Adamax, x)
        t.nn.utils.clip_grad_norm_(with_grad(x), 1.0)
        t.nn.utils.clip_grad_value_(with_grad(x), 1.0)
        t.autograd.grad(x.pow(3).sum(), x, create_graph=True)[0]
        t.autograd.grad((x.tanh() * y).sum(), x, create_graph=True)[0]
    """),
]


#: Programs whose records still differ, by what makes the difference.
DIFFERENT = {
    "PyTorch keeps the product for a formula that divides by the factors, which it does not use where a mode sees it":
    lines("""
        x.prod()
        x.prod(1)
    """),
    "where a mode sees it, PyTorch has one formula, which does not look whether there are zeros": lines("""
        x.cumprod(1)
        t.linalg.det(s)
    """),
    "PyTorch has an operator that raises the error of a decomposition; here the composite does": lines("""
        t.linalg.inv(s)
        t.linalg.solve(s, s)
    """),
    "one kernel here, a composite of four operators there": lines("""
        x.isfinite()
    """),
    "a step is written for cells and layers, and computes the part of the input first": lines("""
        t.nn.RNNCell(3, 4)(x)
        t.nn.LSTMCell(3, 4)(x)[0]
    """),
    "an optimizer's rule is written once for one tensor, for lists and for devices": lines("""
        step(t.optim.SGD, x, lr=0.1, momentum=0.9)
        step(t.optim.Adam, x, foreach=True)
    """),
}


def environment(t: Any) -> dict[str, Any]:
    """Make the names that programs have, with the same values in either library."""

    def leaf(*shape: int, start: float = 0.1, requires_grad: bool = True) -> Any:
        count = 1
        for size in shape:
            count *= size
        return (t.arange(count, dtype=t.float32) * 0.07 + start).reshape(shape).requires_grad_(requires_grad)

    def put(target: Any, index: Any, value: Any) -> Any:
        target[index] = value
        return target

    def with_grad(x: Any) -> Any:
        x.grad = t.ones_like(x)
        return [x]

    def step(optimizer: Any, x: Any, **options: Any) -> Any:
        made = optimizer([x], **options)
        for _ in range(2):
            made.zero_grad()
            (x * x).sum().backward()
            made.step()

    square = leaf(3, 3, requires_grad=False) + t.eye(3)
    return {"t": t, "x": leaf(2, 3), "y": leaf(2, 3, start=0.3), "z": leaf(3, 4), "v": leaf(6), "p": leaf(1, 2, 6, 6),
            "k": leaf(3, 2, 3, 3), "q": leaf(1, 2, 4, 8), "s": square.requires_grad_(),
            "u": leaf(2, 3, start=0.2, requires_grad=False), "i": t.tensor([1, 0]),
            "j": t.tensor([[0, 1], [2, 0]]), "m": t.tensor([[True, False, True], [False, True, False]]),
            "put": put, "with_grad": with_grad, "step": step}


def recorded(t: Any, mode_class: Any, program: str) -> list[str]:
    """List the operators that a program, and the backward pass of its result, calls, as a mode sees them."""

    class Recorder(mode_class):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen: list[str] = []
    names = environment(t)
    with Recorder():
        result = eval(program, names)
        if isinstance(result, tuple):
            result = result[0]
        if isinstance(result, t.Tensor) and result.requires_grad:
            result.sum().backward()
    return seen
