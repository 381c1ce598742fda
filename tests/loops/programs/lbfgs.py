"""L-BFGS: the optimizer calls the closure as often as its line search wants."""

import torch
from digits import loader, network

torch.manual_seed(0)
model = network()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

for epoch in range(3):
    for images, labels in loader(batch=64, shuffle=True):

        def closure():
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
print(f"loss {loss.item():.4f}")
