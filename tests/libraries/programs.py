"""Programs of 5 to 40 lines, one for each library of PyPI that imports ``torch``; the numbers that they print are
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
from diffusers import AutoencoderKL, DDIMPipeline, DDIMScheduler, DDPMScheduler, EulerDiscreteScheduler
from diffusers import UNet2DConditionModel, UNet2DModel
model = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
    norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"))
scheduler = DDPMScheduler(num_train_timesteps=10)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x = torch.randn(2, 1, 8, 8)
for step in range(3):
    noise, times = torch.randn(2, 1, 8, 8), torch.randint(0, 10, (2,))
    loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(x, noise, times), times).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
pipeline = DDIMPipeline(model, DDIMScheduler(num_train_timesteps=10))
pipeline.set_progress_bar_config(disable=True)
print(pipeline(batch_size=1, num_inference_steps=3, output_type="np",
    generator=torch.Generator().manual_seed(1)).images.mean().item())
vae = AutoencoderKL(in_channels=1, out_channels=1, block_out_channels=(8,), latent_channels=2, norm_num_groups=4)
print(vae(x, sample_posterior=True).sample.mean().item(), vae.encode(x).latent_dist.mean.mean().item())
conditional = UNet2DConditionModel(sample_size=8, in_channels=2, out_channels=2, layers_per_block=1,
    block_out_channels=(8, 16),
    norm_num_groups=4, cross_attention_dim=8, attention_head_dim=4, down_block_types=("DownBlock2D",
        "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))
euler = EulerDiscreteScheduler()
euler.set_timesteps(3)
latents = torch.randn(1, 2, 8, 8) * euler.init_noise_sigma
with torch.no_grad():
    for t in euler.timesteps:
        out = conditional(euler.scale_model_input(latents, t), t, encoder_hidden_states=torch.ones(1, 4, 8)).sample
        latents = euler.step(out, t, latents).prev_sample
print(latents.mean().item(), latents.std().item())
""",
    "peft": """
from peft import IA3Config, LoraConfig, LoHaConfig, PromptTuningConfig, get_peft_model, get_peft_model_state_dict
from transformers import GPT2Config, GPT2LMHeadModel
def plain():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
x, y = torch.randn(8, 4), torch.randn(8, 2)
for config in (LoraConfig(r=2, target_modules=["0", "2"]), LoraConfig(r=2, target_modules=["0"], use_dora=True,
    modules_to_save=["2"]),
               LoHaConfig(r=2, target_modules=["0", "2"])):
    model = get_peft_model(plain(), config)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=.1)
    for step in range(3):
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())
    print(sum(p.numel() for p in model.parameters() if p.requires_grad), model.merge_and_unload()(x).sum().item())
base = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=20, n_positions=32, bos_token_id=0,
    eos_token_id=1,
    attn_pdrop=0, resid_pdrop=0, embd_pdrop=0))
tokens = torch.randint(2, 20, (2, 6))
for config in (LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["c_attn"], fan_in_fan_out=True),
               PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)):
    model = get_peft_model(base, config)
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    print(loss.item(), {name: tuple(value.shape) for name, value in get_peft_model_state_dict(model).items()})
    with model.disable_adapter():
        print(model(tokens, labels=tokens).loss.item())
    base = model.unload() if hasattr(model, "unload") else base
""",
    "accelerate": """
import tempfile
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.utils import set_seed
set_seed(3)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), 4)
optimizer = torch.optim.AdamW(net.parameters(), lr=.1)
net, optimizer, data, scheduler = accelerator.prepare(net, optimizer, data,
    torch.optim.lr_scheduler.StepLR(optimizer, 1, .5))
for epoch in range(2):
    for x, y in data:
        with accelerator.accumulate(net):
            loss = torch.nn.functional.mse_loss(net(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(net.parameters(), 1.)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print(loss.item(), scheduler.get_last_lr())
print(accelerator.gather_for_metrics(net(x)).tolist())
folder = tempfile.mkdtemp()
accelerator.save_model(net, folder)
accelerator.save_state(folder + "/state")
with init_empty_weights():
    empty = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
print(empty[0].weight.device, load_checkpoint_and_dispatch(empty, folder + "/model.safetensors",
    {"": "cpu"})(x).tolist())
accelerator.load_state(folder + "/state")
print(net(x).tolist())
""",
    "lightning": """
import logging, tempfile, warnings
import lightning
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint, StochasticWeightAveraging
from lightning.pytorch.loggers import CSVLogger
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.simplefilter("ignore")
class Model(lightning.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        print(loss.item())
        return loss
    def validation_step(self, batch, index):
        self.log("validation", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]), prog_bar=True)
    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), 4)
folder = tempfile.mkdtemp()
keeper = ModelCheckpoint(folder, monitor="validation")
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", logger=CSVLogger(folder), enable_progress_bar=False,
    log_every_n_steps=1,
    enable_model_summary=False, gradient_clip_val=.5, accumulate_grad_batches=2, callbacks=[keeper,
        EarlyStopping("validation"),
    LearningRateMonitor("epoch")])
trainer.fit(Model(), data, data)
print({name: value.item() for name, value in trainer.callback_metrics.items()}, trainer.global_step)
restored = Model.load_from_checkpoint(keeper.best_model_path, weights_only=False)
print(restored.hparams, trainer.validate(restored, data, verbose=False))
""",
    "x-transformers": """
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, ViTransformerWrapper
layers = Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True, attn_flash=True, ff_glu=True, use_rmsnorm=True)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.arange(36).view(4, 9) % 20
for step in range(4):
    loss = model(x)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), .5)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(model.generate(x[:2, :3], 5, temperature=0., cache_kv=True).tolist())
vit = ViTransformerWrapper(image_size=16, patch_size=4, num_classes=3, attn_layers=Encoder(dim=16, depth=1, heads=2))
print(vit(torch.randn(2, 3, 16, 16)).tolist())
""",
    "vit-pytorch": """
from vit_pytorch import MAE, SimpleViT, ViT
from vit_pytorch.cct import CCT
model = ViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=2, heads=2, mlp_dim=32, dropout=0.)
images, labels = torch.randn(4, 3, 16, 16), torch.tensor([0, 2, 1, 2])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(SimpleViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=1, heads=2, mlp_dim=32)(images).tolist())
encoder = ViT(image_size=16, patch_size=4, num_classes=3, dim=16, depth=1, heads=2, mlp_dim=32, pool="mean")
mae = MAE(encoder=encoder, masking_ratio=.75, decoder_dim=16, decoder_depth=1)
loss = mae(images)
loss.backward()
print(loss.item(), sum(p.grad.norm().item() for p in mae.parameters() if p.grad is not None))
cct = CCT(img_size=16, embedding_dim=16, n_conv_layers=1, num_layers=1, num_heads=2, mlp_ratio=2,
    num_classes=3).eval()
print(cct(images).tolist())
""",
    "vector-quantize-pytorch": """
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize
model = VectorQuantize(dim=8, codebook_size=16, decay=.8, commitment_weight=1.)
encoder = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(encoder.parameters(), lr=.01)
x = torch.randn(1, 20, 8)
for step in range(4):
    quantized, indices, loss = model(encoder(x))
    (loss + (quantized - x).square().mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item(), quantized.sum().item(), indices.tolist())
residual = ResidualVQ(dim=8, num_quantizers=3, codebook_size=16, kmeans_init=False)
quantized, indices, losses = residual(x)
print(quantized.sum().item(), indices.tolist(), losses.tolist())
fsq = FSQ(levels=[8, 5, 5])
quantized, indices = fsq(torch.randn(1, 6, 3))
print(quantized.tolist(), indices.tolist(), torch.equal(fsq.indices_to_codes(indices), quantized))
quantized, indices, entropy = LFQ(codebook_size=16, dim=4)(torch.randn(1, 6, 4))
print(quantized.tolist(), indices.tolist(), entropy.item())
""",
    "rotary-embedding-torch": """
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb
rotary = RotaryEmbedding(dim=8)
print(rotary.rotate_queries_or_keys(torch.randn(1, 2, 5, 8)).tolist())
q, k = (torch.randn(1, 2, 5, 8, requires_grad=True) for _ in range(2))
xpos = RotaryEmbedding(dim=8, use_xpos=True)
turned, others = xpos.rotate_queries_and_keys(q, k)
(turned @ others.transpose(-1, -2)).square().sum().backward()
print(turned.tolist(), q.grad.tolist(), k.grad.norm().item())
cached, keys = rotary.rotate_queries_with_cached_keys(q[:, :, -1:], k)
print(cached.tolist(), keys.sum().item())
axial = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=256)
print(apply_rotary_emb(axial.get_axial_freqs(3, 4), torch.randn(1, 3, 4, 8)).sum((0, 3)).tolist())
print(RotaryEmbedding(dim=8, interpolate_factor=2., learned_freq=True).rotate_queries_or_keys(q).sum().item())
""",
    "local-attention": """
from local_attention import LocalAttention
from local_attention.transformer import LocalTransformer
attention = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1, look_forward=0, autopad=True)
q, k, v = (torch.randn(1, 2, 14, 8, requires_grad=True) for _ in range(3))
mask = torch.ones(1, 14).bool()
mask[:, 11:] = False
out = attention(q, k, v, mask=mask)
out[mask[:, None].expand(1, 2, 14)].square().sum().backward()
print(out.sum((0, 1, 2)).tolist(), q.grad.sum().item(), v.grad.norm().item())
model = LocalTransformer(num_tokens=20, dim=16, depth=2, heads=2, dim_head=8, max_seq_len=32,
    local_attn_window_size=4,
    num_residual_streams=1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.arange(34).view(2, 17) % 20
for step in range(3):
    loss = model(x, return_loss=True)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(model.generate(x[:, :3], 4, temperature=1e-8, use_kv_cache=False).tolist())
""",
    "performer-pytorch": """
from performer_pytorch import AutoregressiveWrapper, CrossAttention, PerformerLM, SelfAttention
x = torch.randn(1, 12, 16)
print(SelfAttention(dim=16, heads=2, causal=False, dim_head=8)(x).sum((0, 1)).tolist())
print(CrossAttention(dim=16, heads=2, dim_head=8)(x, context=torch.randn(1, 7, 16)).sum((0, 1)).tolist())
model = PerformerLM(num_tokens=20, max_seq_len=16, dim=16, depth=2, heads=2, dim_head=8, nb_features=16,
    feature_redraw_interval=2, generalized_attention=True, use_scalenorm=True, tie_embed=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
tokens = torch.arange(32).view(2, 16) % 20
for step in range(3):
    loss = torch.nn.functional.cross_entropy(model(tokens, mask=tokens < 18).transpose(1, 2), tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(model.eval()(tokens, return_encodings=True).sum((0, 1)).tolist())
""",
    "entmax": """
from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, normmax_bisect, sparsemax, sparsemax_bisect
x = torch.randn(3, 5, requires_grad=True)
(sparsemax(x, dim=-1)[:, 0] + entmax15(x, dim=-1)[:, 1]).sum().backward()
print(sparsemax(x, dim=-1).tolist(), x.grad.tolist())
alpha = torch.tensor(1.3, requires_grad=True)
p = entmax_bisect(x, alpha)
grads = torch.autograd.grad((p * torch.arange(5.)).sum(), [x, alpha])
print(p.tolist(), [g.tolist() for g in grads], sparsemax_bisect(x).tolist())
print(normmax_bisect(x, 2).tolist(), entmax15(x, dim=0, k=2).tolist())
y = torch.tensor([0, 4, 2])
for loss in (SparsemaxLoss(), Entmax15Loss(reduction="sum")):
    value = loss(x, y)
    print(value.item(), torch.autograd.grad(value, x)[0].tolist())
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
for metric in (torchmetrics.Accuracy, torchmetrics.F1Score, torchmetrics.AUROC, torchmetrics.ConfusionMatrix,
               torchmetrics.AveragePrecision, torchmetrics.CohenKappa, torchmetrics.MatthewsCorrCoef):
    print(metric("multiclass", num_classes=3)(p, y).tolist())
a, b = torch.randn(9), torch.randn(9)
print(torchmetrics.R2Score()(a, b).item(), torchmetrics.SpearmanCorrCoef()(a, b).item())
both = torchmetrics.MetricCollection([torchmetrics.PearsonCorrCoef(), torchmetrics.MeanAbsoluteError()])
for part in range(3):  # in batches, as in a loop of training
    both.update(a[part * 3:part * 3 + 3], b[part * 3:part * 3 + 3])
print({name: value.item() for name, value in both.compute().items()})
images = torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24)
print(torchmetrics.image.StructuralSimilarityIndexMeasure(data_range=1.)(*images).item())
print(torchmetrics.image.PeakSignalNoiseRatio(data_range=1.)(*images).item())
ranks = torchmetrics.retrieval.RetrievalNormalizedDCG()
print(ranks(torch.rand(8), torch.randint(0, 2, (8,)), indexes=torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])).item())
print(torchmetrics.text.Perplexity()(torch.randn(2, 4, 5), torch.randint(0, 5, (2, 4))).item())
average = torchmetrics.MeanMetric()
average.update(a, weight=b.abs())
print(average.compute().item())
""",
    "pytorch-metric-learning": """
from pytorch_metric_learning import distances, losses, miners, reducers, samplers
net = torch.nn.Linear(6, 4)
x, y = torch.randn(12, 6), torch.arange(12) % 3
miner = miners.TripletMarginMiner(margin=.2, type_of_triplets="semihard")
rows = {"triplet": losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.MeanReducer()),
    "ntxent": losses.NTXentLoss(), "contrastive": losses.ContrastiveLoss(), "circle": losses.CircleLoss(),
    "arcface": losses.ArcFaceLoss(3, 4), "proxy": losses.ProxyAnchorLoss(3, 4), "supcon": losses.SupConLoss()}
for name, function in rows.items():
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    for step in range(2):
        out = net(x)
        loss = function(out, y, miner(out, y)) if name == "triplet" else function(out, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(name, loss.item())
memory = losses.CrossBatchMemory(losses.ContrastiveLoss(), embedding_size=4, memory_size=16)
print([memory(net(x), y).item() for _ in range(2)])
pairs = miners.MultiSimilarityMiner()(net(x), y)
print([len(part) for part in pairs], [*samplers.MPerClassSampler(y, m=2, length_before_new_iter=12)].__len__())
print(distances.LpDistance()(net(x[:3]), net(x[3:6])).tolist())
""",
    "pytorch-ignite": """
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EMAHandler, EarlyStopping, PiecewiseLinear
from ignite.metrics import Accuracy, Loss, MeanSquaredError, RunningAverage
net = torch.nn.Linear(3, 2)
data = [(torch.randn(4, 3), torch.randint(0, 2, (4,))) for _ in range(3)]
optimizer = torch.optim.SGD(net.parameters(), lr=.1)
loss = torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(net, optimizer, loss)
RunningAverage(output_transform=lambda out: out).attach(trainer, "smooth")
evaluator = create_supervised_evaluator(net, {"accuracy": Accuracy(), "loss": Loss(loss)})
trainer.add_event_handler(Events.ITERATION_STARTED, PiecewiseLinear(optimizer, "lr", [(0, .1), (6, .01)]))
ema = EMAHandler(net, momentum=.1)
ema.attach(trainer)
stopper = EarlyStopping(patience=2, score_function=lambda engine: -engine.state.metrics["loss"], trainer=trainer)
evaluator.add_event_handler(Events.COMPLETED, stopper)
@trainer.on(Events.EPOCH_COMPLETED)
def evaluated(engine):
    print(engine.state.epoch, engine.state.metrics["smooth"], evaluator.run(data).metrics,
        optimizer.param_groups[0]["lr"])
print(trainer.run(data, max_epochs=3).output, ema.ema_model.weight.tolist())
regression = create_supervised_evaluator(torch.nn.Linear(3, 1), {"mse": MeanSquaredError()})
print(regression.run([(torch.randn(4, 3), torch.randn(4, 1))]).metrics)
""",
    "poutyne": """
import numpy
from poutyne import EarlyStopping, ExponentialLR, Model
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
x, y = torch.randn(24, 3).numpy(), torch.randint(0, 2, (24,)).numpy()
model = Model(net, torch.optim.SGD(net.parameters(), lr=.1, momentum=.9), "cross_entropy",
              batch_metrics=["accuracy"], epoch_metrics=["f1"])
callbacks = [ExponentialLR(gamma=.9), EarlyStopping(patience=5)]
for row in model.fit(x, y, validation_data=(x, y), epochs=3, batch_size=8, callbacks=callbacks, verbose=False):
    print({name: value for name, value in row.items() if name != "time"})
print(model.evaluate(x, y, verbose=False), model.predict(x[:3], verbose=False).tolist())
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
class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        inner = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, inner))
        self.mean, self.kernel = gpytorch.means.ZeroMean(), gpytorch.kernels.MaternKernel(nu=2.5)
    forward = Model.forward
def trained(model, likelihood, mll, x, y):
    optimizer = torch.optim.Adam([*model.parameters()], lr=.1)
    for step in range(3):
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        found = likelihood(model(torch.tensor([.25, .5])))
    print(found.mean.tolist(), found.variance.tolist(), [side.tolist() for side in found.confidence_region()])
x = torch.linspace(0, 1, 12)
y = torch.sin(x * 6)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(x, y, likelihood)
trained(model, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), x, y)
likelihood, model = gpytorch.likelihoods.GaussianLikelihood(), Variational(x[::3])
trained(model, likelihood, gpytorch.mlls.VariationalELBO(likelihood, model, num_data=12), x, y)
""",
    "botorch": """
from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
x = torch.rand(8, 2, dtype=torch.float64)
y = 1 - (x - .5).norm(dim=-1, keepdim=True)
model = SingleTaskGP(x, y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
print(round(model.covar_module.lengthscale.mean().item(), 2))
found = LogExpectedImprovement(model, best_f=y.max())
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
print(found(torch.full((3, 1, 2), .3, dtype=torch.float64)).tolist())
candidate, value = optimize_acqf(found, bounds=bounds, q=1, num_restarts=2, raw_samples=8)
print([round(one, 2) for one in candidate[0].tolist()])
print(qLogExpectedImprovement(model, best_f=y.max())(torch.full((2, 2, 2), .4, dtype=torch.float64)).shape)
""",
    "pyro-ppl": """
import pyro, pyro.distributions as dist
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoNormal
data = torch.tensor([1., 1., 0., 1.])
def model(data=data):
    p = pyro.sample("p", dist.Beta(2., 2.))
    with pyro.plate("data", 4):
        return pyro.sample("x", dist.Bernoulli(p), obs=data)
def guide(data=data):
    a, b = (pyro.param(n, torch.tensor(3.), constraint=dist.constraints.positive) for n in "ab")
    pyro.sample("p", dist.Beta(a, b))
pyro.set_rng_seed(0)
svi = SVI(model, guide, pyro.optim.Adam({"lr": .01}), Trace_ELBO())
print([svi.step() for _ in range(3)], pyro.param("a").item())
auto = AutoNormal(model)
svi = SVI(model, auto, pyro.optim.Adam({"lr": .01}), Trace_ELBO())
print([svi.step() for _ in range(3)], {name: value.item() for name, value in auto.median().items()})
print(Predictive(model, guide=auto, num_samples=3)(None)["x"].tolist())
@config_enumerate
def mixture():
    weights = pyro.param("weights", torch.tensor([.4, .6]), constraint=dist.constraints.simplex)
    with pyro.plate("points", 4):
        which = pyro.sample("which", dist.Categorical(weights))
        pyro.sample("seen", dist.Normal(which * 2., 1.), obs=data * 2)
print(TraceEnum_ELBO(max_plate_nesting=1).loss(mixture, lambda: None))
chain = MCMC(NUTS(model), num_samples=4, warmup_steps=4, disable_progbar=True)
chain.run()
print(chain.get_samples()["p"].tolist())
""",
    "zuko": """
import zuko
for flow in (zuko.flows.NSF(2, 1, transforms=2, hidden_features=(8,)), zuko.flows.MAF(2, 1, transforms=2,
    hidden_features=(8,)),
             zuko.flows.NICE(2, 1, transforms=2, hidden_features=(8,))):
    optimizer = torch.optim.Adam(flow.parameters(), lr=.01)
    x, c = torch.randn(16, 2), torch.randn(16, 1)
    for step in range(3):
        loss = -flow(c).log_prob(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())
    print(flow(c[0]).sample((3,)).tolist())
flow = zuko.flows.CNF(2, 1, hidden_features=(8,), freqs=2)
print(flow(torch.zeros(1)).log_prob(torch.ones(3, 2)).tolist())
points, densities = flow(torch.zeros(1)).rsample_and_log_prob((2,))
print(points.tolist(), densities.tolist())
""",
    "nflows": """
from nflows import distributions, flows, transforms
from nflows.nn import nets
steps = []
for layer in range(2):
    steps += [transforms.ReversePermutation(2), transforms.MaskedAffineAutoregressiveTransform(2, 8),
              transforms.PiecewiseRationalQuadraticCouplingTransform(torch.tensor([1, 0]),
                  lambda i, o: nets.ResidualNet(i, o, 8, num_blocks=1), num_bins=4, tails="linear", tail_bound=3.)
              if layer else transforms.LULinear(2)]
flow = flows.Flow(transforms.CompositeTransform(steps), distributions.StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters(), lr=.01)
x = torch.randn(16, 2)
for step in range(3):
    loss = -flow.log_prob(inputs=x).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(flow.sample(3).tolist(), flow.transform_to_noise(x[:2]).tolist())
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
    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Linear(3, 3)
    def f(self, t, y):
        return self.drift(y)
    def g(self, t, y):
        return .1 * y
def motion(levy="space-time"):
    return torchsde.BrownianInterval(t0=0., t1=1., size=(2, 3), entropy=7, dtype=torch.float32,
        levy_area_approximation=levy)
sde, times = SDE(), torch.linspace(0, 1, 3)
print(torchsde.sdeint(sde, torch.ones(2, 3), times, bm=motion(), dt=.1).tolist())
for method in ("euler", "milstein", "srk"):
    out = torchsde.sdeint(sde, torch.ones(2, 3), times, bm=motion(), dt=.1, method=method)
    sde.zero_grad()
    out[-1].sum().backward()
    print(method, out[-1].tolist(), sde.drift.weight.grad.tolist())
sde.sde_type = "stratonovich"
out = torchsde.sdeint_adjoint(sde, torch.ones(2, 3), times, bm=motion("none"), dt=.1, method="midpoint")
sde.zero_grad()
out[-1].sum().backward()
print(out[-1].tolist(), sde.drift.weight.grad.tolist())
""",
    "torchcde": """
import torchcde
class F(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4 * 3)
    def forward(self, t, z):
        return self.linear(z).tanh().view(-1, 4, 3)
x = torch.randn(2, 6, 3)
spline = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
print(spline.evaluate(torch.tensor(2.5)).tolist(), torchcde.linear_interpolation_coeffs(x).sum().item())
f, start = F(), torch.nn.Linear(3, 4)
optimizer = torch.optim.Adam([*f.parameters(), *start.parameters()], lr=.01)
for step in range(3):
    z = torchcde.cdeint(X=spline, func=f, z0=start(spline.evaluate(0.)), t=spline.interval, method="rk4",
                        options={"step_size": .5}, adjoint=step == 1)
    loss = z[:, 1].square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
holes = x.clone()
holes[0, 2, 1:] = float("nan")
print(torchcde.natural_cubic_coeffs(holes).sum().item(), torchcde.linear_interpolation_coeffs(holes,
    rectilinear=0).shape)
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
sphere, stiefel = geoopt.Sphere(), geoopt.Stiefel()
q = geoopt.ManifoldParameter(stiefel.random(4, 2), manifold=stiefel)
s = geoopt.ManifoldParameter(sphere.projx(torch.randn(3)), manifold=sphere)
optimizer = geoopt.optim.RiemannianSGD([q, s], lr=.1, momentum=.9, stabilize=1)
for step in range(3):
    loss = (q.T @ torch.diag(torch.arange(4.)) @ q).trace() + s[0]
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print((q.T @ q).tolist(), s.tolist(), s.norm().item())
x, y = ball.expmap0(torch.tensor([.3, .1])), ball.expmap0(torch.tensor([-.2, .4]))
print(ball.mobius_add(x, y).tolist(), ball.logmap(x, y).tolist(), ball.geodesic(torch.tensor(.5), x, y).tolist())
print(geoopt.SymmetricPositiveDefinite().dist(torch.eye(2), torch.tensor([[2., .5], [.5, 1.]])).item())
""",
    "e3nn": """
from e3nn import nn, o3
irreps = o3.Irreps("2x0e + 1x1o")
x = irreps.randn(3, -1).requires_grad_()
product = o3.FullyConnectedTensorProduct(irreps, irreps, "1x0e + 1x1o")
out = product(x, x)
out.square().sum().backward()
print(out.tolist(), x.grad.tolist(), product.weight.grad.norm().item())
print(o3.spherical_harmonics([0, 1, 2], torch.randn(2, 3), True).tolist())
rotation = o3.rand_matrix()
turned = product(x @ irreps.D_from_matrix(rotation).T, x @ irreps.D_from_matrix(rotation).T)
print((turned - out @ product.irreps_out.D_from_matrix(rotation).T).abs().max().item() < 1e-4)
gate = nn.Gate("1x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
linear = o3.Linear(irreps, gate.irreps_in)
optimizer = torch.optim.Adam(linear.parameters(), lr=.01)
for step in range(3):
    loss = gate(linear(x.detach())).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(o3.wigner_3j(1, 1, 2).sum().item(), nn.BatchNorm(irreps)(x).tolist())
""",
    "torch_geometric": """
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, MessagePassing, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, softmax, to_dense_adj, to_undirected
class Edge(MessagePassing):
    def __init__(self):
        super().__init__(aggr="max")
        self.net = torch.nn.Linear(8, 4)
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)
    def message(self, x_i, x_j):
        return self.net(torch.cat([x_i, x_j - x_i], 1))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([GCNConv(3, 4), GATConv(4, 2, heads=2), SAGEConv(4, 4), Edge(),
            GINConv(torch.nn.Linear(4, 4))])
        self.head = torch.nn.Linear(4, 2)
    def forward(self, data):
        x = data.x
        for layer in self.layers:
            x = layer(x, data.edge_index).relu()
        return self.head(global_mean_pool(x, data.batch))
edges = to_undirected(torch.tensor([[0, 1, 2, 3, 1], [1, 2, 3, 0, 3]]))
graphs = [Data(x=torch.randn(4, 3), edge_index=edges, y=torch.tensor([i % 2])) for i in range(6)]
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=.01)
for batch in DataLoader(graphs, batch_size=3):
    loss = torch.nn.functional.cross_entropy(net(batch), batch.y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(batch.num_graphs, loss.item())
print(to_dense_adj(edges).tolist(), add_self_loops(edges)[0].shape, softmax(torch.randn(edges.shape[1]),
    edges[0]).tolist())
""",
    "skorch": """
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EpochScoring, LRScheduler
torch.manual_seed(0)
net = NeuralNetRegressor(torch.nn.Linear, module__in_features=3, module__out_features=1, max_epochs=2, lr=.1,
    verbose=0,
                         train_split=None, iterator_train__shuffle=False)
net.fit(torch.randn(12, 3).numpy(), torch.randn(12, 1).numpy())
print(net.history[:, "train_loss"])
class Net(torch.nn.Module):
    def __init__(self, hidden=4):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2))
    def forward(self, x):
        return self.layers(x).softmax(-1)
x, y = torch.randn(24, 3).numpy(), torch.randint(0, 2, (24,)).numpy()
callbacks = [EpochScoring("accuracy", lower_is_better=False, on_train=True), LRScheduler("StepLR", step_size=1)]
net = NeuralNetClassifier(Net, max_epochs=3, lr=.1, verbose=0, callbacks=callbacks, optimizer=torch.optim.Adam)
net.fit(x, y)
print(net.history[:, ("train_loss", "valid_loss")], net.predict_proba(x[:3]).tolist(), net.predict(x[:5]).tolist())
net.set_params(callbacks=None, train_split=None)
found = GridSearchCV(net, {"module__hidden": [2, 4], "lr": [.01, .1]}, cv=2, scoring="accuracy").fit(x, y)
print(found.cv_results_["mean_test_score"].tolist())
""",
    "kornia": """
import kornia
import kornia.augmentation as K
x = torch.rand(1, 3, 8, 8, requires_grad=True)
print(kornia.filters.gaussian_blur2d(x, (3, 3), (1., 1.)).sum().item(), kornia.color.rgb_to_hsv(x).sum().item())
out = kornia.geometry.transform.rotate(x, torch.tensor([30.]))
out.square().sum().backward()
print(out.sum().item(), x.grad.norm().item())
for name in ("sobel", "laplacian", "median_blur", "canny"):
    args = {"laplacian": (3,), "median_blur": ((3, 3),)}.get(name, ())
    found = getattr(kornia.filters, name)(x, *args)
    print(name, [part.sum().item() for part in (found if isinstance(found, tuple) else (found,))])
points = torch.rand(1, 4, 2) * 8
homography = kornia.geometry.get_perspective_transform(points, points + .1 * torch.rand(1, 4, 2))
print(homography.tolist(), kornia.geometry.warp_perspective(x, homography, (8, 8)).sum().item())
augment = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.), K.RandomAffine(20., p=1.), K.ColorJitter(.1, .1,
    .1, .1, p=1.))
print(augment(x.detach()).shape, kornia.losses.ssim_loss(x, x.flip(3), 3).item())
print(kornia.morphology.dilation(x, torch.ones(3, 3)).sum().item(), kornia.feature.harris_response(x).sum().item())
print(kornia.geometry.conversions.axis_angle_to_rotation_matrix(torch.tensor([[.1, .2, .3]])).tolist())
print(kornia.losses.FocalLoss(alpha=.5, reduction="mean")(torch.randn(2, 4), torch.tensor([0, 3])).item())
""",
    "piq": """
import piq
x, y = torch.rand(1, 3, 48, 48, requires_grad=True), torch.rand(1, 3, 48, 48)
print(piq.ssim(x, y).item(), piq.psnr(x, y).item(), piq.total_variation(x).item())
for name in ("gmsd", "vif_p", "fsim", "vsi", "haarpsi", "mdsi", "srsim", "dss"):
    print(name, getattr(piq, name)(x, y).item())
loss = piq.SSIMLoss(data_range=1.)(x, y) + piq.VIFLoss(data_range=1.)(x,
    y) + piq.MultiScaleGMSDLoss(chromatic=True)(x, y)
loss.backward()
print(loss.item(), x.grad.norm().item())
""",
    "monai": """
import numpy
from monai.data import DataLoader, Dataset
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric
from monai.networks.nets import BasicUNet, UNet
from monai.transforms import AsDiscrete, Compose, EnsureChannelFirstd, RandFlipd, ScaleIntensityd, Spacingd
model = BasicUNet(spatial_dims=2, in_channels=1, out_channels=2, features=(4, 4, 8, 8, 8, 4))
out = model(torch.randn(1, 1, 32, 32))
loss = DiceLoss(softmax=True, to_onehot_y=True)(out, torch.randint(0, 2, (1, 1, 32, 32)))
loss.backward()
print(loss.item(), out.sum().item())
rng = numpy.random.default_rng(0)
files = [{"image": rng.random((16, 16), dtype="float32"), "label": (rng.random((16, 16)) > .5).astype("float32")}
         for _ in range(4)]
prepare = Compose([EnsureChannelFirstd(["image", "label"], channel_dim="no_channel"), ScaleIntensityd("image"),
                   RandFlipd(["image", "label"], prob=1., spatial_axis=0)])
model = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1)
optimizer, function = torch.optim.Adam(model.parameters(), 1e-2), DiceCELoss(to_onehot_y=True, softmax=True)
for batch in DataLoader(Dataset(files, prepare), batch_size=2):
    loss = function(model(batch["image"]), batch["label"])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
with torch.no_grad():
    out = sliding_window_inference(batch["image"], (8, 8), 2, model.eval(), overlap=.5, mode="gaussian")
found = torch.stack([AsDiscrete(argmax=True, to_onehot=2)(one) for one in out])
truth = torch.stack([AsDiscrete(to_onehot=2)(one) for one in batch["label"]])
print(out.sum().item(), DiceMetric(include_background=False)(found, truth).tolist())
print(HausdorffDistanceMetric()(found, truth).tolist())
""",
    "captum": """
from captum.attr import (DeepLift, FeatureAblation, GradientShap, InputXGradient, IntegratedGradients,
    LayerConductance,
    LayerGradCam, NeuronGradient, NoiseTunnel, Occlusion, Saliency, ShapleyValueSampling)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
x = torch.randn(2, 3)
print(IntegratedGradients(net).attribute(x, target=1, n_steps=8, return_convergence_delta=True))
for method in (Saliency, InputXGradient, DeepLift, FeatureAblation):
    print(method.__name__, method(net).attribute(x, target=0).tolist())
print(ShapleyValueSampling(net).attribute(x, target=0, n_samples=4).tolist())
print(GradientShap(net).attribute(x, baselines=torch.zeros(2, 3), target=0, n_samples=3).shape)
print(LayerConductance(net, net[1]).attribute(x, target=0, n_steps=8).tolist())
print(NeuronGradient(net, net[0]).attribute(x, neuron_selector=2).tolist())
print(NoiseTunnel(Saliency(net)).attribute(x, nt_samples=3, nt_type="smoothgrad", target=1).tolist())
images = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
picture = torch.randn(1, 1, 8, 8)
print(LayerGradCam(images, images[0]).attribute(picture, target=1).tolist())
print(Occlusion(images).attribute(picture, target=1, sliding_window_shapes=(1, 4, 4), strides=(1, 4, 4)).tolist())
""",
    "opacus": """
import warnings
warnings.simplefilter("ignore")
from opacus import GradSampleModule, PrivacyEngine
from opacus.validators import ModuleValidator
net = GradSampleModule(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)))
net(torch.randn(5, 3)).sum().backward()
print([p.grad_sample.norm(2, list(range(1, p.grad_sample.dim()))).tolist() for p in net.parameters()])
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(144, 2))
data = torch.utils.data.TensorDataset(torch.randn(24, 1, 8, 8), torch.randint(0, 2, (24,)))
engine = PrivacyEngine()
net, optimizer, loader = engine.make_private(module=net, optimizer=torch.optim.SGD(net.parameters(), lr=.1),
    data_loader=torch.utils.data.DataLoader(data, batch_size=8), noise_multiplier=1., max_grad_norm=1.)
for epoch in range(2):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(len(y), loss.item())
print(engine.get_epsilon(1e-5))
print(ModuleValidator.fix(torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.BatchNorm2d(8))))
""",
    "higher": """
import higher
net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
x, y = torch.randn(6, 2), torch.randn(6, 1)
for kind in (torch.optim.SGD, torch.optim.Adam):
    optimizer = kind(net.parameters(), lr=.1)
    outer = torch.optim.Adam(net.parameters(), lr=.01)
    for step in range(2):
        with higher.innerloop_ctx(net, optimizer, copy_initial_weights=False) as (inner, steps):
            for _ in range(2):
                steps.step((inner(x[:3]) - y[:3]).square().mean())
            loss = (inner(x[3:]) - y[3:]).square().mean()
            loss.backward()
        print(kind.__name__, loss.item(), [p.grad.norm().item() for p in net.parameters()])
        outer.step()
        outer.zero_grad()
with higher.innerloop_ctx(net, torch.optim.SGD(net.parameters(), lr=.1)) as (inner, steps):
    for step in range(2):
        steps.step(inner(torch.ones(3, 2)).square().mean())
    print([g.tolist() for g in torch.autograd.grad(inner(torch.ones(3, 2)).sum(), inner.parameters(time=0))])
""",
    "stable-baselines3": """
import gymnasium, numpy
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.evaluation import evaluate_policy
distribution = DiagGaussianDistribution(2)
mean, std = distribution.proba_distribution_net(4)
d = distribution.proba_distribution(mean(torch.randn(3, 4)), std)
print(d.log_prob(torch.zeros(3, 2)).tolist(), d.entropy().tolist())
for algorithm, options in ((PPO, {"n_steps": 32, "batch_size": 16, "n_epochs": 2}), (A2C, {"n_steps": 8}),
                           (DQN, {"learning_starts": 16, "batch_size": 8, "train_freq": 4})):
    env = gymnasium.make("CartPole-v1")
    model = algorithm("MlpPolicy", env, seed=0, device="cpu", policy_kwargs={"net_arch": [8]}, **options)
    model.learn(64)
    observation = numpy.array([.1, -.2, .05, .3], "float32")
    print(algorithm.__name__, model.predict(observation, deterministic=True)[0].item(),
          [round(p.norm().item(), 4) for p in model.policy.parameters()], model.num_timesteps)
env.reset(seed=1)
print(evaluate_policy(model, model.get_env(), n_eval_episodes=2, warn=False)[0] > 0)
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
from fvcore.common.param_scheduler import CosineParamScheduler, LinearParamScheduler
from fvcore.nn import (FlopCountAnalysis, activation_count, flop_count_table, giou_loss, parameter_count,
    sigmoid_focal_loss,
    smooth_l1_loss)
from fvcore.nn.precise_bn import update_bn_stats
x = torch.randn(4, 2)
print(sigmoid_focal_loss(x, (x > 0).float(), reduction="mean").item(), smooth_l1_loss(x, x * 2, .5, "sum").item())
print(giou_loss(torch.tensor([[0., 0., 2., 2.]]), torch.tensor([[1., 1., 3., 3.]]), reduction="sum").item())
print([CosineParamScheduler(1., .1)(t / 4) for t in range(4)], LinearParamScheduler(0., 1.)(.3))
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(144, 2))
update_bn_stats(net, [torch.randn(2, 1, 8, 8) for _ in range(3)], 3)
print(net[1].running_mean.tolist(), net[1].running_var.tolist(), dict(parameter_count(net)))
""",
    "fvcore: flops": """
from fvcore.nn import FlopCountAnalysis, activation_count, flop_count_table
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
flops = FlopCountAnalysis(net, torch.randn(1, 1, 8, 8))
print(flops.total(), dict(flops.by_operator()), dict(flops.by_module()))
print(flop_count_table(flops))
""",
    "tensorly": """
import tensorly
from tensorly import tenalg
from tensorly.decomposition import CP, non_negative_parafac, parafac, tensor_train, tucker
from tensorly.random import random_cp
tensorly.set_backend("pytorch")
x = torch.randn(4, 5, 6)
core, factors = tucker(x, rank=[2, 2, 2], random_state=0)
print(tensorly.norm(x - tensorly.tucker_to_tensor((core, factors))).item())
cp = parafac(x, rank=3, init="svd", n_iter_max=20)
print(tensorly.norm(x - tensorly.cp_to_tensor(cp)).item(), cp.weights.tolist())
print(tensorly.norm(x.abs() - non_negative_parafac(x.abs(), rank=2, n_iter_max=10,
    random_state=0).to_tensor()).item())
train = tensor_train(x, rank=[1, 2, 2, 1])
print([tuple(part.shape) for part in train], tensorly.tt_to_tensor(train).norm().item())
known = random_cp((4, 5, 6), rank=2, random_state=1, full=False)
weights = [factor.clone().requires_grad_() for factor in known.factors]
optimizer = torch.optim.Adam(weights, lr=.01)
for step in range(3):
    loss = (tensorly.cp_to_tensor((None, weights)) - x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
print(tenalg.khatri_rao([torch.ones(2, 3), torch.arange(6.).view(2, 3)]).tolist(), tensorly.unfold(x,
    1).sum(1).tolist())
""",
    "pytorch-tabnet": """
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor
x, y = torch.randn(32, 4).numpy(), torch.randint(0, 2, (32,)).numpy()
common = dict(n_d=4, n_a=4, n_steps=2, verbose=0, seed=0, device_name="cpu")
fit = dict(max_epochs=3, batch_size=16, virtual_batch_size=8, drop_last=False)
model = TabNetClassifier(**common, optimizer_params={"lr": .02}, mask_type="entmax")
model.fit(x, y, eval_set=[(x, y)], eval_metric=["logloss"], **fit)
print(model.history["loss"], model.history["val_0_logloss"], model.predict_proba(x[:3]).tolist())
print(model.feature_importances_.tolist(), model.explain(x[:2])[0].tolist())
before = TabNetPretrainer(**common)
before.fit(x, eval_set=[x], **fit)
print(before.history["loss"])
regression = TabNetRegressor(**common)
regression.fit(x, x[:, :1] * 2, **fit)
print(regression.history["loss"], regression.predict(x[:3]).tolist())
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
x = torch.randn(2, 3)
with net.trace(x):
    hidden = net[1].output.save()
    out = net.output.save()
print(hidden.tolist(), out.tolist())
with net.trace(x):
    net[1].output[:, 0] = 0
    ablated = net[2].output.save()
print(ablated.tolist())
with net.trace(x):
    before = net[0].output
    value = net.output.sum()
    with value.backward():
        grad = before.grad.save()
print(grad.tolist())
""",
    "sentence-transformers": """
from sentence_transformers import SentenceTransformer, losses, util
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling
mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
tokens = torch.randn(2, 5, 4)
for mode in ("mean", "max", "cls", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
    print(mode, Pooling(4, mode)({"token_embeddings": tokens, "attention_mask": mask})["sentence_embedding"].tolist())
class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(128, 8)
    def tokenize(self, texts, **options):
        width = max(map(len, texts))
        ids = torch.tensor([[ord(c) % 127 + 1 for c in text] + [0] * (width - len(text)) for text in texts])
        return {"input_ids": ids, "attention_mask": (ids > 0).long()}
    preprocess = tokenize
    def forward(self, features, **options):
        return {**features, "token_embeddings": self.table(features["input_ids"])}
model = SentenceTransformer(modules=[Words(), Pooling(8, "mean"), Dense(8, 4), Normalize()], device="cpu")
texts = ["a cat sits", "a dog runs", "the sky is blue", "blue is the sea"]
loss = losses.MultipleNegativesRankingLoss(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=.01)
for step in range(3):
    value = loss([model.tokenize(texts[::2]), model.tokenize(texts[1::2])], None)
    value.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(value.item())
found = model.encode(texts, convert_to_tensor=True, show_progress_bar=False)
print(util.cos_sim(found, found).tolist(), util.semantic_search(found[:1], found, top_k=2))
""",
    "trl": """
import tempfile
from transformers.trainer_callback import PrinterCallback
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer
from trl.trainer.utils import selective_log_softmax
print(selective_log_softmax(torch.randn(2, 3, 5), torch.randint(0, 5, (2, 3))).tolist())
words = {word: i for i, word in enumerate("<pad> <eos> <unk> a b c d e f".split())}
inner = Tokenizer(models.WordLevel(words, "<unk>"))
inner.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
def model():
    return GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=9, n_positions=32, bos_token_id=1,
        eos_token_id=1, attn_pdrop=0, resid_pdrop=0, embd_pdrop=0))
common = dict(output_dir=tempfile.mkdtemp(), max_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True,
    logging_steps=1, disable_tqdm=True, save_strategy="no", bf16=False, gradient_checkpointing=False)
texts = Dataset.from_list([{"text": text} for text in ("a b c d", "b c d e", "c d e f", "a c e")])
trainer = SFTTrainer(model(), SFTConfig(max_length=8, **common), train_dataset=texts, processing_class=tokenizer)
trainer.remove_callback(PrinterCallback)
trainer.train()
print([row["loss"] for row in trainer.state.log_history if "loss" in row])
pairs = Dataset.from_list([{"prompt": "a b", "chosen": " c d", "rejected": " f f"},
                           {"prompt": "b c", "chosen": " d e", "rejected": " a"}])
trainer = DPOTrainer(model(), model(), DPOConfig(max_length=8, **common), train_dataset=pairs,
    processing_class=tokenizer)
trainer.remove_callback(PrinterCallback)
trainer.train()
print([(row["loss"], row["rewards/margins"]) for row in trainer.state.log_history if "loss" in row])
""",
    "einops": """
from einops import rearrange, reduce, repeat
x = torch.arange(24.).view(2, 3, 4)
print(rearrange(x, "a b c -> c (a b)").tolist(), reduce(x, "a b c -> a", "max").tolist())
print(repeat(x, "a b c -> a b c r", r=2).sum().item())
""",
    "bitsandbytes": """
import bitsandbytes, bitsandbytes.functional as F
print(bitsandbytes.nn.StableEmbedding(5, 4)(torch.tensor([1, 2])).shape)
x = torch.randn(64, 64)
codes, state = F.quantize_blockwise(x, blocksize=64)
print(codes.sum().item(), state.absmax.tolist()[:4], F.dequantize_blockwise(codes, state).sub(x).abs().max().item())
for kind in ("nf4", "fp4"):
    packed, state = F.quantize_4bit(x, quant_type=kind, blocksize=64)
    print(kind, packed.long().sum().item(), F.dequantize_4bit(packed, state).sub(x).abs().mean().item())
layer = bitsandbytes.nn.Linear4bit(64, 8, compute_dtype=torch.float32, quant_type="nf4")
layer.load_state_dict(torch.nn.Linear(64, 8).state_dict())
layer = layer.to("cpu")
inputs = torch.randn(3, 64, requires_grad=True)
out = layer(inputs)
out.sum().backward()
print(out.tolist(), inputs.grad.norm().item())
""",
    "tensorboardX": """
import glob, os, tempfile
from tensorboardX import SummaryWriter
from tensorboardX.proto.event_pb2 import Event
folder = tempfile.mkdtemp()
with SummaryWriter(folder) as writer:
    writer.add_histogram("w", torch.arange(5.), 0)
    writer.add_scalar("loss", torch.tensor(2.5), 0)
    writer.add_scalars("both", {"a": torch.tensor(1.), "b": 2.}, 1)
    writer.add_image("image", torch.rand(3, 4, 4), 2)
    writer.add_images("images", torch.rand(2, 3, 4, 4), 2)
    writer.add_embedding(torch.randn(3, 2), metadata=["a", "b", "c"])
    writer.add_pr_curve("pr", torch.tensor([0, 1, 1, 0]), torch.tensor([.1, .8, .6, .4]), 3)
    writer.add_text("text", "hello", 4)
import struct
for path in sorted(glob.glob(os.path.join(folder, "events*"))):
    data = open(path, "rb").read()
    while data:
        size, = struct.unpack("<Q", data[:8])
        event, data = Event.FromString(data[12:12 + size]), data[size + 16:]
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            print(event.step, value.tag, kind, value.simple_value, list(value.histo.bucket), value.image.height)
print(sorted(name for name in os.listdir(folder) if not name.startswith("events")))
""",
    "safetensors": """
import os, tempfile
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
print(load(save({"a": torch.arange(4.)}))["a"].tolist())
path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
kinds = {str(d): torch.arange(6).reshape(2, 3).to(d) for d in (torch.float32, torch.bfloat16, torch.float16,
    torch.int8, torch.bool)}
save_file(kinds, path, metadata={"format": "pt"})
with safe_open(path, framework="pt", device="cpu") as file:
    print(sorted(file.keys()), file.metadata(), file.get_slice("torch.float32")[:, 1:].tolist())
    print(file.get_tensor("torch.bfloat16").dtype, file.get_slice("torch.int8").get_shape())
print({name: (str(value.dtype), value.tolist()) for name, value in load_file(path).items()})
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 3))
net[1].weight = torch.nn.Parameter(net[0].weight.t().contiguous())
net.append(net[0])  # shared
save_model(net, path)
other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 3))
other.append(other[0])
print(load_model(other, path), other(torch.ones(1, 3)).tolist() == net(torch.ones(1, 3)).tolist(),
    net(torch.ones(1, 3)).tolist())
try:
    save_file({"a": net[0].weight, "b": net[0].weight}, path)
except RuntimeError as error:
    print(str(error)[:60])
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
import numpy
import timm
from timm.data import Mixup, create_transform
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3
model = timm.create_model("resnet18", num_classes=3, in_chans=1)
loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 1, 32, 32)), torch.tensor([0, 2]))
loss.backward()
print(loss.item(), model.conv1.weight.grad.norm().item())
vit = timm.create_model("vit_tiny_patch16_224", img_size=32, num_classes=3, depth=2)
x, y = torch.randn(4, 3, 32, 32), torch.tensor([0, 2, 1, 1])
optimizer = create_optimizer_v2(vit, opt="sgd", lr=1e-3, weight_decay=.05)
scheduler, ema = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1), ModelEmaV3(vit, decay=.9)
numpy.random.seed(0)
mixed, targets = Mixup(mixup_alpha=.2, num_classes=3, label_smoothing=.1)(x.clone(), y)
for step in range(3):
    loss = LabelSmoothingCrossEntropy()(vit(x), y) + SoftTargetCrossEntropy()(vit(x), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step(step)
    ema.update(vit)
    print(loss.item(), optimizer.param_groups[0]["lr"])
print(ema.module(x).tolist())
features = timm.create_model("convnext_atto", features_only=True).eval()
print([tuple(part.shape) for part in features(x)], vit.forward_intermediates(x)[0].sum().item())
""",
    "torchvision": """
import torchvision
from torchvision import ops
from torchvision.transforms import v2
model = torchvision.models.mobilenet_v3_small(num_classes=3).eval()  # norms of two numbers amplify rounding
out = model(torch.randn(2, 3, 32, 32))
out.sum().backward()
print(out.tolist(), model.features[0][0].weight.grad.norm().item())
image = v2.Compose([v2.Resize(12), v2.CenterCrop(8), v2.Normalize([.5] * 3, [.2] * 3)])(torch.rand(3, 16, 16))
print(image.mean().item(), torchvision.utils.make_grid(torch.rand(4, 3, 5, 5)).shape)
augment = v2.Compose([v2.RandomResizedCrop(8), v2.RandomHorizontalFlip(), v2.ColorJitter(.2, .2),
    v2.RandomErasing(1.)])
print(augment(torch.rand(3, 16, 16)).mean().item(), v2.RandomAffine(20)(torch.rand(3, 16, 16)).mean().item())
boxes = torchvision.tv_tensors.BoundingBoxes([[2, 3, 8, 9]], format="XYXY", canvas_size=(16, 16))
print(*(part.tolist() for part in v2.RandomHorizontalFlip(1.)(torch.rand(3, 16, 16), boxes)[1:]))
a, b = torch.tensor([[0., 0., 2., 2.]]), torch.tensor([[1., 1., 3., 3.]])
print(ops.box_iou(a, b).item(), ops.generalized_box_iou_loss(a, b).tolist(), ops.sigmoid_focal_loss(a,
    b / 3).mean().item())
print(ops.stochastic_depth(torch.ones(3, 2), .5, "row").tolist(), ops.FeaturePyramidNetwork([4, 8],
    4)({"a": torch.ones(1, 4, 8, 8), "b": torch.ones(1, 8, 4, 4)})["a"].sum().item())
r3d = torchvision.models.video.r3d_18(num_classes=2).eval()
print(r3d(torch.randn(1, 3, 4, 16, 16)).tolist())
segments = torchvision.models.segmentation.lraspp_mobilenet_v3_large(num_classes=2, weights_backbone=None).eval()
print(segments(torch.randn(1, 3, 32, 32))["out"].mean().item())
""",
    "torchaudio": """
import torchaudio
import torchaudio.functional as F
import torchaudio.transforms as T
wave = torch.sin(torch.arange(800) / 16000 * 440 * 6.2831853) + .1 * torch.randn(800)
print(T.MelSpectrogram(16000, n_fft=64, n_mels=8)(wave).mean().item())
print(T.MFCC(16000, n_mfcc=6, melkwargs={"n_fft": 64, "n_mels": 12})(wave).mean(-1).tolist())
print(T.Resample(16000, 8000)(wave).shape, T.Resample(16000, 8000)(wave).norm().item())
print(F.lowpass_biquad(wave, 16000, 900.).norm().item(), F.lfilter(wave, torch.tensor([1., -.4]), torch.tensor([.2,
    .1])).norm().item())
spectrogram = T.Spectrogram(n_fft=64, power=None)(wave)
print(T.InverseSpectrogram(n_fft=64)(spectrogram, 800).sub(wave).abs().max().item() < 1e-4)
print(T.AmplitudeToDB()(spectrogram.abs()).mean().item(), F.phase_vocoder(spectrogram, 1.5, torch.linspace(0,
    3.14 * 16, 33)[:, None]).abs().mean().item())
print(T.TimeMasking(10)(spectrogram.abs()[None]).shape, F.pitch_shift(wave, 16000, 2, n_fft=64).norm().item())
model = torchaudio.models.Conformer(input_dim=8, num_heads=2, ffn_dim=16, num_layers=1, depthwise_conv_kernel_size=3)
out, lengths = model(torch.randn(2, 10, 8), torch.tensor([10, 7]))
loss = torch.nn.functional.ctc_loss(out.log_softmax(-1).transpose(0, 1), torch.tensor([[1, 2], [3, 1]]), lengths,
    torch.tensor([2, 1]))
loss.backward()
print(loss.item(), lengths.tolist(), sum(p.grad.norm().item() for p in model.parameters()))
tasnet = torchaudio.models.ConvTasNet(num_sources=2, enc_kernel_size=8, enc_num_feats=8, msk_num_feats=4,
    msk_num_hidden_feats=8, msk_num_layers=1, msk_num_stacks=1).eval()
print(tasnet(wave[None, None]).sum(-1).tolist())
""",
    "open_clip_torch": """
import open_clip
model = open_clip.CLIP(embed_dim=16, vision_cfg={"image_size": 32, "layers": 1, "width": 32, "head_width": 16,
    "patch_size": 16}, text_cfg={"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 1})
images, texts = torch.randn(4, 3, 32, 32), torch.randint(0, 50, (4, 8))
loss, optimizer = open_clip.ClipLoss(), torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    image, text, scale = model(images, texts)
    value = loss(image, text, scale)
    value.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(value.item(), scale.item())
print(image.tolist(), text.tolist())
print((100 * model.encode_image(images, True) @ model.encode_text(texts, True).T).softmax(-1).tolist())
print(open_clip.loss.SigLipLoss()(image, text, scale, torch.tensor(-10.)).item(), open_clip.tokenize(["a cat",
    "dogs"])[:, :5].tolist())
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
from torchani.arch import Assembler
from torchani.models import ANI2x
from torchani.nn import ANINetworks, AtomicNetwork
aev = AEVComputer.like_2x(num_species=4)
positions = torch.tensor([[[0., 0., 0.], [0., .76, .59], [0., -.76, .59]]], requires_grad=True)
species = torch.tensor([[3, 0, 0]])
out = aev(species, positions)
out.sum().backward()
print(out.sum().item(), positions.grad.tolist())
networks = ANINetworks({symbol: AtomicNetwork((aev.out_dim, 8, 1)) for symbol in "HCNO"})
optimizer = torch.optim.Adam(networks.parameters(), lr=1e-3)
for step in range(3):
    energies = networks(species, aev(species, positions.detach()))
    loss = (energies + 1).square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
energy = networks(species, aev(species, positions)).sum()
print(energy.item(), (-torch.autograd.grad(energy, positions)[0]).tolist())
""",
    "lpips": """
import lpips
for net in ("squeeze", "alex"):
    model = lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False).eval()
    x, y = torch.rand(1, 3, 64, 64, requires_grad=True), torch.rand(1, 3, 64, 64)
    optimizer = torch.optim.Adam([x], lr=.01)
    for step in range(3):
        distance = model(x, y, normalize=True)
        distance.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        print(net, distance.item())
print([part.mean().item() for part in model(x, y, retPerLayer=True)[1]])
print(lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False, spatial=True)(x, y).shape)
print(x.sum().item())
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
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_
from torchao.quantization.quant_primitives import (MappingType, choose_qparams_affine, dequantize_affine,
    quantize_affine)
def net():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
x = torch.randn(2, 32)
for config in (Int8WeightOnlyConfig(), Int8DynamicActivationInt8WeightConfig()):
    model = net()
    quantize_(model, config)
    print(type(config).__name__, model(x).tolist(), type(model[0].weight).__name__)
scale, zero = choose_qparams_affine(x, MappingType.ASYMMETRIC, (1, 8), torch.uint8)
codes = quantize_affine(x, (1, 8), scale, zero, torch.uint8)
print(scale.tolist(), zero.tolist(), codes.sum(1).tolist())
print(dequantize_affine(codes, (1, 8), scale, zero, torch.uint8).sub(x).abs().max().item())
""",
    "pytorch-forecasting": """
import logging, warnings
import numpy, pandas
import lightning.pytorch
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.metrics import MAE, SMAPE, QuantileLoss
warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
print(MAE()(torch.randn(4, 3), torch.randn(4, 3)).item(), SMAPE()(torch.rand(4, 3), torch.rand(4, 3)).item())
print(QuantileLoss([.1, .5, .9]).loss(torch.randn(4, 3, 3), torch.randn(4, 3)).mean().item())
times = numpy.arange(40)
table = pandas.DataFrame({"time": times % 20, "series": numpy.where(times < 20, "a", "b"),
    "value": numpy.sin(times / 3) + 2})
common = dict(time_idx="time", target="value", group_ids=["series"], max_encoder_length=6, max_prediction_length=3)
data = TimeSeriesDataSet(table, time_varying_known_reals=["time"], time_varying_unknown_reals=["value"],
                         static_categoricals=["series"], **common)
trainer = dict(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
               enable_model_summary=False, gradient_clip_val=.1)
model = TemporalFusionTransformer.from_dataset(data, hidden_size=8, attention_head_size=2, hidden_continuous_size=4,
    dropout=0., loss=QuantileLoss([.1, .5, .9]), log_interval=-1, learning_rate=.03, optimizer="sgd")
lightning.pytorch.Trainer(**trainer).fit(model, data.to_dataloader(train=True, batch_size=8, shuffle=False))
batch, _ = next(iter(data.to_dataloader(train=False, batch_size=4)))
out = model.eval()(batch)
print(out["prediction"].tolist(), model.interpret_output(out, reduction="sum")["encoder_variables"].tolist())
plain = TimeSeriesDataSet(table, time_varying_unknown_reals=["value"], **common)
model = NBeats.from_dataset(plain, widths=[8, 8], backcast_loss_ratio=.1, log_interval=-1, learning_rate=.01)
lightning.pytorch.Trainer(**trainer).fit(model, plain.to_dataloader(train=True, batch_size=8, shuffle=False))
batch, _ = next(iter(plain.to_dataloader(train=False, batch_size=4)))
print(model.eval()(batch)["prediction"].tolist())
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
import logging
from ultralytics.nn.modules import C2f, Conv, SPPF
from ultralytics.nn.tasks import DetectionModel
from ultralytics.utils import LOGGER, ops
from ultralytics.utils.metrics import bbox_iou
from ultralytics.utils.nms import non_max_suppression
LOGGER.setLevel(logging.ERROR)
net = torch.nn.Sequential(Conv(3, 8, 3, 2), C2f(8, 8, 1, True), SPPF(8, 8))
out = net(torch.randn(2, 3, 16, 16))
out.sum().backward()
print(out.mean().item(), sum(p.grad.norm().item() for p in net.parameters()))
model = DetectionModel("yolov8n.yaml", nc=3, verbose=False)
from types import SimpleNamespace
model.args = SimpleNamespace(box=7.5, cls=.5, dfl=1.5, epochs=1)
batch = {"img": torch.rand(2, 3, 64, 64), "batch_idx": torch.tensor([0., 1.]), "cls": torch.tensor([[0.], [2.]]),
         "bboxes": torch.tensor([[.5, .5, .4, .3], [.3, .4, .2, .5]])}
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(2):
    loss, parts = model(batch)
    loss.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.sum().item(), [float(part) for part in parts.values()])
with torch.no_grad():
    found = model.eval()(batch["img"])[0]
print(found.shape, found.mean().item(), [len(one) for one in non_max_suppression(found, conf_thres=.9)])
print(bbox_iou(torch.tensor([[0., 0., 2., 2.]]), torch.tensor([[1., 1., 3., 3.]]), xywh=False, CIoU=True).item())
print(ops.xyxy2xywh(torch.tensor([[0., 0., 2., 4.]])).tolist())
""",
    "fastai": """
from fastai.basics import DataLoaders, Learner, SGD, accuracy
from fastai.callback.all import GradientClip
from fastai.layers import ConvLayer
from fastai.losses import FocalLoss, LabelSmoothingCrossEntropyFlat
from fastai.data.core import DataLoader
print(LabelSmoothingCrossEntropyFlat()(torch.randn(4, 3), torch.tensor([0, 1, 2, 1])).item())
x, y = torch.randn(24, 1, 8, 8), torch.randint(0, 2, (24,))
rows = [(x[i], y[i]) for i in range(24)]
data = DataLoaders(DataLoader(rows, bs=8), DataLoader(rows, bs=8))
net = torch.nn.Sequential(ConvLayer(1, 4, stride=2), ConvLayer(4, 4), torch.nn.Flatten(), torch.nn.Linear(64, 2))
learner = Learner(data, net, loss_func=torch.nn.CrossEntropyLoss(), metrics=accuracy, cbs=[GradientClip()])
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(2, 1e-2)
    print([list(map(float, row)) for row in learner.recorder.values],
        [float(loss) for loss in learner.recorder.losses])
    print(learner.get_preds()[0][:3].tolist())
    other = Learner(data, net, loss_func=FocalLoss(), opt_func=SGD, cbs=[GradientClip()])
    other.fit(2, 1e-2)
    print([list(map(float, row)) for row in other.recorder.values], other.validate()[0])
""",
    "schnetpack": """
import schnetpack, schnetpack.properties as names
from schnetpack.atomistic import Atomwise, Forces, PairwiseDistances
from schnetpack.model import NeuralNetworkPotential
from schnetpack.nn import BesselRBF, CosineCutoff, GaussianRBF
from schnetpack.representation import PaiNN, SchNet
print(GaussianRBF(5, 3.)(torch.rand(4)).tolist(), CosineCutoff(3.)(torch.rand(4)).tolist())
positions = torch.tensor([[0., 0., 0.], [0., .76, .59], [0., -.76, .59], [2., 0., 0.], [2., 1., 0.]])
i, j = (torch.cdist(positions, positions) < 3).logical_xor(torch.eye(5).bool()).nonzero().T
def batch():
    return {names.Z: torch.tensor([8, 1, 1, 6, 1]), names.R: positions.clone(), names.idx_i: i, names.idx_j: j,
        names.offsets: torch.zeros(len(i), 3), names.idx_m: torch.zeros(5, dtype=torch.long),
        names.n_atoms: torch.tensor([5])}
for kind, radial in ((SchNet, GaussianRBF(5, 3.)), (PaiNN, BesselRBF(5, 3.))):
    model = NeuralNetworkPotential(kind(n_atom_basis=8, n_interactions=2, radial_basis=radial,
        cutoff_fn=CosineCutoff(3.)),
        input_modules=[PairwiseDistances()], output_modules=[Atomwise(8, output_key="energy"),
            Forces(energy_key="energy")])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(3):
        out = model(batch())
        loss = out["energy"].square().sum() + out["forces"].square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())
    print(out["forces"].tolist())
""",
    "learn2learn": """
import learn2learn
from learn2learn.data import MetaDataset, Taskset
from learn2learn.data.transforms import KShots, LoadData, NWays, RemapLabels
maml = learn2learn.algorithms.MAML(torch.nn.Linear(3, 2), lr=.1, first_order=False)
optimizer = torch.optim.Adam(maml.parameters(), lr=.01)
x, y = torch.randn(24, 3), torch.arange(24) % 4
data = MetaDataset(torch.utils.data.TensorDataset(x, y))
tasks = Taskset(data, [NWays(data, 2), KShots(data, 3), LoadData(data), RemapLabels(data)], num_tasks=3)
loss = torch.nn.functional.cross_entropy
print(sorted(data.labels), [tuple(part.shape) for part in tasks[0]])
for step in range(3):
    clone = maml.clone()
    part, labels = x[step * 8:step * 8 + 8], y[step * 8:step * 8 + 8] % 2
    for inner in range(2):
        clone.adapt(loss(clone(part[:4]), labels[:4]))
    outer = loss(clone(part[4:]), labels[4:])
    outer.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(outer.item())
meta = learn2learn.algorithms.MetaSGD(torch.nn.Linear(3, 2), lr=.1)
clone = meta.clone()
clone.adapt(loss(clone(x), y % 2))
loss(clone(x), y % 2).backward()
print([p.grad.norm().item() for p in meta.parameters()])
learner = learn2learn.algorithms.GBML(torch.nn.Linear(3, 2),
    transform=learn2learn.optim.ModuleTransform(torch.nn.Linear), lr=.1)
clone = learner.clone()
clone.adapt(loss(clone(x), y % 2))
print(clone(x[:2]).tolist())
""",
}
