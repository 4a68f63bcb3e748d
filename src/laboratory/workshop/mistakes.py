"""The mistakes that the workshop's checks know by name, as small changes of the solution.

Readers get none of this, only the numbers that each mistake returns (`signatures`).
"""

from laboratory.workshop import of_attention, of_blocks, of_models, of_readers
from laboratory.workshop.changing import Mistake

ALL: list[Mistake] = (
    of_attention.MISTAKES + of_blocks.MISTAKES + of_models.MISTAKES + of_readers.MISTAKES
)
