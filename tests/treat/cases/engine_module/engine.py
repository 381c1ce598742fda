from torch import no_grad


def train_one_epoch(model, criterion, optimizer, loader):
    model.train()
    for image, target in loader:
        output = model(image)
        loss = criterion(output, target)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluate(model, criterion, loader):
    model.eval()
    with no_grad():
        return sum(criterion(model(image), target).item() for image, target in loader)
