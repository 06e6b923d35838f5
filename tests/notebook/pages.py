"""Mistakes that pages outside of GitHub ask about or explain: forums, copies of Stack Overflow, blogs; as ``forum``."""
from __future__ import annotations

from .forum import DATA, NET, Asked

PAGES = [
    Asked("https://discuss.pytorch.org/t/when-inplace-operation-are-allowed-and-when-not/169583/3",
          "t = torch.arange(3., requires_grad=True)\nu = 2 * t\nuexp = u.exp()\nloss = uexp.sum()\nuexp[0] = 666\n"
          "loss.backward()", "written in place after ExpBackward0"),
    Asked("https://discuss.pytorch.org/t/leaf-variable-was-used-in-an-inplace-operation/308/2",
          "x = torch.tensor([1., 2., 3.], requires_grad=True)\nx += 1", "leaf", "torch.no_grad()"),
    Asked("https://discuss.pytorch.org/t/inplace-operation-changes-is-leaf-attribute/120297",
          "c = torch.randn(4, 3, requires_grad=True)\ntorch.add(c, 1, out=c)", "out"),
    Asked("https://whosebug.com/question/2969424/How-to-use-groups-parameter-in-PyTorch-conv2d-function",
          "filters, inputs = torch.randn(1, 1, 3, 3), torch.randn(1, 3, 10, 10)\nF.conv2d(inputs, filters, padding=1)",
          "channels"),
    Asked("https://whosebug.com/question/2969424/How-to-use-groups-parameter-in-PyTorch-conv2d-function#2",
          "filters, inputs = torch.randn(1, 1, 3, 3), torch.randn(1, 3, 10, 10)\n"
          "F.conv2d(inputs, filters, padding=1, groups=3)", "3 groups need 3 kernels", "filters.repeat(3, 1, 1, 1)"),
    Asked("https://geek-docs.com/pytorch/pytorch-questions/21_pytorch_runtimeerror_expected_4dimensional_input_for_"
          "4dimensional_weight_32_3_3_but_got_3dimensional_input_of_size_instead.html",
          "conv = nn.Conv2d(1, 8, 3)\nimage = torch.rand(28, 28)\nconv(image)",
          "channels must be there", "image[None]"),
    Asked("https://isolution.pro/pl/q/so70246575/funkcja-wsteczna-w-pytorch",
          "a = torch.tensor([[1., 2, 3], [4, 5, 6]], requires_grad=True)\nout = a * a\nout.backward()", "one number",
          "out.sum()"),
    Asked("https://duoke360.com/post/34428",
          "bn = nn.BatchNorm1d(4)\nx = torch.rand(1, 4)\nbn(x)", "one", "bn.eval()"),
    Asked("https://duoke360.com/post/34744",
          "rnn = nn.RNN(10, 20)\nx = torch.rand(2, 5, 3, 10)\nrnn(x)", "steps, samples, features"),
    Asked("https://duoke360.com/post/35002", "a, b = torch.randn(3, 2), torch.randn(3, 39)\na * b", "39"),
    Asked("https://duoke360.com/post/34409",
          "output, target = torch.rand(10, 133), torch.randint(0, 133, (10,)).float()\nF.mse_loss(output, target)",
          "class numbers", "F.cross_entropy(output, target.long())"),
    Asked("https://duoke360.com/post/34087", "x = torch.rand(3, requires_grad=True)\nx_np = x.numpy()", "grad",
          "x.detach()"),
    Asked("https://duoke360.com/post/35061",
          "model = nn.Linear(1, 1)\nfor p in model.parameters(): p.requires_grad = False\nout = model(torch.ones(1))\n"
          "out.backward()", "grad", "requires_grad_()"),
    Asked("https://deepinout.com/pytorch/pytorch-questions/75_pytorch_runtime_error_element_0_of_tensors_does_not_"
          "require_grad_and_does_not_have_a_grad_fn.html",
          "x = torch.tensor([1.], requires_grad=True)\ny = torch.sin(x)\nz = y.item()\nz.backward()", "item"),
    Asked("https://geek-docs.com/pytorch/pytorch-questions/340_pytorch_pytorch_embedding_index_out_of_range.html",
          "embedding = nn.Embedding(100, 10)\ninput_indexes = torch.tensor([1, 50, 101, 20])\n"
          "embedding(input_indexes)", "there are 100"),
    Asked("https://androidkt.com/fix-runtimeerror-mat1-and-mat2-shapes-cannot-be-multiplied/",
          "conv = nn.Sequential(nn.Conv2d(1, 32, 5, 1, 2), nn.MaxPool2d(4))\nout = nn.Linear(1050, 10)\n"
          "x = conv(torch.rand(2, 1, 28, 28))\nx = x.view(x.size(0), -1)\nout(x)", "1568", "nn.Linear(1568, 10)"),
    Asked("https://taourl.com/read-2459457.html",
          "emb = nn.Embedding(10, 4)\ninput_ids = [3, 9]\nemb(input_ids)", "list", "torch.tensor(input_ids)"),
    Asked("https://taourl.com/read-2437117.html",
          "output, target = torch.randn(3, 5), torch.tensor([1, 3, 0])\nloss_fn = nn.CrossEntropyLoss\n"
          "loss = loss_fn(output, target)\nloss.backward()", "made with tensors", "loss_fn()(output, target)"),
    Asked("https://taourl.com/read-2213901.html",
          "x = torch.tensor([1.], requires_grad=True)\ny = x * 2\nz = y.sum\nz.backward()",
          "a method that was not called", "y.sum()"),
    Asked("https://leyaa.ai/codefly/learn/pytorch/qna/how-to-fix-state-dict-key-mismatch-in-pytorch",
          "model, changed_model = nn.Linear(10, 5), nn.Linear(10, 6)\n"
          "changed_model.load_state_dict(model.state_dict())",
          "2 of other shapes"),
    Asked("https://theneuralbase.pages.dev/pytorch/errors/runtimeerror-missing-keys-loading-state-dict-pytorch/",
          f"{NET}checkpoint = {{'fc.weight': torch.rand(2, 4), 'fc.bias': torch.rand(2)}}\n"
          "net.load_state_dict(checkpoint)", "2 missing, 2 unexpected"),
    Asked("https://deadends.dev/pytorch/state-dict-key-mismatch/torch2-linux",
          f"{NET}saved = {{f'module.{{k}}': v for k, v in net.state_dict().items()}}\nnet.load_state_dict(saved)",
          "module."),
    Asked("https://pythonjishu.com/pytorch-error-65",
          "a, b = torch.arange(6).view(2, 3), torch.rand(3, 2)\ntorch.matmul(a, b)",
          "do not multiply as matrices", "a.to(b.dtype)"),
    Asked("https://openillumi.com/en/en-pytorch-float-long-cast-error-fix",
          "y = torch.tensor([1, 0, 1])\npred = torch.rand(3)\ny -= pred", "int64", "y.to(torch.float32)"),
    Asked("https://www.codegenes.net/blog/pytorch-bceloss-got-torchfloattensor-but-expected-torchlongtensor-other",
          "predictions = torch.rand(10)\ntargets = torch.randint(0, 2, (10,))\nnn.BCELoss()(predictions, targets)",
          "must be float32", "targets.to(predictions.dtype)"),
    Asked("https://php.xlycwl.com/faq/1652446.html",
          "criterion = nn.CrossEntropyLoss()\noutput, y = torch.rand(3, 2), torch.tensor([0., 1., 1.])\n"
          "criterion(output, y)", "class numbers must be int64", "y.long()"),
    Asked("https://defstartup.org/value-error-only-one-element-tensors-can-be-converted-to-python-scalars/",
          "x = torch.tensor([1., 2., 3.])\nfloat(x)", "3", "x.mean()"),
    Asked("https://duoke360.com/post/35117",
          "import math\nx = torch.tensor([4., 9.])\nmath.sqrt(x)", "math.sqrt takes one number", "torch.sqrt(x)"),
    Asked("https://duoke360.com/post/38247", "jagged_list = [[1, 2], [3, 4, 5], [6]]\ntorch.tensor(jagged_list)",
          "length"),
    Asked("https://runebook.dev/en/docs/pytorch/data/torch.utils.data.default_convert",
          f"{DATA}items = [torch.rand(3, 24, 24), torch.rand(3, 20, 20)]\n"
          "loader = torch.utils.data.DataLoader(Data(items), batch_size=2)\nfor batch in loader: pass", "shape"),
    Asked("https://runebook.dev/en/articles/pytorch/data/torch.utils.data._utils.collate.collate",
          f"{DATA}class Sample: pass\nitems = [Sample(), Sample()]\n"
          "loader = torch.utils.data.DataLoader(Data(items), batch_size=2)\nfor batch in loader: pass", "Sample"),
    Asked("https://runebook.dev/cn/docs/pytorch/generated/torch.nn.modulelist",
          "linears = nn.ModuleList([nn.Linear(10, 20), nn.Linear(20, 5)])\nx = torch.rand(3, 10)\nlinears(x)",
          "ModuleList"),
    Asked("https://www.iiask.com/34l56401.html",
          "class Faulty(nn.Module):\n    def forward(self, x1, x2): return x1 * 2 + x2\nmodel = Faulty()\n"
          "model(torch.ones(2))", "x2"),
    Asked("https://www.engineermaxxing.com/micro/lessons/pytorch-internals.html",
          "class MyModel(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
          "        self.layers = [nn.Linear(64, 32), nn.Linear(32, 10)]\nmodel = MyModel()\n"
          "optim.SGD(model.parameters(), lr=0.1)", "list"),
    Asked("https://runebook.dev/zh/docs/pytorch/generated/torch.optim.optimizer.state_dict",
          "model = nn.Linear(3, 2)\na = optim.SGD(model.parameters(), lr=0.1)\n"
          "b = optim.SGD([model.weight], lr=0.1)\nb.load_state_dict(a.state_dict())", "other parameters"),
    Asked("https://liu-nlp.ai/tdde09/blog/posts/2024-01-19/index.html",
          "x = torch.randn(2, 3, 2).permute(0, 2, 1)\nx.view(-1)", "equal steps", "x.reshape(12)"),
    Asked("https://fatal001.com/python/39580924164853287208.html",
          "out = torch.rand(3)\nprint(out.g)", "no"),
    Asked("https://www.codetd.com/en/article/15951456",
          "x = torch.tensor([1., 2., 3., 4.], requires_grad=True)\nx = x.view(2, 2)\nout = x.sum()\nout.backward()\n"
          "x.grad.zero_()", "leaf", "retain_grad()"),
    Asked("http://pullrequest.ru/14845594/batchnorm2d-pytorch-zachem-peredavat-kolichestvo-kanalov-batchnorm",
          "batch_norm = nn.BatchNorm2d(10)\nx = torch.rand(4, 3, 8, 8)\nbatch_norm(x)", "10", "nn.BatchNorm2d(3)"),
    Asked("https://bbsmap.com/lvatrayhykbzkhe", "x = torch.rand(3, 3)\nx[3]", "3"),
    Asked("https://twelvescompany.co.uk/post/error-message-like-runtime-error-one-of-the-variables",
          "model = nn.Linear(10, 1)\nmodel(torch.rand(1, 10)).sum().backward()\nwith torch.no_grad():\n"
          "    model.weight = 0.1 * model.weight.grad", "Parameter"),
    Asked("https://learn.biosrag.com/ai/rnn-training-4.html",
          "rnn, h = nn.RNN(3, 4), torch.zeros(1, 2, 4)\nfor _ in range(2):\n    y, h = rnn(torch.rand(5, 2, 3), h)\n"
          "    y.sum().backward()", "h", "detach()"),
    Asked("https://scientyficworld.org/fix-hidden-layer-shape-mismatches-in-pytorch/",
          "fc = nn.Linear(10, 16)\nx = torch.randn(8, 12)\nfc(x)", "12", "nn.Linear(12, 16)"),
    Asked("https://typeerror.org/docs/pytorch/generated/torch.nn.utils.rnn.pack_padded_sequence",
          "x, lengths = torch.rand(2, 5, 3), torch.tensor([3, 5])\n"
          "nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)", "sorted", "enforce_sorted=False"),
    Asked("https://pytorch.cadn.net.cn/docs_en/2.0/notes.extending.func.html",
          "class Square(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
          "        ctx.save_for_backward(x)\n        return x * x\n    @staticmethod\n    def backward(ctx, g):\n"
          "        return 2 * ctx.saved_tensors[0] * g\ntorch.func.grad(Square.apply)(torch.tensor(3.))",
          "setup_context"),
]
