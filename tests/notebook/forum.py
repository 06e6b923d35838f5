"""Mistakes that were asked about in public: where, a program that makes the mistake, and the words that name it.

The programs are written for this table, after the threads, and no larger than the mistake. The last line that runs
raises. ``says`` must stand in what ``%why`` tells. ``fix`` is code of a cure that was carried out, '' where none can be
tried: what is wrong then lies in lines that ran before, or in the data.
"""
from __future__ import annotations

from typing import NamedTuple

GITHUB = "https://github.com/"


class Asked(NamedTuple):
    address: str  #: of a thread; on GitHub the part behind the site's name
    program: str
    says: str
    fix: str = ""


SCORES = "out = torch.rand(4, 3, requires_grad=True)"
NET = ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.f = nn.Linear(4, 2)\n"
       "    def forward(self, x): return self.f(x)\nnet = Net()\n")
SGD = f"{NET}opt = optim.SGD(net.parameters(), lr=0.1)\n"
ATTEND = "m = nn.MultiheadAttention(8, 2, batch_first=True)\nx = torch.rand(3, 5, 8)\n"
DATA = ("class Data(torch.utils.data.Dataset):\n    def __init__(self, items): self.items = items\n"
        "    def __len__(self): return len(self.items)\n    def __getitem__(self, i): return self.items[i]\n")
LOADER = "loader = torch.utils.data.DataLoader(Data(items), batch_size=2)\nfor batch in loader: pass"

LOSSES = [
    Asked("pytorch/pytorch/issues/103813",
          "preds, masks = torch.rand(2, 5, 4, 4), torch.rand(2, 4, 4)\nnn.CrossEntropyLoss()(preds, masks)",
          "class numbers must be int64", "masks.long()"),
    Asked("WhirlFirst/STEM/issues/3", f"{SCORES}\ny = torch.tensor([0., 2., 1., 1.])\nF.cross_entropy(out, y)",
          "class numbers must be int64", "y.long()"),
    Asked("celantur/panoptic_segm_demo/issues/2",
          f"{SCORES}\ny = torch.tensor([0, 2, 1, 1], dtype=torch.int32)\nF.cross_entropy(out, y)",
          "class numbers must be int64", "y.long()"),
    Asked("HSG-AIML/SSLTransformerRS/issues/1",
          "y_hat, y = torch.rand(2, 8, 4, 4), torch.zeros(2, 1, 4, 4).long()\nF.cross_entropy(y_hat, y)",
          "should have the shape [2, 4, 4]", "y.squeeze(1)"),
    Asked("open-mmlab/mmsegmentation/issues/3055",
          "pred, label = torch.rand(2, 3, 8, 8), torch.zeros(2, 8, 8, 3).long()\nF.cross_entropy(pred, label)",
          "should have the shape [2, 8, 8]"),
    Asked("UsamaI000/CamVid-Segmentation-Pytorch/issues/2",
          "pred = torch.rand(2, 3, 4, 4)\nmask = F.one_hot(torch.zeros(2, 4, 4).long(), 3).permute(0, 3, 1, 2)\n"
          "F.cross_entropy(pred, mask)", "probabilities of the classes", "mask.argmax(1)"),
    Asked("milesial/Pytorch-UNet/issues/291",
          "pred = torch.rand(1, 2, 4, 4)\nmask = torch.randint(0, 2, (1, 4, 4)) * 255\nmask[0, 0, 0] = 255\n"
          "F.cross_entropy(pred, mask)", "grey values of an image", "(mask > 0).long()"),
    Asked("EricFillion/happy-transformer/issues/248",
          f"{SCORES}\nlabels = torch.tensor([0, -1, 1, 2])\nF.cross_entropy(out, labels)", "target -1 is no class",
          "ignore_index=-1"),
    Asked("TencentGameMate/gnn_cross_lingual/issues/5",
          "out, labels = torch.rand(4, 12), torch.tensor([1, 12, 5, 7])\nF.cross_entropy(out, labels)",
          "counted from 0", "labels - 1"),
    Asked("monologg/JointBERT/issues/28",
          "head = nn.Linear(8, 3)\nx, intents = torch.rand(4, 8), torch.tensor([0, 12, 1, 2])\nlogits = head(x)\n"
          "F.cross_entropy(logits, intents)", "scores for 3 classes"),
    Asked("huggingface/transformers/issues/886",
          f"{NET}def model(x): return (net(x),)\noutput = model(torch.rand(3, 4))\n"
          "nn.CrossEntropyLoss()(output, torch.tensor([0, 1, 1]))", "output is a tuple", "output[0]"),
    Asked("prateekjoshi565/Fine-Tuning-BERT/issues/5",
          "preds = (torch.rand(3, 2).log_softmax(1), torch.rand(3, 8))\nF.nll_loss(preds, torch.tensor([0, 1, 1]))",
          "preds is a tuple", "preds[0]"),
    Asked("tensorflow/models/issues/10992", f"{SCORES}\ntarget = (0, 1, 2, 0)\nF.cross_entropy(out, target)",
          "target is a tuple", "torch.tensor(target)"),
    Asked("AI-Zhpp/HAT/issues/2",
          "score = [torch.rand(4, 3), torch.rand(4, 3)]\nF.cross_entropy(score, torch.tensor([0, 1, 2, 0]))",
          "score is a list", "score[0]"),
    Asked("patrickloeber/pytorchTutorial/issues/30",
          "out, y = torch.rand(4, 2), torch.tensor([0., 1., 1., 0.])\nnn.BCELoss()(out, y)",
          "does not have the shape of the scores"),
    Asked("jiangqy/ADSH-AAAI2018/issues/5",
          "code, labels = torch.rand(8, 12), torch.ones(8, 21)\nnn.BCEWithLogitsLoss()(code, labels)",
          "does not have the shape of the scores"),
    Asked("pytorch/pytorch/issues/123339",
          "p, y = torch.rand(3), torch.tensor([0., 2., 1.])\nnn.BCELoss()(p, y)", "must hold probabilities"),
    Asked("pytorch/pytorch/issues/15262",
          "recon, image = torch.rand(2, 9), torch.arange(18.).view(2, 9) * 15\nF.binary_cross_entropy(recon, image)",
          "0 to 255", "image / 255"),
    Asked("pytorch/pytorch/issues/139916",
          "x, y = torch.tensor([0.4, -0.8, 1.6]), torch.tensor([0., 1., 1.])\nnn.BCELoss()(x, y)",
          "must hold probabilities", "torch.sigmoid(x)"),
    Asked("Lightning-AI/pytorch-lightning/pull/137",
          f"{SCORES}\ny = torch.tensor([0, 1, 2, 0])\nloss = F.cross_entropy(out, y)(out, y)",
          "a tensor, which cannot be called", "F.cross_entropy(out, y)"),
    Asked("jeya-maria-jose/Medical-Transformer/issues/63",
          "out, y = torch.rand(2, 4, 4, 3), torch.zeros(2, 4, 4).long()\nF.cross_entropy(out, y)",
          "the classes stand last", "out.movedim(-1, 1)"),
]

SHAPES = [
    Asked("mrdbourke/pytorch-deep-learning/issues/763",
          "model = nn.Sequential(nn.Flatten(), nn.Linear(10, 3))\nmodel(torch.rand(2, 10, 7, 7))",
          "takes 10 features", "model[1] = nn.Linear(490, 3)"),
    Asked("wqshmzh/CANet-CZSL/issues/7", "fc, x = nn.Linear(16, 8), torch.rand(4, 16, 1, 1)\nfc(x)",
          "takes 16 features", "x.flatten(1)"),
    Asked("pytorch/pytorch/issues/139037",
          "f, a, b = nn.Linear(6, 2), torch.rand(4, 3), torch.rand(4, 3)\nboth = torch.cat((a, b), 0)\nf(both)",
          "takes 6 features", "nn.Linear(3, 2)"),
    Asked("jacobgil/pytorch-grad-cam/issues/141", "conv, img = nn.Conv2d(3, 8, 7), torch.rand(1, 1, 20, 20)\nconv(img)",
          "takes 3 channels", "img.expand(-1, 3, -1, -1)"),
    Asked("lucidrains/vit-pytorch/issues/54",
          "net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())\nx = torch.rand(4, 1, 9, 9)\nnet(x)",
          "takes 3 channels", "x.expand(-1, 3, -1, -1)"),
    Asked("clovaai/mxfont/issues/14", "enc, x = nn.Conv2d(1, 4, 3), torch.rand(6, 3, 13, 13)\nenc(x)",
          "takes 1 channel", "x.mean(1, keepdim=True)"),
    Asked("arnab39/cycleGAN-PyTorch/issues/5",
          "net = nn.Sequential(nn.Conv2d(1, 16, 3), nn.Conv2d(1, 16, 3))\nnet(torch.rand(5, 1, 9, 9))",
          "takes 1 channel", "net[1] = nn.Conv2d(16, 16,"),
    Asked("NVIDIA/pix2pixHD/issues/218", "D, x = nn.Conv2d(2, 8, 4), torch.rand(1, 4, 16, 16)\nD(x)",
          "takes 2 channels", "nn.Conv2d(4, 8,"),
    Asked("open-mmlab/mmsegmentation/issues/272", "bn, x = nn.BatchNorm2d(8), torch.rand(1, 8, 1, 1)\nbn(x)",
          "it has no variance", "bn.eval()"),
    Asked("sksq96/pytorch-summary/issues/4",
          "net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU())\nnet(torch.rand(1, 4))",
          "it has no variance", "net.eval()"),
    Asked("luizgh/sigver/issues/10",
          "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
          "        self.fc = nn.Linear(4, 6)\n"
          "        self.bn = nn.BatchNorm1d(6)\n    def forward(self, x):\n        x = self.fc(x)\n"
          "        return self.bn(x)\nbase = Net()\nbase(torch.rand(1, 4))", "it has no variance", ".eval()"),
    Asked("pytorch/examples/issues/836",
          "out, y = torch.rand(8, 10), torch.randint(0, 10, (8,))\n_, pred = out.topk(5, 1)\n"
          "correct = pred.t().eq(y.view(1, -1))\ncorrect[:5].view(-1).float().sum()",
          "without moving its elements", "correct[:5].reshape("),
    Asked("bigmb/Unet-Segmentation-Pytorch-Nest-of-Unets/issues/55",
          "e4, d5 = torch.rand(1, 8, 61, 30), torch.rand(1, 8, 60, 30)\nd5 = torch.cat((e4, d5), dim=1)",
          "61", "F.interpolate(d5, size=e4.shape[2:])"),
    Asked("ptrblck/pytorch_misc/issues/2",
          "class Up(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
          "        self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)\n    def forward(self, x, skip):\n"
          "        x = self.up(x)\n        return torch.cat([x, skip], 1)\n"
          "Up()(torch.rand(1, 4, 5, 5), torch.rand(1, 4, 11, 11))", "11", "F.interpolate(skip, size=x.shape[2:])"),
    Asked("hlky/nataili/issues/145",
          "uncond, cond = torch.rand(1, 77, 8), torch.rand(1, 154, 8)\ncond_in = torch.cat([uncond, cond])",
          "154", "dim=1"),
    Asked("rollthecloudinc/hedge/issues/308",
          "up, skip = nn.Upsample(scale_factor=2), torch.rand(1, 4, 9, 9)\nx = up(F.max_pool2d(skip, 2))\nx + skip",
          "do not broadcast", "F.interpolate(x, size=skip.shape[2:])"),
    Asked("chenhonghua/MvDrag3D/issues/4",
          "ft = torch.rand(4, 32, 32)\nF.interpolate(ft, size=(64, 64), mode='bilinear')", "samples",
          "ft[None]"),
    Asked("yxuhan/AdaMPI/issues/9",
          "disp = torch.rand(1, 1, 13, 20, 3)\nF.interpolate(disp, size=(25, 38), mode='bilinear')",
          "sizes"),
    Asked("bghira/SimpleTuner/issues/59",
          "latents = [torch.rand(4, 12, 17), torch.rand(4, 9, 12)]\ntorch.stack(latents)", "tensors of one shape"),
    Asked("declare-lab/Multimodal-Infomax/issues/8", "ids = [[1, 2, 3], [4, 5]]\ntorch.LongTensor(ids)",
          "different lengths", "[row + [0] * (3 - len(row)) for row in ids]"),
    Asked("songyouwei/ABSA-PyTorch/issues/114", "weight = [[.5, .5], [1.]]\nweight = torch.tensor(weight)",
          "different lengths", "[row + [0] * (2 - len(row)) for row in weight]"),
]

RECURRENT = [
    Asked("mlech26l/ncps/issues/62",
          "rnn, head = nn.RNN(3, 4), nn.Linear(4, 1)\nh = torch.zeros(1, 2, 4)\nfor step in range(2):\n"
          "    out, h = rnn(torch.rand(5, 2, 3), h)\n    loss = head(out).sum()\n    loss.backward()",
          "h", "h = h.detach()"),
    Asked("NVlabs/FUNIT/issues/23",
          "cell = nn.GRUCell(3, 4)\nopt = optim.SGD(cell.parameters(), lr=0.1)\nstate = torch.zeros(2, 4)\n"
          "for step in range(3):\n    state = cell(torch.rand(2, 3), state)\n    loss = state.sum()\n"
          "    loss.backward(retain_graph=True)\n    opt.step()", "state"),
    Asked("PetrochukM/PyTorch-NLP/issues/62",
          "lstm, x, h = nn.LSTMCell(6, 12), torch.rand(1, 6), torch.rand(1, 12)\nlstm(x, h)",
          "two states", "lstm(x, (h, torch.zeros_like(h)))"),
    Asked("MUST-Deep-Learning/KnowIt/issues/252",
          "lstm = nn.LSTM(4, 6, batch_first=True)\nh, c = torch.zeros(1, 16, 6), torch.zeros(1, 16, 6)\n"
          "x = torch.rand(3, 7, 4)\nlstm(x, (h, c))", "3 samples", "lstm(x)"),
    Asked("ngarneau/understanding-pytorch-batching-lstm/issues/1",
          "lstm = nn.LSTM(4, 6)\nhidden = (torch.zeros(2, 3, 6), torch.zeros(2, 3, 6))\nx = torch.rand(5, 3, 4)\n"
          "lstm(x, hidden)", "should have the shape [1, 3, 6]", "lstm(x)"),
    Asked("pytorch/pytorch/pull/3925",
          "gru, x, h = nn.GRU(4, 6), torch.rand(5, 3, 4), torch.zeros(3, 6)\ngru(x, h)", "hidden state",
          "gru(x, h[None])"),
    Asked("patrickloeber/pytorch-examples/issues/2",
          "rnn, x, h = nn.RNN(28, 12), torch.rand(4, 28, 28), torch.zeros(1, 4, 12)\nrnn(x, h)", "batch_first"),
    Asked("spro/char-rnn.pytorch/issues/2",
          "lstm = nn.LSTM(4, 6)\nout, hidden = lstm(torch.rand(5, 3, 4))\nhidden = hidden.detach()",
          "2 results in a tuple", "tuple(part.detach() for part in hidden)"),
    Asked("sksq96/pytorch-summary/issues/143", "lstm = nn.LSTM(5, 5)\ny = lstm(torch.rand(3, 2, 5))\ny.size()",
          "2 results in a tuple", "y[0].size()"),
    Asked("pytorch/pytorch/issues/3349",
          "model = nn.Sequential(nn.LSTM(4, 6), nn.Linear(6, 2))\nmodel(torch.rand(5, 3, 4))", "LSTM returns"),
    Asked("pytorch/pytorch/issues/122959",
          "m = nn.MultiheadAttention(16, 4)\nq, kv = torch.rand(1, 1, 16), torch.rand(1, 23, 16)\nm(q, kv, kv)",
          "batch_first"),
    Asked("pytorch/pytorch/issues/64888",
          "m = nn.MultiheadAttention(8, 1, batch_first=True)\nq, k = torch.rand(1, 1, 8), torch.rand(4, 6, 8)\n"
          "m(q, k, k)",
          "batch", "q.expand(4, -1, -1)"),
    Asked("pytorch/pytorch/issues/64706", f"{ATTEND}mask = torch.zeros(3, 5, 5).bool()\nm(x, x, x, attn_mask=mask)",
          "attn_mask", "mask.repeat_interleave(2, 0)"),
    Asked("pytorch/pytorch/issues/97605",
          f"{ATTEND}pad = torch.zeros(5, 3).bool()\nm(x, x, x, key_padding_mask=pad)", "key_padding_mask", "pad.T"),
]

CALLS = [
    Asked("facebookresearch/detr/issues/130",
          "t = nn.Transformer(8, 2, 1, 1, 16)\nsrc, tgt = torch.rand(2, 9, 8), torch.rand(2, 5, 8)\nt(src, tgt)",
          "differ in their samples", "batch_first=True"),
    Asked("pytorch/pytorch/issues/19808",
          "seq, x = nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.rand(2, 3)\nseq(x, x)", "Sequential"),
    Asked("pytorch/pytorch/issues/65676",
          "class Layer(nn.Module):\n    def forward(self, hello, world): return hello + world\n"
          "s_att = nn.Sequential()\ns_att.add_module('layer', Layer())\ns_att(torch.ones(1), torch.ones(2))",
          "Sequential"),
    Asked("ggjy/P2Net.pytorch/issues/3", f"{NET}x, part = torch.rand(2, 4), torch.rand(2, 4)\nnet(x, part)",
          "takes (x)", "net(x)"),
    Asked("Cadene/pretrained-models.pytorch/issues/127",
          "class Cell(nn.Module):\n    def forward(self, x_left, x_right): return x_left + x_right\ncell = Cell()\n"
          "cell(torch.rand(2))", "x_right"),
    Asked("pyg-team/pytorch_geometric/issues/681",
          "class ARGA(nn.Module):\n    def __init__(self, d):\n        self.d = d\n        super().__init__()\n"
          "ARGA(nn.Linear(2, 2))", "before the __init__ of nn.Module"),
    Asked("pytorch/pytorch/issues/37824",
          "class Net(nn.Module):\n    def __init__(self):\n        self.f = nn.Linear(2, 2)\nNet()",
          "before the __init__ of nn.Module"),
    Asked("victoresque/pytorch-template/issues/89",
          f"{SGD}plan = optim.lr_scheduler.ReduceLROnPlateau(opt)\nval_loss = 0.3\nplan.step()", "metrics",
          "plan.step(val_loss)"),
    Asked("pytorch/pytorch/issues/38170",
          f"{SGD}plan = optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=3)\nfor epoch in range(2):\n"
          "    for batch in range(2):\n        opt.step()\n        plan.step()", "3 steps"),
    Asked("ultralytics/yolov3/issues/231",
          "data = torch.utils.data.TensorDataset(torch.rand(4, 2))\n"
          "sampler = torch.utils.data.RandomSampler(data)\n"
          "torch.utils.data.DataLoader(data, batch_size=2, shuffle=True, sampler=sampler)",
          "the order", "shuffle=False"),
    Asked("OptimalScale/LMFlow/issues/359", "import_ = torch.distributed\nimport_.get_rank()", "process group"),
    Asked("jiecaoyu/XNOR-Net-PyTorch/issues/125",
          "class Sign(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x.sign()\n"
          "w = torch.rand(3, requires_grad=True)\ny = Sign.apply(w)\ny.sum().backward()", "backward"),
    Asked("huawei-noah/AdderNet/issues/21",
          "class Adder(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, w, x): return w + x\n"
          "    @staticmethod\n    def backward(ctx, grad): return grad\n"
          "w, x = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)\n"
          "Adder.apply(w, x).sum().backward()",
          "returned 1 gradient"),
    Asked("1zb/pytorch-image-comp-rnn/issues/4",
          "class Sign(torch.autograd.Function):\n    @staticmethod\n"
          "    def forward(ctx, x, training): return x.sign()\n"
          "    @staticmethod\n    def backward(ctx, grad): return grad\n"
          "w = torch.rand(3, requires_grad=True)\nloss = Sign.apply(w, True).sum()\nloss.backward()",
          "returned 1 gradient"),
]

OPTIMIZERS = [
    Asked("mikeizbicki/cmc-csci181-deeplearning/issues/7",
          "class CNN(nn.Module):\n    def _init_(self):\n        super(CNN, self)._init_()\n"
          "        self.cnn = nn.Conv1d(3, 4, 3)\nmodel = CNN()\noptim.SGD(model.parameters(), lr=0.1)", "__init__"),
    Asked("pytorch/pytorch/issues/50402",
          "class Model(nn.Module):\n    pass\nmodel = Model()\noptim.Adam(model.parameters())", "no parameters"),
    Asked("YirongMao/softmax_variants/issues/7",
          "lgm_loss = nn.CrossEntropyLoss()\noptim.SGD(lgm_loss.parameters(), lr=0.1)", "no parameters"),
    Asked("pytorch/examples/issues/277",
          "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
          "        self.W = torch.rand(3, 2)\n"
          "net = Net()\noptim.SGD(net.parameters(), lr=0.1)", "nn.Parameter"),
    Asked("HINTLab/ACSConv/issues/12",
          "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
          "        self.layers = [nn.Linear(2, 2), nn.Linear(2, 1)]\nnet = Net()\noptim.SGD(net.parameters(), lr=0.1)",
          "nn.ModuleList"),
    Asked("YanaiEliyahu/AdasOptimizer/issues/2",
          f"{NET}params = filter(lambda p: p.requires_grad, net.parameters())\ncount = sum(p.numel() for p in params)\n"
          "optim.SGD(params, lr=0.1)", "used up"),
    Asked("TreB1eN/InsightFace_Pytorch/issues/169",
          f"{NET}optim.SGD([{{'params': net.parameters()}}, {{'params': [net.f.weight], 'lr': 0.2}}], lr=0.1)",
          "more than one group"),
    Asked("pytorch/pytorch/issues/40967",
          "x = torch.zeros(1, requires_grad=True)\noptim.SGD([dict(params=x), dict(params=x)], lr=0.1)",
          "more than one group"),
    Asked("ray-project/ray/issues/28323",
          f"{SGD}other = nn.Linear(4, 2, bias=False)\nsaved = optim.SGD(other.parameters(), lr=0.1).state_dict()\n"
          "opt.load_state_dict(saved)", "other parameters"),
    Asked("ruotianluo/self-critical.pytorch/issues/232",
          f"{SGD}saved = {{'epoch': 3, 'optimizer_state_dict': opt.state_dict()}}\nopt.load_state_dict(saved)",
          "optimizer_state_dict", "opt.load_state_dict(saved['optimizer_state_dict'])"),
    Asked("huggingface/blog/issues/143",
          f"{SGD}scaler = torch.amp.GradScaler('cpu')\nloss = net(torch.rand(2, 4)).sum()\nscaler.step(opt)",
          "backward", "scaler.scale(loss).backward()"),
    Asked("open-mmlab/mmsegmentation/issues/3230",
          f"{SGD}scaler = torch.amp.GradScaler('cpu')\nw = net(torch.rand(2, 4)).sum()\n"
          "loss = torch.tensor(w.item(), requires_grad=True)\nscaler.scale(loss).backward()\nscaler.step(opt)",
          "gradient"),
    Asked("pytorch/pytorch/pull/26512",
          f"{SGD}scaler = torch.amp.GradScaler('cpu')\nscaler.scale(net(torch.rand(2, 4)).sum()).backward()\n"
          "scaler.unscale_(opt)\nscaler.unscale_(opt)", "scaler.update()"),
]

STATES = [
    Asked("Helias/Car-Model-Recognition/issues/2",
          "model = nn.Sequential(nn.Linear(4, 3))\nstate = nn.Sequential(nn.Linear(4, 10)).state_dict()\n"
          "model.load_state_dict(state)", "of other shapes"),
    Asked("VITA-Group/EnlightenGAN/issues/30",
          f"{NET}state = {{'module.' + k: v for k, v in net.state_dict().items()}}\nnet.load_state_dict(state)",
          "'module.'", "removeprefix('module.')"),
    Asked("justchenhao/SILI_CD/issues/2",
          f"{NET}saved = {{'_orig_mod.' + k: v for k, v in net.state_dict().items()}}\nnet.load_state_dict(saved)",
          "'_orig_mod.'", "removeprefix('_orig_mod.')"),
    Asked("LiheYoung/UniMatch/issues/31",
          f"{SGD}checkpoint = {{'model': net.state_dict(), 'optimizer': opt.state_dict(), 'epoch': 7}}\n"
          "net.load_state_dict(checkpoint)", "checkpoint", "net.load_state_dict(checkpoint['model'])"),
    Asked("mingcv/DSRNet/issues/12",
          f"{SGD}ckpt = {{'weight': net.state_dict(), 'epoch': 1, 'iterations': 9, 'opt_g': opt.state_dict()}}\n"
          "net.load_state_dict(ckpt)", "checkpoint", "net.load_state_dict(ckpt['weight'])"),
    Asked("jfzhang95/pytorch-video-recognition/issues/10",
          f"{NET}checkpoint = net.state_dict()\nnet.load_state_dict(checkpoint['state_dict'])", "state_dict",
          "net.load_state_dict(checkpoint)"),
    Asked("facebookresearch/deepcluster/issues/61",
          f"{SGD}checkpoint = {{'arch': 'vgg', 'epoch': 9, 'state_dict': net.state_dict()}}\n"
          "opt.load_state_dict(checkpoint['optimizer'])", "'arch', 'epoch', 'state_dict'"),
]

GRADIENTS = [
    Asked("BaiTheBest/SparseLLM/issues/13",
          "s = torch.rand(3, requires_grad=True)\n(s * 2).sum().backward()\ns -= 0.1 * s.grad",
          "a leaf that requires grad", "with torch.no_grad(): s -= 0.1 * s.grad"),
    Asked("Atcold/NYU-DLSP20/issues/765",
          "pos = nn.Embedding(4, 6)\nE = pos.weight\nE[:, 0::2] = torch.sin(torch.rand(4, 3))",
          "a leaf that requires grad", "with torch.no_grad(): E[:, 0::2] = torch.sin(torch.rand(4, 3))"),
    Asked("NVlabs/VILA/pull/199", "embeds = nn.Parameter(torch.rand(2, 3))\nembeds += torch.ones(2, 3).mean() * 0.0",
          "a leaf that requires grad", "embeds = embeds + torch.ones(2, 3).mean() * 0.0"),
    Asked("pytorch/examples/pull/779",
          f"{NET}net(torch.rand(2, 4)).sum().backward()\nfor p in net.parameters():\n    p.add_(p.grad, alpha=-0.1)",
          "a leaf that requires grad", "with torch.no_grad(): p.add_(p.grad, alpha=-0.1)"),
    Asked("eriklindernoren/PyTorch-YOLOv3/issues/331",
          "w = torch.rand(2, requires_grad=True)\nloss = w * 2\nloss.backward()", "not one number",
          "loss.mean().backward()"),
    Asked("winycg/L-MCL/issues/1",
          f"{SCORES}\nloss = F.cross_entropy(out, torch.tensor([0, 1, 2, 0]), reduction='none')\nloss.backward()",
          "not one number", "loss.mean().backward()"),
    Asked("LZGMatrix/BOP19_CDPN_2019ICCV/issues/4",
          f"{NET}coor = net(torch.rand(3, 4)).argmax(1).float() / 63\nloss = F.l1_loss(coor, torch.zeros(3))\n"
          "loss.backward()", "argmax"),
    Asked("pytorch/pytorch/issues/1339",
          "f, g = nn.Linear(4, 3), nn.Embedding(3, 2)\n"
          "y_p = torch.max(f(torch.rand(2, 4)), 1)[1]\n"
          "g(y_p).sum().backward()\nf.weight.grad.data.zero_()", "f.weight.grad is None"),
    Asked("ronghuaiyang/arcface-pytorch/issues/56",
          f"{NET}for p in net.parameters(): p.requires_grad = False\nloss = net(torch.rand(2, 4)).sum()\n"
          f"loss.backward()",
          "requires grad"),
    Asked("pytorch/pytorch/issues/95110",
          "out = torch.rand(4, 3)\npred = torch.max(out, 1)[1]\npred.requires_grad = True", "float", "pred.float()"),
    Asked("jiasenlu/NeuralBabyTalk/issues/26", "mask = torch.tensor([0, 1, 1])\nnn.Parameter(mask)", "int64",
          "nn.Parameter(mask, requires_grad=False)"),
    Asked("mrdbourke/pytorch-deep-learning/issues/583",
          "w = torch.ones(1, requires_grad=True)\nlosses = [(w * i).sum() for i in range(3)]\nnp.array(losses)",
          "graph", "[loss.item() for loss in losses]"),
    Asked("source-separation/tutorial/issues/28",
          "w = torch.ones(1, requires_grad=True)\nloss = (w * 3).sum()\nnp.log10(loss)", "graph", "loss.detach()"),
    Asked("fastai/course-v3/issues/455",
          "x, a = torch.rand(5, 2), torch.rand(2, requires_grad=True)\ny = x @ a\ny.numpy()", "graph",
          "y.detach().numpy()"),
    Asked("tkalayci71/embedding-inspector/issues/22", "emb = nn.Embedding(4, 3)\nemb.weight.numpy()", "grad",
          "emb.weight.detach().numpy()"),
]

DATASETS = [
    Asked("Megvii-BaseDetection/YOLOX/issues/1523", f"{DATA}items = [torch.rand(3), None]\n{LOADER}", "is None"),
    Asked("nitsaick/kits19-challenge/issues/7",
          f"{DATA.replace('return self.items[i]', 'x = self.items[i]')}items = torch.rand(4, 2)\n"
          "for batch in torch.utils.data.DataLoader(Data(items), batch_size=2): pass", "is None",
          "return self.items[i]"),
    Asked("milesial/Pytorch-UNet/issues/285",
          f"{DATA}items = [torch.rand(3, 54, 38), torch.rand(3, 79, 58)]\n{LOADER}", "different shapes"),
    Asked("amdegroot/ssd.pytorch/issues/546",
          f"{DATA}items = [torch.rand(1, 5), torch.rand(2, 5)]\n{LOADER}", "different shapes"),
    Asked("VainF/DeepLabV3Plus-Pytorch/issues/114",
          f"{DATA}items = [torch.rand(16, 16), torch.rand(16, 16, 3)]\n{LOADER}", "different shapes"),
    Asked("pytorch/pytorch/issues/1904",
          f"{DATA}items = [(torch.rand(3, 8, 8), 0), (torch.rand(3, 8, 9), 1)]\n{LOADER}", "different shapes"),
    Asked("pytorch/pytorch/issues/2458",
          "conv, x = nn.Conv2d(1, 2, 3), torch.zeros(1, 1, 8, 8, dtype=torch.uint8)\nconv(x)",
          "uint8", "x.to(conv.weight.dtype)"),
    Asked("timeseriesAI/tsai/issues/468",
          "conv, X = nn.Conv1d(3, 4, 3), torch.from_numpy(np.random.rand(2, 3, 9))\nconv(X)", "float64", "X.to("),
    Asked("OUCMachineLearning/OUCML/issues/24",
          "features, w = torch.from_numpy(np.ones((4, 2))), torch.rand(2, 1)\ntorch.mm(features, w)", "float64",
          "features.to(w.dtype)"),
    Asked("pytorch/pytorch/issues/2138",
          "model = nn.Sequential(nn.Conv2d(1, 1, (1, 3), bias=False))\nA = torch.rand(1, 1, 1, 6).double()\nmodel(A)",
          "float64", "A.to("),
    Asked("pytorch/pytorch/issues/92680", "a = np.flip(np.asarray([1, 34]))\ntorch.from_numpy(a)", "backwards",
          "a.copy()"),
    Asked("1adrianb/face-alignment/issues/259",
          "frame = np.zeros((4, 4, 3))\ntorch.from_numpy(frame[..., ::-1])", "backwards", "frame[..., ::-1].copy()"),
    Asked("openclimatefix/ocf-data-sampler/issues/211", "x = np.arange(10)\ntorch.as_tensor(x[::-1])", "backwards",
          "x[::-1].copy()"),
    Asked("pytorch/pytorch/issues/229", "x = torch.rand(3, 4)\ny = x[::-1]", "cannot go backward", "x.flip(0)"),
    Asked("fastai/course22/issues/99",
          "values = np.array([[22, 1, True], [38.5, 0, False]], dtype=object)\ntorch.tensor(values)", "object",
          "values.astype(np.float32)"),
    Asked("emadeldeen24/ECGTransForm/issues/2",
          "weights = {0: 1.0, 1: 2.0}\ntorch.tensor(np.array(weights.values()))", "object", "list(weights.values())"),
    Asked("yongqyu/poi2vec/issues/6",
          "context = np.array([[1, 2], [3]], dtype=object)\ntorch.from_numpy(context)", "object"),
    Asked("loicland/superpoint_graph/issues/102",
          "import json, io\nstats = [{'epoch': 1, 'loss': torch.tensor(0.5)}]\njson.dump(stats, io.StringIO())",
          "tensor", "'loss'"),
    Asked("prlz77/ResNeXt.pytorch/issues/7",
          "import json\nstate = {'lr': 0.1, 'best': torch.tensor(7)}\nprint(json.dumps(state))", "tensor", ".tolist()"),
]

VALUES = [
    Asked("hekaijie123/TATrack/issues/6",
          "from matplotlib.figure import Figure\nimage = torch.rand(3, 8, 10)\nFigure().subplots().imshow(image)",
          "takes [height, width, channels]", "image.permute(1, 2, 0)"),
    Asked("pytorch/pytorch/issues/7014",
          "logits = torch.tensor([100., 1., 200.])\nprobs = torch.exp(logits)\ntorch.multinomial(probs, 1)", "inf",
          "torch.softmax(logits, -1)"),
    Asked("pytorch/pytorch/issues/47232", "w = torch.tensor([0.2, -0.1, 0.9])\ntorch.multinomial(w, 1)", "negative",
          "torch.softmax(w, -1)"),
    Asked("pytorch/pytorch/issues/50034", "w = torch.tensor([1., 10., 3.])\ntorch.multinomial(w, 4)", "4",
          "replacement=True"),
    Asked("ZijieH/CG-ODE/issues/1",
          "f, x = nn.Linear(4, 4), torch.ones(3, 4)\nmu, std = f(x), -torch.ones(3, 4)\n"
          "torch.distributions.Normal(mu, std)", "greater than 0", "F.softplus(std)"),
    Asked("pytorch/pytorch/issues/18133",
          "mu, sig = torch.tensor(0.), torch.tensor(-0.4)\ntorch.distributions.Normal(mu, sig)", "greater than 0",
          "F.softplus(sig)"),
    Asked("BayraktarLab/cell2location/issues/384",
          "loc = torch.tensor([0.1, float('nan')])\ntorch.distributions.Normal(loc, torch.ones(2))", "nan"),
    Asked("karpathy/ng-video-lecture/issues/20",
          "table = nn.Embedding(65, 128)\nidx = torch.zeros(1, 1).long()\nlogits = table(idx)[:, -1]\n"
          "logits[0, 90] = 99.\nnext_ = logits.argmax(-1, keepdim=True)\ntable(next_)", "there are 65"),
    Asked("ajhalthor/Transformer-Neural-Network/issues/13",
          "vocabulary = {'a': 0, 'b': 1, '<pad>': 2}\nemb = nn.Embedding(2, 4)\n"
          "ids = torch.tensor([[0, 2, 1]])\nemb(ids)",
          "there are 2", "nn.Embedding(3, 4)"),
    Asked("pytorch/functorch/issues/1130",
          "def part(a, i): return a[i:i + 2]\na, i = torch.rand(3, 6), torch.tensor([0, 1, 2])\n"
          "torch.func.vmap(part)(a, i)", "vmap"),
    Asked("pytorch/pytorch/issues/186301",
          "def checked(x):\n    if x.isnan().any(): raise ValueError('nan')\n    return x * 2\n"
          "torch.func.vmap(checked)(torch.rand(4, 8))", "vmap"),
    Asked("pytorch/functorch/issues/337",
          "table = torch.rand(20)\ndef look(i): return table[i.item()]\ntorch.func.vmap(look)(torch.tensor([1, 2]))",
          "vmap"),
]

THREADS = [
    Asked("gram-ai/capsule-networks/issues/28",
          "scores, labels = torch.rand(16, 10), torch.randint(0, 10, (16,))\nloss = ((scores - labels) ** 2).sum()",
          "class numbers", "F.one_hot(labels, 10)"),
    Asked("VITA-Group/ShapeMatchingGAN/issues/23",
          "img, mean = torch.rand(4, 8, 8), torch.tensor([0.5, 0.5, 0.5]).view(3, 1, 1)\nimg - mean", "alpha",
          "img[:3]"),
    Asked("sjmoran/deeplpf-image-enhancement/issues/16",
          "conv, img = nn.Conv2d(3, 16, 3), torch.rand(1, 4, 8, 8)\nconv(img)", "alpha", "img[:, :3]"),
    Asked("milesial/Pytorch-UNet/issues/71",
          "conv, imgs = nn.Conv2d(1, 4, 3), torch.rand(15, 8, 8)\nconv(imgs)", "channels", "imgs.unsqueeze(1)"),
    Asked("jd730/OICR-pytorch/issues/26",
          "boxes = torch.tensor([[2185., 480., 640.], [1006., 1200., 1846.]])\nint(boxes[:, 0].item())",
          "is more than one number", "boxes[:, 0][0].item()"),
    Asked("avishkarsaha/translating-images-into-maps/issues/12",
          "labels = [torch.ones(2), torch.zeros(2)]\ntorch.tensor(labels, dtype=torch.long)", "list of tensors",
          "torch.stack(labels)"),
    Asked("mrwu-mac/ControlMLLM/issues/16",
          "ids = torch.tensor([[32000, 5, 32000]])\nplace = int(torch.where(ids == 32000)[1])",
          "is more than one number", ".tolist()"),
    Asked("lxztju/pytorch_classification/issues/32",
          "model = nn.Sequential(nn.Linear(4, 3))\nfor p in model.parameters(): p.requires_grad = False\n"
          "loss = F.cross_entropy(model(torch.rand(2, 4)), torch.tensor([0, 1]))\nloss.backward()", "frozen",
          "requires_grad_()"),
    Asked("dbolya/yolact/issues/243",
          "loader = torch.utils.data.DataLoader([(torch.rand(3), 1), (torch.rand(3), 0)])\n"
          "for x, y in enumerate(loader):\n    y.size(0)", "enumerate puts the number"),
    Asked("tensorflow/tensorflow/issues/33061", "x = torch.rand(2, 1, 8, 8)\nx.get_shape()", "x.shape", "x.shape"),
    Asked("Novartis/torchsurv/pull/98", "x = torch.rand(3, 2)\nx.Size[0]", "size"),
    Asked("whatissimondoing/CoG-BART/issues/3", "shape = torch.ones(2, 3).size()\nshape.shape", "is itself a shape"),
    Asked("lucidrains/denoising-diffusion-pytorch/issues/109",
          "conv, net = nn.Conv1d(1, 2, 1), nn.Linear(4, 1)\nx = conv(torch.rand(3, 1, 4))\nfor _ in range(2):\n"
          "    loss = net(x).sum()\n    loss.backward()", "stands before the loop"),
    Asked("MorvanZhou/PyTorch-Tutorial/issues/57",
          "rnn, h_state = nn.RNN(1, 4, batch_first=True), None\nfor _ in range(2):\n"
          "    out, h_state = rnn(torch.rand(1, 5, 1), h_state)\n    out.sum().backward()", "hidden state",
          "h_state = h_state.detach()"),
    Asked("karpathy/nn-zero-to-hero/issues/31",
          "W = torch.rand(3, 3, requires_grad=True)\nloss = (torch.rand(2, 3) @ W).exp().sum()\nloss.backward()\n"
          "loss.backward()", "second", "retain_graph=True"),
    Asked("Beckschen/TransUNet/issues/74",
          "x, skip = torch.rand(1, 8, 32, 32), torch.rand(1, 4, 64, 64)\ntorch.cat([x, skip], dim=1)",
          "bring one to the size", "F.interpolate(skip"),
    Asked("pytorch/pytorch/issues/3805",
          "model = nn.Linear(2, 2)\nstate = {f'module.{name}': v for name, v in model.state_dict().items()}\n"
          "model.load_state_dict(state)", "module.", "removeprefix"),
    Asked("ankitajaiswal00/Try-First/issues/26",
          "model = nn.Linear(2, 2)\ncheckpoint = {'state_dict': model.state_dict()}\nmodel.load_state_dict(checkpoint)",
          "state_dict", "checkpoint['state_dict']"),
    Asked("bentrevett/pytorch-seq2seq/issues/89",
          "pos_embedding, pos = nn.Embedding(100, 8), torch.arange(120)\npos_embedding(pos)", "into a table of 100",
          "nn.Embedding(120, 8)"),
    Asked("georgian-io/Multimodal-Toolkit/issues/2", "torch.tensor(np.array([1.0, 'a'], dtype=object))", "object"),
    Asked("QwenAudio/CosyVoice/issues/195",
          "rows = np.array([[1, 2], [3]], dtype=object)\ntorch.tensor(rows, dtype=torch.float32)", "different lengths"),
]

ASKED = [*LOSSES, *SHAPES, *RECURRENT, *CALLS, *OPTIMIZERS, *STATES, *GRADIENTS, *DATASETS, *VALUES, *THREADS]
