from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from edgeevo.models import load_card, locate
from edgeevo.sandbox import open_sandbox

# the same examples on every machine, however busy it is
settings.register_profile("edgeevo", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("edgeevo")

ROOT = Path(__file__).resolve().parents[1]
CARD = ROOT / "models/smollm2-135m-instruct.toml"


@pytest.fixture(scope="session")
def sandbox():
    """One real sandbox for all tests that need one."""
    with open_sandbox() as opened:
        yield opened


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The default model's verified file, from EDGEEVO_MODELS or the checkout's cache."""
    return locate(load_card(CARD), Path(os.environ.get("EDGEEVO_MODELS", ROOT / ".cache/models")))


@pytest.fixture(scope="session")
def weights_dir(model_path: Path) -> Path:
    """The default model's trainable weights, made once beside the model file."""
    from edgeevo.models.weights import trainable_weights

    return trainable_weights(model_path, model_path.parent.parent / "weights")
