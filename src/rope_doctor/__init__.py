"""Why does my RoPE not match? Examine any function that rotates, and say what it does."""

from rope_doctor.families import FAMILIES as FAMILIES
from rope_doctor.report import Report as Report
from rope_doctor.report import examine as examine
