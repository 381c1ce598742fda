"""`batched-indexing`: data that lies in memory is indexed once per batch instead of once per sample."""

from typing import TYPE_CHECKING

from pitstop.messages import Text, say
from pitstop.records import CannotApply, LoaderSighting, Numerics, Proposal
from pitstop.treat.ceiling import amdahl
from pitstop.treat.contract import CannotEdit, View
from pitstop.treat.roles import training_loaders

if TYPE_CHECKING:
    from pitstop.treat.edit import Draft

__all__ = ["BatchedIndexing"]

_TENSORS = "torch.utils.data.dataset.TensorDataset"
_LOADER = "torch.utils.data.dataloader.DataLoader"


class BatchedIndexing:
    """`sampler=BatchSampler(...)` and `batch_size=None` where a sample is nothing but rows of tensors or arrays."""

    name = "batched-indexing"
    layer = "data"
    title = Text(en="Whole batches indexed at once", zh="按批次一次性索引")
    explanation = Text(
        en="The dataset holds tensors or arrays in memory, and the DataLoader takes them apart sample by sample only to put them together "
        "again. With batch_size=None and a sampler of batches the dataset is asked once per batch, with all its rows. Order, random streams "
        "and values are the same to the bit. The loader's own `batch_size` is then None.",
        zh="数据集是内存中的张量或数组，DataLoader 却逐个样本取出再重新拼接。"
        "设 batch_size=None 并使用按批次的采样器后，每个批次只向数据集索引一次，一次取出全部行。"
        "顺序、随机数流和数值逐位相同。此后加载器自身的 `batch_size` 为 None。",
    )

    def propose(self, view: View) -> tuple[Proposal, ...] | CannotApply:
        """One proposal, where a training loader of torch's own class collates what may be plain rows."""
        loaders = training_loaders(view)
        if not loaders:
            return CannotApply(treatment=self.name, reason=say("treat.no_loader"))
        if not any(map(_may_be_indexed, loaders)):
            return CannotApply(treatment=self.name, reason=say("treat.not_in_memory", dataset=loaders[0].dataset_class))
        return (
            Proposal(
                name=self.name,
                treatment=self.name,
                setting={"batch_size": False},
                numerics=Numerics.EXACT,
                ceiling=amdahl(view.ledger, "data_wait"),
                group=self.name,
            ),
        )

    def edit(self, draft: "Draft", view: View, proposal: Proposal) -> None:  # noqa: ARG002  one setting only
        """Rewrite the call of each training loader that can be; raises CannotEdit where none can."""
        from pitstop.treat.edit.batched import index_by_batch  # noqa: PLC0415  libcst is imported when an edit is made

        reasons, done = [], 0
        for loader in filter(_may_be_indexed, training_loaders(view)):
            try:
                _check_dataset(view, loader)
                index_by_batch(draft, view, loader)
                done += 1
            except CannotEdit as error:
                reasons.append(error)
        if not done:
            raise reasons[0] if reasons else CannotEdit("no_loader")


def _may_be_indexed(loader: LoaderSighting) -> bool:
    own_file = not loader.dataset_class.startswith("torch.") or loader.dataset_class == _TENSORS
    return loader.loader_class == _LOADER and not loader.iterable and bool(loader.stack) and own_file


def _check_dataset(view: View, loader: LoaderSighting) -> None:
    """All loaders that are made by this call must have datasets that take many rows at once."""
    from pitstop.treat.edit.plain_rows import takes_many_rows  # noqa: PLC0415  libcst is imported when an edit is made

    place = loader.stack[-1]
    for other in view.evidence.loaders:
        if not other.stack or (other.stack[-1].path, other.stack[-1].line) != (place.path, place.line):
            continue
        if other.dataset_class != _TENSORS and not takes_many_rows(view, other.dataset_class):
            raise CannotEdit("not_in_memory", dataset=other.dataset_class)
