"""Training programs that run and do not learn, each with one mistake; and such that are right.

All are run with ``x``, ``y``, ``t`` (16 samples of 3 features, numbers, 4 classes), ``net``, ``opt`` and ``classes``, a
classifier with ``copt``, unless they make their own.
"""
from __future__ import annotations

BEGIN = """
torch.manual_seed(0)
x, y, t = torch.randn(16, 3), torch.randn(16), torch.randint(0, 4, (16,))
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt = optim.SGD(net.parameters(), lr=0.01)
classes = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))
copt = optim.SGD(classes.parameters(), lr=0.1)
"""
STEP = "    opt.zero_grad(); loss.backward(); opt.step()\n"
CSTEP = "    copt.zero_grad(); loss.backward(); copt.step()\n"
LOOP = "for _ in range(3):\n"

#: The rule that finds it, what the finding must say, and the program.
BUGS = [
    ("loss broadcasts", "16 scores with 16 targets", f"{LOOP}    loss = F.mse_loss(net(x), y)\n{STEP}"),
    ("loss broadcasts", "256 pairs", f"{LOOP}    loss = ((net(x) - y) ** 2).mean()\n{STEP}"),
    ("loss broadcasts", "256 pairs", f"{LOOP}    loss = F.l1_loss(net(x), y)\n{STEP}"),
    ("forgotten zero_grad", "adds to the gradients",
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y); loss.backward(); opt.step()"),
    ("not reached", "net.0.weight", f"{LOOP}    loss = F.mse_loss(net[2](net[:2](x).detach())[:, 0], y)\n{STEP}"),
    ("not in the optimizer", "net.0.weight",
     f"opt = optim.SGD(net[2].parameters(), lr=0.1)\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("other parameters", "none of the model's",
     f"net = nn.Sequential(nn.Linear(3, 1))\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("frozen", "net.0.weight", f"net[0].requires_grad_(False)\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("normalised twice", "softmax comes before cross_entropy",
     f"{LOOP}    loss = F.cross_entropy(classes(x).softmax(1), t)\n{CSTEP}"),
    ("normalised twice", "relu comes before cross_entropy",
     f"{LOOP}    loss = F.cross_entropy(classes(x).relu(), t)\n{CSTEP}"),
    ("normalised twice", "sigmoid comes before",
     f"{LOOP}    loss = F.binary_cross_entropy_with_logits(net(x)[:, 0].sigmoid(), (y > 0).float())\n{STEP}"),
    ("not logarithms", "F.cross_entropy(scores, target)", f"{LOOP}    loss = F.nll_loss(classes(x), t)\n{CSTEP}"),
    ("not logarithms", "F.log_softmax", f"{LOOP}    loss = F.nll_loss(classes(x).softmax(1), t)\n{CSTEP}"),
    ("softmax of one", "always 1", f"{LOOP}    loss = F.mse_loss(net(x).softmax(1)[:, 0], y)\n{STEP}"),
    ("softmax over samples", "dim 0, the samples",
     f"{LOOP}    loss = F.nll_loss(F.log_softmax(classes(x), 0), t)\n{CSTEP}"),
    ("dead units", "in 8 of its 8 units", "with torch.no_grad(): net[0].bias.fill_(-100)\n"
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("first NaN", "log makes the first infinity", f"{LOOP}    loss = (net(x).relu() * 0).log().mean()\n{STEP}"),
    ("first NaN", "sqrt makes the first NaN", f"{LOOP}    loss = (net(x) - 10).sqrt().mean()\n{STEP}"),
    ("first NaN", "the backward of Sqrt makes the first",
     f"{LOOP}    loss = ((net(x) * 0).sqrt() * 0 + net(x)).mean()\n{STEP}"),
    ("gradients explode", "norm", f"{LOOP}    loss = F.mse_loss(net(x * 1e5)[:, 0], y)\n{STEP}"),
    ("gradients vanish", "net.0.weight",
     "layers = [layer for _ in range(16) for layer in (nn.Linear(8, 8), nn.Sigmoid())]\n"
     "net = nn.Sequential(nn.Linear(3, 8), *layers, nn.Linear(8, 1)); opt = optim.SGD(net.parameters(), lr=0.1)\n"
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("eval while training", "model.train()", "net.append(nn.Dropout(0.1)); net.eval()\n"
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("training while predicting", "model.eval()", "net.append(nn.Dropout(0.1))\nwith torch.no_grad():\n    net(x)"),
    ("dropout while predicting", "training=self.training",
     "net.eval()\nwith torch.no_grad():\n    F.dropout(net(x), 0.5)"),
    ("no step", "opt took no step", f"{LOOP}    opt.zero_grad(); F.mse_loss(net(x)[:, 0], y).backward(); opt.step"),
    ("step without gradients", "zero_grad stands in the wrong place",
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y); loss.backward(); opt.zero_grad(); opt.step()"),
    ("step without gradients", "zero_grad stands in the wrong place",
     f"{LOOP}    F.mse_loss(net(x)[:, 0], y).backward()\n    opt.zero_grad(set_to_none=False); opt.step()"),
    ("growing history", "with torch.no_grad(): w -= lr * w.grad", "w = torch.ones(3, requires_grad=True)\n"
     f"{LOOP}    w.retain_grad() if not w.is_leaf else None\n    loss = ((x @ w - y) ** 2).mean(); loss.backward()\n"
     "    w = w - 0.1 * w.grad"),
    ("growing history", "total += loss.item()",
     f"total = 0\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    total += loss"),
    ("growing history", "total += train().item()", "def train():\n    loss = F.mse_loss(net(x)[:, 0], y)\n"
     "    opt.zero_grad(); loss.backward(); opt.step()\n    return loss\ntotal = 0\nfor _ in range(3):\n"
     "    total += train()"),
    ("one memory", "kept.append(x.clone())", "buffer, kept = torch.zeros(3), []\nfor row in x:\n    buffer.copy_(row)\n"
     "    kept.append(buffer[:])"),
    ("hidden in a container", "nn.ModuleList",
     "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
     "        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]; self.out = nn.Linear(3, 1)\n"
     "    def forward(self, x):\n        for f in self.layers: x = f(x)\n        return self.out(x)[:, 0]\n"
     f"net = Net(); opt = optim.SGD(net.parameters(), lr=0.1)\n{LOOP}    loss = F.mse_loss(net(x), y)\n{STEP}"),
    ("plain tensor", "nn.Parameter", "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
     "        self.w = torch.randn(3, requires_grad=True); self.f = nn.Linear(3, 1)\n"
     "    def forward(self, x): return self.f(x * self.w)[:, 0]\n"
     f"net = Net(); opt = optim.SGD(net.parameters(), lr=0.1)\n{LOOP}    loss = F.mse_loss(net(x), y)\n{STEP}"),
    ("weights alike", "random", "for p in net.parameters(): nn.init.constant_(p, 0.1)\n"
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("no learning rate", "Each step", "opt = optim.SGD(net.parameters(), lr=0.0)\n"
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("large learning rate", "lr=0.001", "opt = optim.Adam(net.parameters(), lr=1.0)\n"
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("large inputs", "x / 255", f"x = torch.rand(16, 3) * 255\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    # losses, states and layers that are not what they seem
    ("loss without history", "nothing computed",
     f"{LOOP}    loss = torch.tensor(F.mse_loss(net(x)[:, 0], y).item(), requires_grad=True)\n{STEP}"),
    ("loss without history", "loss_function(model(x), y)",
     f"{LOOP}    loss = (classes(x).argmax(1).float() - t).abs().mean().requires_grad_()\n{CSTEP}"),
    ("growing history", "losses.append(loss.item())",
     f"losses = []\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    losses.append(loss)"),
    ("kept by reference", "copy.deepcopy(net.state_dict())",
     f"best, least = None, 1e9\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    if loss.item() < least:\n"
     "        least, best = loss.item(), net.state_dict()"),
    ("kept by reference", "a second name", f"least = 1e9\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"
     "    if loss.item() < least:\n        best = net"),
    ("comparison broadcasts", "256 pairs", f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"
     "    correct = ((net(x) > 0) == (y > 0)).sum().item()"),
    ("comparison broadcasts", "accuracy", f"{LOOP}    loss = F.cross_entropy(classes(x), t)\n{CSTEP}"
     "    accuracy = (classes(x).argmax(1, keepdim=True) == t).float().mean()"),
    ("one layer again", "net.1, net.3, net.5 are one Linear",
     "net = nn.Sequential(nn.Linear(3, 8), *[nn.Linear(8, 8), nn.ReLU()] * 3, nn.Linear(8, 1))\n"
     f"opt = optim.SGD(net.parameters(), 0.01)\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("made in each pass", "self.layer = nn.Linear",
     "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.f = nn.Linear(3, 8)\n"
     "    def forward(self, x): return nn.Linear(8, 1)(self.f(x).relu())[:, 0]\n"
     f"net = Net(); opt = optim.SGD(net.parameters(), lr=0.1)\n{LOOP}    loss = F.mse_loss(net(x), y)\n{STEP}"),
    ("out of reach", "8 of the 16 targets",
     f"net.append(nn.ReLU())\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("out of reach", "sigmoid gives 0 to 1",
     f"net.append(nn.Sigmoid()); y = y * 3\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}"),
    ("parameters stay", "with torch.no_grad(): p -= lr * p.grad",
     f"{LOOP}    net.zero_grad(); loss = F.mse_loss(net(x)[:, 0], y); loss.backward()\n    with torch.no_grad():\n"
     "        for p in net.parameters(): p = p - 0.1 * p.grad"),
    ("softmax of one", "always 0",
     f"{LOOP}    loss = F.cross_entropy(net(x), torch.zeros(16, dtype=torch.long))\n{STEP}"),
    ("clipped too late", "between backward and step",
     f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    nn.utils.clip_grad_norm_(net.parameters(), 1.0)"),
    ("learning rate faded", "once an epoch", "sched = optim.lr_scheduler.StepLR(opt, 1, 0.01)\nfor _ in range(8):\n"
     f"    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    sched.step()"),
    ("samples as steps", "batch_first=True", "rnn, head, s = nn.LSTM(3, 5), nn.Linear(5, 1), torch.randn(16, 7, 3)\n"
     "opt = optim.Adam([*rnn.parameters(), *head.parameters()])\n"
     f"{LOOP}    out, _ = rnn(s); loss = F.mse_loss(head(out[:, -1])[:, 0], y)\n{STEP}"),
    ("sorted batches", "shuffle=True", "for c in range(4):\n"
     f"    loss = F.cross_entropy(classes(x), torch.full((16,), c))\n{CSTEP}"),
]

#: Programs without a mistake.
CLEAN = [
    f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}",
    f"{LOOP}    loss = F.mse_loss(net(x), y[:, None])\n{STEP}",
    f"{LOOP}    loss = ((net(x).squeeze(1) - y) ** 2).mean()\n{STEP}",
    f"{LOOP}    loss = F.cross_entropy(classes(x), t)\n{CSTEP}",
    f"{LOOP}    loss = F.nll_loss(F.log_softmax(classes(x), 1), t)\n{CSTEP}",
    f"{LOOP}    loss = F.binary_cross_entropy_with_logits(net(x)[:, 0], (y > 0).float())\n{STEP}",
    f"{LOOP}    loss = F.binary_cross_entropy(net(x)[:, 0].sigmoid(), (y > 0).float())\n{STEP}",
    # gradients of several batches before a step; penalties; two losses
    f"{LOOP}    opt.zero_grad()\n    for part in range(2):\n        (F.mse_loss(net(x)[:, 0], y) / 2).backward()\n"
    "    opt.step()",
    f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y) + 1e-3 * sum((p * p).sum() for p in net.parameters())\n{STEP}",
    f"total = 0\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    total += loss.item()",
    # by hand
    f"w = torch.zeros(3, requires_grad=True)\n{LOOP}    ((x @ w - y) ** 2).mean().backward()\n"
    "    with torch.no_grad(): w -= 0.1 * w.grad\n    w.grad = None",
    # a frozen part that the optimizer was not given
    "net[0].requires_grad_(False); opt = optim.Adam(net[2].parameters())\n"
    f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}",
    # training and evaluation
    "net.insert(1, nn.BatchNorm1d(8)); net.insert(2, nn.Dropout(0.1)); opt = optim.Adam(net.parameters())\n"
    f"{LOOP}    net.train(); loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    net.eval()\n"
    "    with torch.no_grad(): net(x)",
    "sched = optim.lr_scheduler.CosineAnnealingLR(opt, 3)\n"
    f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    sched.step()",
    # shapes of all kinds
    "c = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 4))\n"
    "images = torch.rand(16, 1, 8, 8); copt = optim.Adam(c.parameters())\n"
    f"{LOOP}    loss = F.cross_entropy(c(images), t)\n{CSTEP}",
    "rnn, head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)\n"
    "opt = optim.Adam([*rnn.parameters(), *head.parameters()])\n"
    f"{LOOP}    out, _ = rnn(x[:, None].expand(16, 4, 3)); loss = F.mse_loss(head(out[:, -1])[:, 0], y)\n{STEP}",
    "e = nn.Sequential(nn.Embedding(4, 6), nn.Linear(6, 4)); copt = optim.AdamW(e.parameters())\n"
    f"{LOOP}    loss = F.cross_entropy(e(t), t)\n{CSTEP}",
    "a, head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 4)\n"
    "copt = optim.Adam([*a.parameters(), *head.parameters()]); s = torch.randn(16, 5, 8)\n"
    f"{LOOP}    loss = F.cross_entropy(head(a(s, s, s)[0].mean(1)), t)\n{CSTEP}",
    "n = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True); opt = optim.Adam(n.parameters())\n"
    "s = torch.randn(4, 5, 8)\n"
    f"{LOOP}    loss = F.mse_loss(n(s), s)\n{STEP}",
    # distances of all pairs are meant; several outputs; an optimizer with a closure
    f"{LOOP}    h = net[:2](x); loss = ((h[:, None] - h[None]) ** 2).mean() + net(x).mean()\n{STEP}",
    f"{LOOP}    loss = F.smooth_l1_loss(net(x)[:, 0], y); opt.zero_grad(); loss.backward()\n"
    "    nn.utils.clip_grad_norm_(net.parameters(), 1.0); opt.step()",
    "opt = optim.LBFGS(net.parameters(), max_iter=3)\ndef closure():\n    opt.zero_grad()\n"
    "    loss = F.mse_loss(net(x)[:, 0], y); loss.backward()\n    return loss\nopt.step(closure)",
    # generator and discriminator
    "g, d = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)); ones = torch.ones(16, 1)\n"
    f"og, od = optim.Adam(g.parameters()), optim.Adam(d.parameters())\n{LOOP}    od.zero_grad()\n"
    "    loss = F.binary_cross_entropy_with_logits(d(g(x).detach()), 0 * ones)\n    loss.backward(); od.step()\n"
    "    og.zero_grad(); F.binary_cross_entropy_with_logits(d(g(x)), ones).backward(); og.step()",
    # a state that is carried through the steps of a sequence, or through batches, cut from the ones before
    f"cell = nn.RNNCell(3, 1); opt = optim.SGD(cell.parameters(), 0.1)\n{LOOP}    h = torch.zeros(1, 1)\n"
    f"    for row in x[:4]:\n        h = cell(row[None], h)\n    loss = h.pow(2).mean()\n{STEP}",
    "cell = nn.RNNCell(3, 1); opt = optim.SGD(cell.parameters(), 0.1); h = torch.zeros(16, 1)\n"
    f"{LOOP}    h = cell(x, h.detach())\n    loss = h.pow(2).mean()\n{STEP}",
    "total = 0\nfor part in x.split(4):\n    total = total + net(part).mean()\n"
    "opt.zero_grad(); total.backward(); opt.step()",
    "parts = [row.clone() for row in x]; pairs = [x[i:i + 2] for i in range(4)]",
    # states that are copied or written to a file; numbers that are kept; all pairs of labels
    "import copy\nbest, least = None, 1e9\n"
    f"{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    if loss.item() < least:\n"
    "        least, best = loss.item(), copy.deepcopy(net.state_dict())",
    f"least = 1e9\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    if loss.item() < least:\n"
    "        least, state = loss.item(), {k: v.clone() for k, v in net.state_dict().items()}",
    f"losses = []\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}    losses.append(loss.detach())",
    f"{LOOP}    loss = F.cross_entropy(classes(x), t)\n{CSTEP}    same = t[:, None] == t\n"
    "    accuracy = (classes(x).argmax(1) == t).float().mean()",
    # one function in several places; a layer for each fold; outputs and targets that are 0 or more
    "relu = nn.ReLU(); net = nn.Sequential(nn.Linear(3, 8), relu, nn.Linear(8, 8), relu, nn.Linear(8, 1))\n"
    f"opt = optim.SGD(net.parameters(), 0.01)\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}",
    "for fold in range(3):\n    f = nn.Linear(3, 1); o = optim.SGD(f.parameters(), lr=0.1)\n    for _ in range(2):\n"
    "        o.zero_grad(); F.mse_loss(f(x)[:, 0], y).backward(); o.step()",
    f"net.append(nn.Softplus()); y = y.abs()\n{LOOP}    loss = F.mse_loss(net(x)[:, 0], y)\n{STEP}",
    # a step that leads to a loss of 0, and gradients that then are 0, too
    "f = nn.Linear(4, 1); o = optim.SGD(f.parameters(), lr=0.1); ones = torch.ones(8, 4)\n"
    f"{LOOP}    o.zero_grad(); F.mse_loss(f(ones)[:, 0], torch.ones(8)).backward(); o.step()",
    # steps first, with targets for each; gradients that are clipped in time
    "rnn, head, s = nn.LSTM(3, 5), nn.Linear(5, 1), torch.randn(16, 7, 3)\n"
    "opt = optim.Adam([*rnn.parameters(), *head.parameters()])\n"
    f"{LOOP}    out, _ = rnn(s); loss = F.mse_loss(head(out)[..., 0], s[..., 0])\n{STEP}",
    f"{LOOP}    opt.zero_grad(); loss = F.mse_loss(net(x)[:, 0], y); loss.backward()\n"
    "    nn.utils.clip_grad_value_(net.parameters(), 1.0); opt.step()",
]
