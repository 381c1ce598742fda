import torch
from torch import nn


class Pix2Pix:
    """Methods pass everything through self."""

    def __init__(self):
        self.netG = nn.Conv2d(1, 1, 3, padding=1)
        self.netD = nn.Conv2d(2, 1, 3)
        self.criterion = nn.MSELoss()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=2e-4)
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=2e-4)

    def forward(self):
        self.fake_B = self.netG(self.real_A)

    def backward_D(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1).detach())
        self.loss_D_fake = self.criterion(pred_fake, torch.zeros_like(pred_fake))
        pred_real = self.netD(torch.cat((self.real_A, self.real_B), 1))
        self.loss_D_real = self.criterion(pred_real, torch.ones_like(pred_real))
        # combine loss and calculate gradients
        self.loss_D = (self.loss_D_fake + self.loss_D_real) * 0.5
        self.loss_D.backward()

    def backward_G(self):
        pred_fake = self.netD(torch.cat((self.real_A, self.fake_B), 1))
        self.loss_G = self.criterion(pred_fake, torch.ones_like(pred_fake))
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()                   # compute fake images: G(A)
        self.optimizer_D.zero_grad()     # set D's gradients to zero
        self.backward_D()                # calculate gradients for D
        self.optimizer_D.step()          # update D's weights
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


if __name__ == '__main__':
    model = Pix2Pix()
    for _ in range(2):
        model.real_A, model.real_B = torch.rand(2, 1, 8, 8), torch.rand(2, 1, 8, 8)
        model.optimize_parameters()
