"""torch.func: per-sample gradients of a functional call, and an update by hand."""

import torch
from digits import loader, network
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = network()
weights = {name: parameter.detach() for name, parameter in model.named_parameters()}


def loss_of(weights, image, label):
    return torch.nn.functional.cross_entropy(functional_call(model, weights, image[None]), label[None])


per_sample = vmap(grad(loss_of), in_dims=(None, 0, 0))
for epoch in range(2):
    for images, labels in loader(shuffle=True):
        gradients = per_sample(weights, images, labels)
        weights = {name: weight - 0.1 * gradients[name].mean(0) for name, weight in weights.items()}
    print(f"epoch {epoch} norm {float(sum(weight.norm() for weight in weights.values())):.2f}")
