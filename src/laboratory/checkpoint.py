"""A training that was interrupted goes on from its checkpoint, with as many processes as you like.

A checkpoint holds the weights, the optimizer's state, the state of the generator that draws the
batches, the rows of the record so far, and the settings of the training. Only the first process
reads and writes it.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import torch

from bookkit.records import Row
from laboratory.processes import Processes, differences
from one_file.llama import Model

State = dict[str, Any]


class Training(NamedTuple):
    """Everything that changes while a model is trained, apart from the number of the step."""

    model: Model
    optimizer: torch.optim.Optimizer
    draw: torch.Generator
    rows: list[Row]  # of its record

    def state(self) -> State:
        """What a checkpoint holds of it."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "draw": self.draw.get_state(),
            "rows": self.rows,
        }

    def restore(self, state: State) -> None:
        """Go back to what a checkpoint holds."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.draw.set_state(state["draw"])
        self.rows[:] = state["rows"]


class Checkpoints(NamedTuple):
    """The checkpoint of one training: its file, the settings, and who takes part."""

    file: Path
    settings: dict[str, Any]
    processes: Processes

    def write(self, step: int, training: Training) -> None:
        """Replace the checkpoint; whoever breaks off here leaves the old one or the new one."""
        if not self.processes.first:
            return
        content = {"step": step, "settings": self.settings, **training.state()}
        unfinished = self.file.with_suffix(".unfinished")
        with unfinished.open("wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.file)

    def read(self, *, resume: bool) -> State | None:
        """The checkpoint to go on from, on all processes; None for a training that begins."""
        content = None
        problem = None
        if self.processes.first:
            content, problem = self._read_here(resume)
        content, problem = self.processes.from_first((content, problem))
        if problem is not None:
            self.processes.refuse(problem)
        found: State | None = content
        return found

    def _read_here(self, resume: bool) -> tuple[State | None, str | None]:
        """The checkpoint, or what is wrong with it."""
        exists = self.file.exists()
        if not exists and not resume:
            return None, None
        if not exists:
            return None, f"{self.file} does not exist; leave out --resume to begin a training"
        if not resume:
            return None, (
                f"{self.file} is the checkpoint of a training that was interrupted; continue it "
                "with --resume, or delete the file to begin again"
            )
        content: State = torch.load(self.file, map_location="cpu", weights_only=True)
        found = differences(content["settings"], self.settings)
        if found:
            return None, (
                f"{self.file} belongs to a training with other settings (first its own, then "
                f"those of this command): {found}"
            )
        return content, None

    def remove(self) -> None:
        """Delete the checkpoint of a training that is complete."""
        if self.processes.first:
            self.file.unlink(missing_ok=True)
