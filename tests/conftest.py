from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_store(tmp_path_factory, monkeypatch):
    """Every test starts with an empty store of runs, and none touches the user's."""
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path_factory.mktemp("runs")))


@pytest.fixture(scope="session")
def root():
    """The folder of the repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def gateway(root):
    """The capture that comes with the repository."""
    return root / "captures" / "gateway.pcap"
