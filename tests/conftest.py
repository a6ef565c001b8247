"""What several test files share."""

import os
import signal
from pathlib import Path

# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C: some test it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two test processes on two cores: threads of their own would only wait for each other.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Whichever models somebody has on their machine, tests see none, and fetch none.
for name in ("HF_HUB_CACHE", "FASTEMBED_CACHE_PATH", "BELA_MODELS"):
    os.environ[name] = str(Path(__file__).parent / "no-models")
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_digits, make_blobs

settings.register_profile("bela", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("bela")


@pytest.fixture(scope="session", autouse=True)
def config_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tests say yes to is theirs alone, and the same for whatever they start."""
    os.environ["BELA_CONFIG"] = str(tmp_path_factory.mktemp("config"))


@pytest.fixture(autouse=True)
def same_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Campaigns with a helper draw by chance: let it be the same in every test."""
    monkeypatch.setattr("bela.campaign._helping._chance", lambda: 7)


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three well-separated clusters of 400 rows."""
    return make_blobs(400, centers=[(0, 0), (8, 0), (0, 8)], cluster_std=1.0, random_state=0)


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """The digits that scikit-learn ships."""
    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with MNIST and Fashion-MNIST."""
    folder = os.environ.get("BELA_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("BELA_DATA does not name a folder with the datasets")
    return Path(folder)
