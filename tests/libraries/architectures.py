"""``python -m tests.libraries.architectures [name ...]``: train and decode models of transformers, and take their time.

Each architecture has a small configuration and random weights. A process of its own, on mindtorch and then on PyTorch,
runs a forward pass with its loss, a backward pass, ten steps of AdamW, and greedy decoding where the model has it. The
table shows whether what they print is equal to 1e-4, and the processor time of the steps and of the decoding: the least
of several in each of three processes, which take turns.
"""
from __future__ import annotations

import re
import sys

from tests.benchmarks.alone import leave_out_pins

from .run import difference, printed

#: A model with its configuration, its inputs (with labels), and what decoding starts from.
ARCHITECTURES = {
    "BERT": ("BertForSequenceClassification(BertConfig(vocab_size=200, hidden_size=64, num_hidden_layers=2,"
             "num_labels=3, num_attention_heads=4, intermediate_size=128, hidden_dropout_prob=0.,"
             "attention_probs_dropout_prob=0.))",
             "dict(input_ids=ids(4, 32), labels=torch.arange(4) % 3)", None),
    "GPT-2": ("GPT2LMHeadModel(GPT2Config(vocab_size=200, n_embd=64, n_layer=2, n_head=4, n_positions=64,"
              "attn_pdrop=0., resid_pdrop=0., embd_pdrop=0., bos_token_id=0, eos_token_id=1))",
              "dict(input_ids=(x := ids(4, 32)), labels=x)", "ids(2, 8)"),
    "Llama": ("LlamaForCausalLM(LlamaConfig(vocab_size=200, hidden_size=64, intermediate_size=128, num_hidden_layers=2,"
              "num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64))",
              "dict(input_ids=(x := ids(4, 32)), labels=x)", "ids(2, 8)"),
    "T5": ("T5ForConditionalGeneration(T5Config(vocab_size=200, d_model=64, d_kv=16, d_ff=128, num_layers=2,"
           "num_heads=4, dropout_rate=0., decoder_start_token_id=0))",
           "dict(input_ids=ids(4, 32), labels=ids(4, 16))", "ids(2, 8)"),
    "ViT": ("ViTForImageClassification(ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,"
            "intermediate_size=128, image_size=32, patch_size=8, num_labels=3))",
            "dict(pixel_values=torch.randn(4, 3, 32, 32), labels=torch.arange(4) % 3)", None),
    "Whisper": ("WhisperForConditionalGeneration(WhisperConfig(vocab_size=200, d_model=64, encoder_layers=2,"
                "decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128,"
                "decoder_ffn_dim=128, num_mel_bins=16, max_source_positions=32, max_target_positions=32,"
                "pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))",
                "dict(input_features=torch.randn(4, 16, 64), labels=ids(4, 16))", "torch.randn(2, 16, 64)"),
    "Mamba": ("MambaForCausalLM(MambaConfig(vocab_size=200, hidden_size=32, state_size=8, num_hidden_layers=2))",
              "dict(input_ids=(x := ids(4, 16)), labels=x)", "ids(2, 8)"),
    "CLIP": ("CLIPModel(CLIPConfig(projection_dim=32, text_config=dict(vocab_size=200, hidden_size=64,"
             "intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16),"
             "vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,"
             "image_size=32, patch_size=8)))",
             "dict(input_ids=ids(4, 16), pixel_values=torch.randn(4, 3, 32, 32), return_loss=True)", None),
}
ROUNDS = 3
PROGRAM = """
import time
from transformers import {names}
def ids(*shape):
    return torch.randint(3, 200, shape)
def train(steps):
    for step in range(steps):
        loss = model(**inputs).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
model = {model}
inputs = {inputs}
losses, times = [], []
out = model(**inputs)
out.loss.backward()
print(out.loss.item(), sum(p.grad.square().sum().item() for p in model.parameters() if p.grad is not None) ** .5)
model.zero_grad()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
train(10)
print(*losses)
for repeat in range(5):
    start = time.process_time()
    train(10)
    times.append(time.process_time() - start)
took = [min(times)]
model.eval()
if {prompt} is not None:
    prompt, times = {prompt}, []
    for repeat in range(9):
        start = time.process_time()
        tokens = model.generate(prompt, max_new_tokens=12, do_sample=False, pad_token_id=0)
        times.append(time.process_time() - start)
    print(tokens.tolist())
    took.append(min(times))
print("time", *took)
"""


def measured(name: str) -> tuple[str, list[tuple[float, float]]]:
    """Return how an architecture differs ('' if it does not), and pairs of seconds on mindtorch and on PyTorch."""
    model, inputs, prompt = ARCHITECTURES[name]
    names = ", ".join(re.findall(r"\b[A-Z]\w+(?=\()", model))
    program = PROGRAM
    for hole, filling in (("names", names), ("model", model), ("inputs", inputs), ("prompt", str(prompt))):
        program = program.replace(f"{{{hole}}}", filling)
    outputs: dict[bool, str] = {}
    times: dict[bool, list[list[float]]] = {True: [], False: []}
    for _ in range(ROUNDS):
        for on_mindtorch in (True, False):
            ran, said = printed(program, on_mindtorch)
            if not ran:
                return said, []
            outputs[on_mindtorch], _, took = said.rpartition("time ")
            times[on_mindtorch].append([float(seconds) for seconds in took.split()])
    least = [[min(rounds) for rounds in zip(*times[on_mindtorch], strict=True)] for on_mindtorch in (True, False)]
    return difference(outputs[True], outputs[False]), [*zip(*least, strict=True)]


if __name__ == "__main__":
    leave_out_pins("tests.libraries.architectures")
    for name in [name for name in ARCHITECTURES if name in sys.argv[1:] or not sys.argv[1:]]:
        said, pairs = measured(name)
        shown = ", ".join(f"{what} {ours:.3f} s for {theirs:.3f} s ({ours / theirs:.2f})"
                          for what, (ours, theirs) in zip(("ten steps", "decoding"), pairs, strict=False))
        print(f"{name:8} {said or 'equal'}: {shown}", flush=True)
