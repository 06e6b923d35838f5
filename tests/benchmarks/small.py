"""Functions on a few numbers, as expressions: where the way to the numbers takes longer than to compute with them.

``compare --small`` times them. They are many, so that
the cost of a small call is seen as one of the mechanism, not of the functions that somebody chose.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

#: One expression a word.
EXPRESSIONS = """
x.abs() x.neg() x.sign() x.sqrt() x.rsqrt() x.log() x.log1p() x.log2() x.exp() x.expm1() x.sin() x.tan() x.asin()
x.atan() x.sinh() x.tanh() x.sigmoid() x.erf() x.erfinv() x.lgamma() x.digamma() x.floor() x.round() x.frac() x.relu()
x.isnan() x.isfinite() x.logical_not() x.int() x.half() x.double() x.float() x.to(t.float64) x.type(t.int64)

x+y x-y x*y x/y x**y x//y x%y x==y x<y x+1 2*x x.maximum(y) x.atan2(y) x.fmod(y) x.hypot(y) x.logaddexp(y)
x.copysign(y) x.clamp(0,1) x.lerp(y,.5) x.addcmul(x,y) x.where(k,y) x.masked_fill(k,0.) x.equal(y) x.allclose(y)
t.isclose(x,y) z.add_(1) z.mul_(.5) z.copy_(x) z.zero_() z.fill_(1.) z.clamp_min_(0)

x.sum() x.mean() x.std() x.var() x.prod() x.max() x.argmax() x.median() x.mode() x.all() x.any() x.norm()
x.logsumexp(0) a.sum(1) a.mean(0) a.max(1) a.amax(1) a.argmax(1) a.var(1) a.std(0) a.norm(dim=1) k.all(0) x.cumsum(0)
x.cumprod(0) x.cummax(0) x.diff() x.sort() x.argsort() x.topk(2) x.unique() x.nonzero() t.bincount(j) t.histc(x)
t.searchsorted(x,y) t.bucketize(x,y)

a@b a.mv(v) v.dot(v) v.outer(v) c@c t.addmm(a,a,b) t.baddbmm(c,c,c) t.einsum("ij,jk->ik",a,b)
t.einsum("bij,bjk->bik",c,c) t.tensordot(a,b,1) t.kron(a,b) t.cdist(a,b) t.linalg.inv(s) t.linalg.det(s)
t.linalg.solve(s,b) t.linalg.cholesky(s) t.linalg.qr(s) t.linalg.svd(s) t.linalg.eigh(s) t.linalg.norm(x) a.trace()
t.fft.fft(x) t.fft.rfft(x) w*w w.abs() w.conj() w.real t.polar(x,y)

a.reshape(2,8) a.view(-1) c.permute(2,0,1) a.transpose(0,1) a.T x.unsqueeze(0) x.squeeze() x.expand(3,8) x.repeat(2)
x.roll(1) a.flip(1) a.rot90() x.split(2) x.chunk(2) a.unbind() t.cat([a,b]) t.stack([a,b]) t.vstack([a,b])
t.meshgrid(x,y,indexing="ij") c.flatten(1) x.narrow(0,1,3) a.select(0,1) x.unfold(0,3,1) c.movedim(0,2) a.diag()
a.tril() x.detach() x.clone() x.contiguous() x[0] a[1:3] a[:,None] a[i] x[k] a[i,i] a.gather(1,j[:,None])
a.scatter(1,j[:,None],1.) a.index_select(0,i) a.take(i) a.index_add(0,i,b[:2]) a.__setitem__(0,1.) list(x) x.tolist()
x.numpy() x[0].item() bool(k[0])

t.tensor([1.,2.]) t.tensor(1.) t.as_tensor([1,2]) t.zeros(8) t.ones(8) t.empty(8) t.full((8,),2.) t.arange(8)
t.linspace(0,1,8) t.eye(4) t.zeros_like(x) t.rand(8) t.randn(8) t.randint(0,9,(8,)) t.randperm(8) t.randn_like(x)
t.bernoulli(p) t.multinomial(x,2) z.normal_() z.uniform_()

F.linear(a,b) F.conv2d(m,f) F.conv1d(c,c) F.max_pool2d(m,2) F.avg_pool2d(m,2) F.adaptive_avg_pool2d(m,1) F.dropout(x)
F.layer_norm(a,(4,)) F.batch_norm(a,None,None,training=True) F.group_norm(m,3) F.gelu(x) F.silu(x) F.elu(x)
F.leaky_relu(x) F.softplus(x) F.mish(x) F.hardtanh(x) x.softmax(0) x.log_softmax(0) F.cross_entropy(l,j)
F.nll_loss(l,j) F.mse_loss(x,y) F.l1_loss(x,y) F.binary_cross_entropy(p,p) F.binary_cross_entropy_with_logits(x,y)
F.smooth_l1_loss(x,y) F.kl_div(x,y,reduction="sum") F.cosine_similarity(a,b) F.normalize(a) F.embedding(j,e)
F.one_hot(j,5) F.pad(a,(1,1)) F.interpolate(m,scale_factor=2) F.unfold(m,2) F.scaled_dot_product_attention(q,q,q)
(g*g).sum().backward() t.autograd.grad((g*g).sum(),g)
"""


@cache
def _names(t: Any) -> dict[str, Any]:
    """Make the tensors of the expressions."""
    t.manual_seed(0)
    x, y, a, b = t.randn(8).abs() + 0.1, t.randn(8).abs() + 0.1, t.randn(4, 4), t.randn(4, 4)
    return {"t": t, "F": t.nn.functional, "x": x, "y": y, "z": t.zeros(8), "k": x > 0.8, "p": t.full((8,), 0.5),
            "a": a, "b": b, "v": t.randn(4), "s": a @ a.t() + 4 * t.eye(4), "c": t.randn(3, 4, 4),
            "i": t.tensor([0, 2]), "j": t.tensor([3, 0, 2, 1]), "l": t.randn(4, 5), "e": t.randn(10, 4),
            "w": t.view_as_complex(t.randn(4, 2)), "m": t.randn(2, 3, 8, 8), "f": t.randn(4, 3, 3, 3),
            "g": t.randn(4, 4, requires_grad=True), "q": t.randn(1, 2, 4, 4)}


NAMES = EXPRESSIONS.split()


def call_of(t: Any, row: str) -> Callable[[], Any]:
    """Return the function of an expression."""
    code = compile(f"lambda: {row}", row, "eval")
    function: Callable[[], Any] = eval(code, _names(t))
    return function
