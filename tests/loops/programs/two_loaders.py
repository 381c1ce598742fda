"""Semi-supervised: a labelled and an unlabelled loader side by side, a teacher without gradients, and a validation loader."""

import torch
from digits import loader, network

torch.manual_seed(0)
student, teacher = network(), network()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
labelled, unlabelled, validation = loader(), loader(many=640, batch=32), loader(many=128)
for epoch in range(2):
    student.train()
    for (images, labels), (more, _) in zip(labelled, unlabelled):
        with torch.no_grad():
            wanted = teacher(more).softmax(1)
        loss = torch.nn.functional.cross_entropy(student(images), labels)
        loss = loss + torch.nn.functional.cross_entropy(student(more), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    student.eval()
    correct = sum(int((student(images).argmax(1) == labels).sum()) for images, labels in validation)
    print(f"epoch {epoch} correct {correct}")
