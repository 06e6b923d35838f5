"""Programs of 5 to 20 lines, one for each library of PyPI that imports ``torch``; the numbers that they print are
compared with PyTorch's. A key is the distribution's name, with the part of it that is used where there are several.
"""

PROGRAMS = {
    "transformers": """
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=50, n_positions=32, bos_token_id=0,
                                   eos_token_id=1, attn_pdrop=0, resid_pdrop=0, embd_pdrop=0))
x = torch.randint(0, 50, (2, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    loss = model(x, labels=x).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(model.eval().generate(x[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
""",
    "transformers: BERT": """
from transformers import BertConfig, BertForSequenceClassification
model = BertForSequenceClassification(BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2,
    num_attention_heads=2, intermediate_size=64, num_labels=3, hidden_dropout_prob=0., attention_probs_dropout_prob=0.))
x = torch.randint(0, 60, (2, 7))
mask = torch.ones(2, 7, dtype=torch.long)
mask[1, 4:] = 0
out = model(x, attention_mask=mask, labels=torch.tensor([0, 2]))
out.loss.backward()
print(out.loss.item(), out.logits.tolist(), model.bert.embeddings.word_embeddings.weight.grad.norm().item())
""",
    "transformers: Llama": """
from transformers import LlamaConfig, LlamaForCausalLM
model = LlamaForCausalLM(LlamaConfig(vocab_size=60, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64))
x = torch.randint(3, 60, (2, 9))
out = model(x, labels=x)
out.loss.backward()
print(out.loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
print(model.eval().generate(x[:, :4], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
""",
    "transformers: T5": """
from transformers import T5Config, T5ForConditionalGeneration
model = T5ForConditionalGeneration(T5Config(vocab_size=60, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
    dropout_rate=0., decoder_start_token_id=0))
x, y = torch.randint(2, 60, (2, 9)), torch.randint(2, 60, (2, 5))
out = model(input_ids=x, labels=y)
out.loss.backward()
print(out.loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
print(model.eval().generate(x, max_new_tokens=5, do_sample=False).tolist())
""",
    "transformers: ViT": """
from transformers import ViTConfig, ViTForImageClassification
model = ViTForImageClassification(ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=64, image_size=16, patch_size=4, num_labels=3))
out = model(torch.randn(2, 3, 16, 16), labels=torch.tensor([0, 2]))
out.loss.backward()
print(out.loss.item(), out.logits.tolist(), sum(p.grad.norm().item() for p in model.parameters()))
""",
    "transformers: Whisper": """
from transformers import WhisperConfig, WhisperForConditionalGeneration
model = WhisperForConditionalGeneration(WhisperConfig(vocab_size=60, d_model=32, encoder_layers=1, decoder_layers=1,
    encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8,
    max_source_positions=10, max_target_positions=12, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    decoder_start_token_id=1))
out = model(input_features=torch.randn(2, 8, 20), labels=torch.randint(3, 60, (2, 6)))
out.loss.backward()
print(out.loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
""",
    "transformers: Mamba": """
from transformers import MambaConfig, MambaForCausalLM
model = MambaForCausalLM(MambaConfig(vocab_size=60, hidden_size=16, state_size=4, num_hidden_layers=2))
x = torch.randint(3, 60, (2, 9))
out = model(x, labels=x)
out.loss.backward()
print(out.loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
""",
    "diffusers": """
from diffusers import DDPMScheduler, UNet2DModel
model = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
    norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"))
scheduler = DDPMScheduler(num_train_timesteps=10)
x, noise = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
noisy = scheduler.add_noise(x, noise, torch.tensor([3, 7]))
loss = torch.nn.functional.mse_loss(model(noisy, torch.tensor([3, 7])).sample, noise)
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters()))
""",
    "peft": """
from peft import LoraConfig, get_peft_model
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
model = get_peft_model(net, LoraConfig(r=2, target_modules=["0", "2"]))
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=.1)
x, y = torch.randn(8, 4), torch.randn(8, 2)
for step in range(3):
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(sum(p.numel() for p in model.parameters() if p.requires_grad), model.merge_and_unload()(x).sum().item())
""",
    "accelerate": """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
net = torch.nn.Linear(3, 1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), 4)
net, optimizer, data = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=.1), data)
for x, y in data:
    loss = torch.nn.functional.mse_loss(net(x), y)
    accelerator.backward(loss)
    accelerator.clip_grad_norm_(net.parameters(), 1.)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
""",
    "lightning": """
import logging, warnings
import lightning
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.simplefilter("ignore")
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        print(loss.item())
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=.01)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), 4)
lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                  enable_model_summary=False).fit(Model(), data)
""",
    "x-transformers": """
from x_transformers import Decoder, TransformerWrapper
layers = Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True)
model = TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers)
x = torch.randint(0, 20, (2, 8))
loss = torch.nn.functional.cross_entropy(model(x).transpose(1, 2), x)
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in model.parameters() if p.grad is not None))
""",
    "vit-pytorch": """
from vit_pytorch import ViT
model = ViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=2, heads=2, mlp_dim=32)
out = model(torch.randn(2, 3, 16, 16))
out.sum().backward()
print(out.tolist(), sum(p.grad.norm().item() for p in model.parameters()))
""",
    "vector-quantize-pytorch": """
from vector_quantize_pytorch import VectorQuantize
model = VectorQuantize(dim=8, codebook_size=16, decay=.8, commitment_weight=1.)
quantized, indices, loss = model(torch.randn(1, 20, 8))
print(quantized.sum().item(), indices.tolist(), loss.item())
""",
    "rotary-embedding-torch": """
from rotary_embedding_torch import RotaryEmbedding
print(RotaryEmbedding(dim=8).rotate_queries_or_keys(torch.randn(1, 2, 5, 8)).tolist())
""",
    "local-attention": """
from local_attention import LocalAttention
attention = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1, look_forward=0)
q, k, v = (torch.randn(1, 2, 16, 8) for _ in range(3))
print(attention(q, k, v).sum((0, 1, 2)).tolist())
""",
    "performer-pytorch": """
from performer_pytorch import SelfAttention
print(SelfAttention(dim=16, heads=2, causal=False, dim_head=8)(torch.randn(1, 12, 16)).sum((0, 1)).tolist())
""",
    "entmax": """
from entmax import entmax15, sparsemax
x = torch.randn(3, 5, requires_grad=True)
(sparsemax(x, dim=-1)[:, 0] + entmax15(x, dim=-1)[:, 1]).sum().backward()
print(sparsemax(x, dim=-1).tolist(), x.grad.tolist())
""",
    "lion-pytorch": """
from lion_pytorch import Lion
w = torch.nn.Parameter(torch.randn(5))
optimizer = Lion([w], lr=.1, weight_decay=.1)
for step in range(3):
    (w * torch.arange(5.)).sum().square().backward()
    optimizer.step()
print(w.tolist())
""",
    "schedulefree": """
import schedulefree
net = torch.nn.Linear(3, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters(), lr=.01)
optimizer.train()
for step in range(3):
    net(torch.ones(2, 3)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
optimizer.eval()
print(net.weight.tolist())
""",
    "torch-optimizer": """
import torch_optimizer
for name in ("RAdam", "LAMB", "AdaBound", "Yogi", "DiffGrad"):
    w = torch.nn.Parameter(torch.ones(4))
    optimizer = getattr(torch_optimizer, name.replace("LAMB", "Lamb"))([w], lr=.01)
    for step in range(3):
        (w * torch.arange(4.)).square().sum().backward()
        optimizer.step()
    print(name, w.tolist())
""",
    "torchmetrics": """
import torchmetrics
p, y = torch.rand(20, 3).softmax(-1), torch.randint(0, 3, (20,))
for metric in (torchmetrics.Accuracy, torchmetrics.F1Score, torchmetrics.AUROC, torchmetrics.ConfusionMatrix):
    print(metric("multiclass", num_classes=3)(p, y).tolist())
print(torchmetrics.R2Score()(torch.randn(9), torch.randn(9)).item())
""",
    "pytorch-metric-learning": """
from pytorch_metric_learning import losses, miners
x, y = torch.randn(12, 4, requires_grad=True), torch.arange(12) % 3
pairs = miners.MultiSimilarityMiner()(x, y)
loss = losses.TripletMarginLoss()(x, y, pairs) + losses.NTXentLoss()(x, y)
loss.backward()
print(loss.item(), x.grad.norm().item())
""",
    "pytorch-ignite": """
from ignite.engine import create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import MeanSquaredError
net = torch.nn.Linear(3, 1)
data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
trainer = create_supervised_trainer(net, torch.optim.SGD(net.parameters(), lr=.1), torch.nn.functional.mse_loss)
print(trainer.run(data, max_epochs=2).output)
print(create_supervised_evaluator(net, {"mse": MeanSquaredError()}).run(data).metrics)
""",
    "poutyne": """
import numpy
from poutyne import Model
net = torch.nn.Linear(3, 1)
x, y = torch.randn(12, 3).numpy(), torch.randn(12, 1).numpy()
model = Model(net, torch.optim.SGD(net.parameters(), lr=.1), "mse")
for row in model.fit(x, y, epochs=2, batch_size=4, verbose=False):
    print(row["loss"])
""",
    "gpytorch": """
import gpytorch
class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))
x = torch.linspace(0, 1, 12)
y = torch.sin(x * 6)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(x, y, likelihood)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), lr=.1)
for step in range(3):
    loss = -mll(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
model.eval()
print(likelihood(model(torch.tensor([.25, .5]))).mean.tolist())
""",
    "botorch": """
from botorch.acquisition import LogExpectedImprovement
from botorch.models import SingleTaskGP
x = torch.rand(8, 2, dtype=torch.float64)
model = SingleTaskGP(x, x.sum(1, keepdim=True).sin())
print(LogExpectedImprovement(model, best_f=.5)(torch.full((3, 1, 2), .3, dtype=torch.float64)).tolist())
""",
    "pyro-ppl": """
import pyro, pyro.distributions as dist
from pyro.infer import SVI, Trace_ELBO
data = torch.tensor([1., 1., 0., 1.])
def model():
    p = pyro.sample("p", dist.Beta(2., 2.))
    with pyro.plate("data", 4):
        pyro.sample("x", dist.Bernoulli(p), obs=data)
def guide():
    a, b = (pyro.param(n, torch.tensor(3.), constraint=dist.constraints.positive) for n in "ab")
    pyro.sample("p", dist.Beta(a, b))
pyro.set_rng_seed(0)
svi = SVI(model, guide, pyro.optim.Adam({"lr": .01}), Trace_ELBO())
print([svi.step() for _ in range(3)], pyro.param("a").item())
""",
    "zuko": """
import zuko
flow = zuko.flows.NSF(2, 1, transforms=2, hidden_features=(8,))
x = flow(torch.zeros(5, 1))
loss = -x.log_prob(torch.randn(5, 2)).mean()
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in flow.parameters()))
""",
    "nflows": """
from nflows import distributions, flows, transforms
flow = flows.Flow(transforms.CompositeTransform([transforms.ReversePermutation(2),
    transforms.MaskedAffineAutoregressiveTransform(2, 8)]), distributions.StandardNormal([2]))
loss = -flow.log_prob(inputs=torch.randn(6, 2)).mean()
loss.backward()
print(loss.item(), flow.sample(3).tolist())
""",
    "torchdiffeq": """
from torchdiffeq import odeint_adjoint
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
class F(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net
    def forward(self, t, y):
        return self.net(y) * t
out = odeint_adjoint(F(), torch.ones(2), torch.linspace(0, 1, 4))
out.sum().backward()
print(out.tolist(), net[0].weight.grad.norm().item())
""",
    "torchsde": """
import torchsde
class SDE(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"
    def f(self, t, y):
        return -y
    def g(self, t, y):
        return .1 * y
bm = torchsde.BrownianInterval(t0=0., t1=1., size=(2, 3), entropy=7, dtype=torch.float32,
                             levy_area_approximation="space-time")
print(torchsde.sdeint(SDE(), torch.ones(2, 3), torch.linspace(0, 1, 3), bm=bm, dt=.1).tolist())
""",
    "torchcde": """
import torchcde
x = torch.randn(2, 6, 3)
spline = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
print(spline.evaluate(torch.tensor(2.5)).tolist(), torchcde.linear_interpolation_coeffs(x).sum().item())
""",
    "geoopt": """
import geoopt
ball = geoopt.PoincareBall()
p = geoopt.ManifoldParameter(torch.tensor([.1, .2]), manifold=ball)
optimizer = geoopt.optim.RiemannianAdam([p], lr=.1)
for step in range(3):
    ball.dist(p, torch.tensor([.5, -.3])).backward()
    optimizer.step()
    optimizer.zero_grad()
print(p.tolist())
""",
    "e3nn": """
from e3nn import o3
irreps = o3.Irreps("2x0e + 1x1o")
x = irreps.randn(3, -1)
print(o3.FullyConnectedTensorProduct(irreps, irreps, "1x0e + 1x1o")(x, x).tolist())
print(o3.spherical_harmonics([0, 1, 2], torch.randn(2, 3), True).tolist())
""",
    "torch_geometric": """
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv
edges = torch.tensor([[0, 1, 2, 3, 1], [1, 2, 3, 0, 3]])
data = Data(x=torch.randn(4, 3), edge_index=edges)
out = GCNConv(3, 4)(data.x, data.edge_index)
out = GATConv(4, 2, heads=2)(out.relu(), data.edge_index)
print(out.tolist(), data.num_nodes)
""",
    "skorch": """
from skorch import NeuralNetRegressor
torch.manual_seed(0)
net = NeuralNetRegressor(torch.nn.Linear, module__in_features=3, module__out_features=1, max_epochs=2, lr=.1, verbose=0,
                         train_split=None, iterator_train__shuffle=False)
net.fit(torch.randn(12, 3).numpy(), torch.randn(12, 1).numpy())
print(net.history[:, "train_loss"])
""",
    "kornia": """
import kornia
x = torch.rand(1, 3, 8, 8)
print(kornia.filters.gaussian_blur2d(x, (3, 3), (1., 1.)).sum().item(), kornia.color.rgb_to_hsv(x).sum().item())
print(kornia.geometry.transform.rotate(x, torch.tensor([30.])).sum().item())
""",
    "piq": """
import piq
x, y = torch.rand(1, 3, 32, 32), torch.rand(1, 3, 32, 32)
print(piq.ssim(x, y).item(), piq.psnr(x, y).item(), piq.total_variation(x).item())
""",
    "monai": """
from monai.losses import DiceLoss
from monai.networks.nets import BasicUNet
model = BasicUNet(spatial_dims=2, in_channels=1, out_channels=2, features=(4, 4, 8, 8, 8, 4))
out = model(torch.randn(1, 1, 32, 32))
loss = DiceLoss(softmax=True, to_onehot_y=True)(out, torch.randint(0, 2, (1, 1, 32, 32)))
loss.backward()
print(loss.item(), out.sum().item())
""",
    "captum": """
from captum.attr import IntegratedGradients, Saliency
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
x = torch.randn(2, 3)
print(IntegratedGradients(net).attribute(x, target=1, n_steps=8).tolist())
print(Saliency(net).attribute(x, target=0).tolist())
""",
    "opacus": """
import warnings
warnings.simplefilter("ignore")
from opacus import GradSampleModule
net = GradSampleModule(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)))
net(torch.randn(5, 3)).sum().backward()
print([p.grad_sample.norm(2, list(range(1, p.grad_sample.dim()))).tolist() for p in net.parameters()])
""",
    "higher": """
import higher
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=.1)
with higher.innerloop_ctx(net, optimizer) as (inner, steps):
    for step in range(2):
        steps.step(inner(torch.ones(3, 2)).square().mean())
    print([g.tolist() for g in torch.autograd.grad(inner(torch.ones(3, 2)).sum(), inner.parameters(time=0))])
""",
    "stable-baselines3": """
from stable_baselines3.common.distributions import DiagGaussianDistribution
distribution = DiagGaussianDistribution(2)
mean, std = distribution.proba_distribution_net(4)
d = distribution.proba_distribution(mean(torch.randn(3, 4)), std)
print(d.log_prob(torch.zeros(3, 2)).tolist(), d.entropy().tolist())
""",
    "tensordict": """
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
data = TensorDict({"a": torch.arange(6.).view(2, 3), "b": {"c": torch.ones(2, 1)}}, batch_size=[2])
print(data[0]["a"].tolist(), (data + 1)["b", "c"].tolist(), torch.stack([data, data]).batch_size)
print(torch.vmap(lambda d: d["a"] * d["b", "c"])(data).tolist())
print(torch.vmap(lambda d: TensorDict({"s": d["a"].sum()}))(data)["s"].tolist())
net = TensorDictSequential(TensorDictModule(torch.nn.Linear(3, 2), ["a"], ["h"]),
                           TensorDictModule(torch.relu, ["h"], ["o"]))
print(net(data)["o"].sum().item())
with TensorDict.from_module(net).data.mul(2).to_module(net):
    print(net(data)["o"].sum().item())
""",
    "fvcore": """
from fvcore.nn import giou_loss, sigmoid_focal_loss
x = torch.randn(4, 2)
print(sigmoid_focal_loss(x, (x > 0).float(), reduction="mean").item())
print(giou_loss(torch.tensor([[0., 0., 2., 2.]]), torch.tensor([[1., 1., 3., 3.]]), reduction="sum").item())
""",
    "tensorly": """
import tensorly
from tensorly.decomposition import tucker
tensorly.set_backend("pytorch")
x = torch.randn(4, 5, 6)
core, factors = tucker(x, rank=[2, 2, 2], random_state=0)
print(tensorly.norm(x - tensorly.tucker_to_tensor((core, factors))).item())
""",
    "pytorch-tabnet": """
from pytorch_tabnet.tab_network import TabNet
model = TabNet(4, 2, n_d=4, n_a=4, n_steps=2, group_attention_matrix=torch.eye(4))
out, loss = model(torch.randn(6, 4))
print(out.tolist(), loss.item())
""",
    "torchinfo": """
from torchinfo import summary
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
print(summary(net, (2, 1, 8, 8), verbose=0))
""",
    "torchview": """
from torchview import draw_graph
graph = draw_graph(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), input_size=(2, 3), expand_nested=True)
print(len(graph.edge_list), sorted(node.name for edge in graph.edge_list for node in edge))
""",
    "torchviz": """
from torchviz import make_dot
net = torch.nn.Linear(3, 1)
dot = make_dot(net(torch.ones(2, 3)).sum(), params=dict(net.named_parameters()))
print(sorted(line.split("[label=")[1].split()[0] for line in dot.body if "[label=" in line))
""",
    "torchlens": """
import torchlens
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
log = torchlens.trace(net, torch.ones(2, 3))
print(len(log.layer_labels), [str(label) for label in log.layer_labels])
""",
    "lovely-tensors": """
import lovely_tensors
print(lovely_tensors.lovely(torch.arange(6.).view(2, 3)))
""",
    "treescope": """
import treescope
print(treescope.render_to_text(torch.nn.Linear(2, 3)))
""",
    "nnsight": """
from nnsight import NNsight
net = NNsight(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)))
with net.trace(torch.ones(2, 3)):
    hidden = net[1].output.save()
print(hidden.tolist())
""",
    "sentence-transformers": """
from sentence_transformers.sentence_transformer.modules import Pooling
mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
features = {"token_embeddings": torch.randn(2, 5, 4), "attention_mask": mask}
print(Pooling(4, "mean")(features)["sentence_embedding"].tolist())
""",
    "trl": """
from trl.trainer.utils import selective_log_softmax
print(selective_log_softmax(torch.randn(2, 3, 5), torch.randint(0, 5, (2, 3))).tolist())
""",
    "einops": """
from einops import rearrange, reduce, repeat
x = torch.arange(24.).view(2, 3, 4)
print(rearrange(x, "a b c -> c (a b)").tolist(), reduce(x, "a b c -> a", "max").tolist())
print(repeat(x, "a b c -> a b c r", r=2).sum().item())
""",
    "bitsandbytes": """
import bitsandbytes
print(bitsandbytes.nn.StableEmbedding(5, 4)(torch.tensor([1, 2])).shape)
""",
    "tensorboardX": """
import tempfile
from tensorboardX import SummaryWriter
with SummaryWriter(tempfile.mkdtemp()) as writer:
    writer.add_histogram("w", torch.arange(5.), 0)
    writer.add_scalar("loss", torch.tensor(2.5), 0)
print(1)
""",
    "safetensors": """
from safetensors.torch import load, save
print(load(save({"a": torch.arange(4.)}))["a"].tolist())
""",
    "pytorch-lightning": """
import logging
import pytorch_lightning
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
class Model(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(3, 1)
    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        print(loss.item())
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), 4)
pytorch_lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False).fit(Model(), data)
""",
    "timm": """
import timm
model = timm.create_model("resnet18", num_classes=3, in_chans=1)
loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 1, 32, 32)), torch.tensor([0, 2]))
loss.backward()
print(loss.item(), model.conv1.weight.grad.norm().item())
vit = timm.create_model("vit_tiny_patch16_224", img_size=32, num_classes=3, depth=2)
print(vit(torch.randn(2, 3, 32, 32)).tolist())
""",
    "torchvision": """
import torchvision
from torchvision.transforms import v2
model = torchvision.models.mobilenet_v3_small(num_classes=3).eval()  # norms of two numbers amplify rounding
out = model(torch.randn(2, 3, 32, 32))
out.sum().backward()
print(out.tolist(), model.features[0][0].weight.grad.norm().item())
image = v2.Compose([v2.Resize(12), v2.CenterCrop(8), v2.Normalize([.5] * 3, [.2] * 3)])(torch.rand(3, 16, 16))
print(image.mean().item(), torchvision.utils.make_grid(torch.rand(4, 3, 5, 5)).shape)
print(torchvision.ops.box_iou(torch.tensor([[0., 0., 2., 2.]]), torch.tensor([[1., 1., 3., 3.]])).item())
""",
    "torchaudio": """
import torchaudio
print(torchaudio.transforms.MelSpectrogram(16000, n_fft=64, n_mels=8)(torch.randn(400)).mean().item())
""",
    "open_clip_torch": """
import open_clip
model = open_clip.CLIP(embed_dim=16, vision_cfg={"image_size": 32, "layers": 1, "width": 32, "head_width": 16,
    "patch_size": 16}, text_cfg={"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 1})
image, text, scale = model(torch.randn(2, 3, 32, 32), torch.randint(0, 50, (2, 8)))
(scale * image @ text.T).sum().backward()
print(image.tolist(), text.tolist(), model.visual.conv1.weight.grad.norm().item())
""",
    "linear_operator": """
from linear_operator.operators import DiagLinearOperator, RootLinearOperator
root = torch.randn(4, 2, requires_grad=True)
sum_ = RootLinearOperator(root) + DiagLinearOperator(torch.ones(4))
loss = sum_.solve(torch.ones(4, 1)).sum() + sum_.logdet()
loss.backward()
print(loss.item(), root.grad.tolist())
""",
    "sbi": """
import contextlib, io, os, tempfile
os.chdir(tempfile.mkdtemp())  # where it writes its logs
from sbi.inference import NPE
from sbi.utils import BoxUniform
prior = BoxUniform(torch.zeros(2), torch.ones(2), device="cpu")
theta = prior.sample((40,))
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    net = NPE(prior, density_estimator="mdn", show_progress_bars=False)
    density = net.append_simulations(theta, theta + .1 * torch.randn(40, 2)).train(max_num_epochs=2)
print(density.log_prob(theta[None, :3], theta[:3] + .05).tolist())
""",
    "torchani": """
from torchani.aev import AEVComputer
aev = AEVComputer.like_2x(num_species=4)
positions = torch.tensor([[[0., 0., 0.], [0., .76, .59], [0., -.76, .59]]], requires_grad=True)
out = aev(torch.tensor([[3, 0, 0]]), positions)
out.sum().backward()
print(out.sum().item(), positions.grad.tolist())
""",
    "lpips": """
import lpips
net = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False)
print(net(torch.rand(1, 3, 32, 32), torch.rand(1, 3, 32, 32)).item())
""",
    "torchrl": """
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE
actor = ProbabilisticActor(TensorDictModule(MLP(3, 2, depth=1, num_cells=8), ["observation"], ["logits"]),
    in_keys=["logits"], distribution_class=torch.distributions.Categorical, return_log_prob=True)
value = ValueOperator(MLP(3, 1, depth=1, num_cells=8), in_keys=["observation"])
data = actor(TensorDict({"observation": torch.randn(5, 3), "next": {"observation": torch.randn(5, 3),
    "reward": torch.randn(5, 1), "done": torch.zeros(5, 1, dtype=torch.bool),
    "terminated": torch.zeros(5, 1, dtype=torch.bool)}}, [5])).detach()
GAE(gamma=.9, lmbda=.9, value_network=value)(data)
losses = ClipPPOLoss(actor, value)(data)
(losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
print(losses["loss_objective"].item(), losses["loss_critic"].item(), sum(p.grad.norm().item()
    for p in actor.parameters()))
""",
    "torchao": """
from torchao.quantization import Int8WeightOnlyConfig, quantize_
net = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
quantize_(net, Int8WeightOnlyConfig())
print(net(torch.randn(2, 32)).tolist())
""",
    "pytorch-forecasting": """
from pytorch_forecasting.metrics import MAE, QuantileLoss
from pytorch_forecasting.models.nn.rnn import LSTM
out, _ = LSTM(3, 4, batch_first=True)(torch.randn(2, 5, 3))
print(out.sum().item(), MAE()(torch.randn(4, 3), torch.randn(4, 3)).item())
print(QuantileLoss([.1, .5, .9]).loss(torch.randn(4, 3, 3), torch.randn(4, 3)).mean().item())
""",
    "torchvista": """
from torchvista import trace_model
trace_model(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), torch.ones(2, 3))
""",
    "transformer_lens": """
from transformer_lens import FactoredMatrix, HookedRootModule
from transformer_lens.hook_points import HookPoint
class Net(HookedRootModule):
    def __init__(self):
        super().__init__()
        self.first, self.hidden, self.second = torch.nn.Linear(4, 8), HookPoint(), torch.nn.Linear(8, 2)
        self.setup()
    def forward(self, x):
        return self.second(self.hidden(self.first(x).relu()))
net, x = Net(), torch.randn(3, 4)
out, cache = net.run_with_cache(x)
print(out.tolist(), cache["hidden"].tolist())
print(net.run_with_hooks(x, fwd_hooks=[("hidden", lambda value, hook: value * 0)]).tolist())
product = FactoredMatrix(torch.randn(5, 2), torch.randn(2, 5))
print(product.AB.tolist(), product.norm().item(), product.svd()[1].tolist())
""",
    "ultralytics": """
from ultralytics.nn.modules import C2f, Conv, SPPF
net = torch.nn.Sequential(Conv(3, 8, 3, 2), C2f(8, 8, 1, True), SPPF(8, 8))
out = net(torch.randn(2, 3, 16, 16))
out.sum().backward()
print(out.mean().item(), sum(p.grad.norm().item() for p in net.parameters()))
""",
    "fastai": """
from fastai.layers import LabelSmoothingCrossEntropy
print(LabelSmoothingCrossEntropy()(torch.randn(4, 3), torch.tensor([0, 1, 2, 1])).item())
""",
    "schnetpack": """
from schnetpack.nn import CosineCutoff, GaussianRBF
print(GaussianRBF(5, 3.)(torch.rand(4)).tolist(), CosineCutoff(3.)(torch.rand(4)).tolist())
""",
    "learn2learn": """
import learn2learn
maml = learn2learn.algorithms.MAML(torch.nn.Linear(3, 1), lr=.1)
clone = maml.clone()
clone.adapt(clone(torch.ones(2, 3)).square().sum())
print(clone(torch.ones(1, 3)).item())
""",
}
