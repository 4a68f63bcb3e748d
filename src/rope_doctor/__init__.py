"""Why does my RoPE not match? Examine any function that rotates, and say what it does."""

from rope_doctor.configuration import read_config as read_config
from rope_doctor.examination import examine as examine
from rope_doctor.families import FAMILIES as FAMILIES
from rope_doctor.families import known_models as known_models
from rope_doctor.report import Report as Report
