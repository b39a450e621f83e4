"""A training step from PyTorch as one program: forward, loss, backward and update on the emulated chip.

Run it with `.venv/bin/python examples/04_torch_training.py`; it needs the extra `mnc[torch]`.
"""

import numpy as np
import torch

import mnc
import mnc.torch

torch.manual_seed(0)
module = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
loss = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
images, labels = torch.rand(32, 16), torch.randint(0, 4, (32,))

step = mnc.torch.export_train_step(module, loss, optimizer, (images, labels))
print(f"{len(step.model.graph.node)} nodes; {step.proof.summary()}")
print(f"inputs {', '.join(step.inputs)}")

program = mnc.compile(step.model, mnc.Options(precision="single"))
values, found, expected = dict(step.initial), [], []
for _ in range(3):
    results = program.run({"input": images.numpy(), "labels": labels.numpy(), **values})
    values = {name: results[output] for name, output in step.updates.items()}
    found.append(float(results[step.loss]))
    optimizer.zero_grad()
    reference = loss(module(images), labels)
    reference.backward()
    optimizer.step()
    expected.append(float(reference.detach()))

print("chip: ", *(f"{value:.6f}" for value in found))
print("torch:", *(f"{value:.6f}" for value in expected))
weights = max(np.abs(values[name] - value.detach().numpy()).max() for name, value in module.named_parameters())
print(f"largest difference of a weight {weights:.2g}")
assert np.allclose(found, expected, rtol=1e-5) and weights < 1e-5
