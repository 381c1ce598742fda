"""Two optimizers, as in a GAN: the critic is updated three times for each update of the generator."""

import torch
from digits import loader, network

torch.manual_seed(0)
generator = torch.nn.Sequential(torch.nn.Linear(8, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
critic = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
of_generator = torch.optim.RMSprop(generator.parameters(), lr=1e-4)
of_critic = torch.optim.RMSprop(critic.parameters(), lr=1e-4)
for epoch in range(4):
    for index, (images, _labels) in enumerate(loader(many=240)):
        noise = torch.randn(len(images), 8)
        with torch.no_grad():
            made = generator(noise)
        weight = torch.rand(len(images), 1)
        between = (weight * images + (1 - weight) * made).requires_grad_()
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
        of_critic.zero_grad()
        (critic(made).mean() - critic(images).mean() + 10 * penalty).backward()
        of_critic.step()
        if index % 3 == 2:
            of_generator.zero_grad()
            (-critic(generator(noise)).mean()).backward()
            of_generator.step()
print("done")
