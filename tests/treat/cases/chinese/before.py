# 训练一个小模型
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class 网络(nn.Module):
    def __init__(self):
        super().__init__()
        self.全连接 = nn.Linear(4, 2)

    def forward(self, 输入):
        return self.全连接(输入)


def 训练():
    数据 = TensorDataset(torch.randn(16, 4), torch.randint(2, (16,)))
    名称, 加载器 = "训练集", DataLoader(数据, batch_size=4, shuffle=True)  # 每轮打乱
    模型 = 网络()
    说明, 优化器 = "自适应", torch.optim.Adam(模型.parameters(), lr=0.01)
    for 输入, 标签 in 加载器:
        优化器.zero_grad()
        # 前向
        输出 = 模型(输入)
        损失 = nn.functional.cross_entropy(输出, 标签)
        损失.backward()
        优化器.step()
    print(名称, 说明, 损失.item())


if __name__ == "__main__":
    训练()
