"""The doctor's list of models is what the book's table of models says."""

from bookkit import doctor_models
from bookkit.models import read_models, rotated_layers
from rope_doctor import known_models
from rope_doctor.families import named_rotation


def test_the_data_file_is_up_to_date():
    stored = doctor_models.FILE.read_text(encoding="utf-8")
    assert stored == doctor_models.text(), "run: python -m bookkit.doctor_models"


def test_every_model_that_rotates_by_a_rule_is_in_it():
    names = {name.split(",")[0] for name in known_models()}
    for model in read_models():
        groups = [group for group in rotated_layers(model) if not group.get("learned")]
        assert (model["name"] in names) == bool(groups), model["name"]


def test_kinds_of_layers_and_latent_attention():
    assert known_models()["Gemma 3-27B, with a window"].settings.base == 1e4
    assert known_models()["Gemma 3-27B, without a window"].settings.kind == "linear"
    deepseek = named_rotation("deepseek-v3.2")
    assert deepseek.latent
    assert round(deepseek.settings.score_factor, 4) == 1.8739
