"""Records of networks on disk."""

import dataclasses

import numpy as np
import pytest
from test_network_record import alone, same

from sluicegate import network
from sluicegate.errors import SluiceError
from sluicegate.record import Record
from sluicegate.worlds.network.record import NetworkRecord

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]


def test_a_record_read_from_disk_is_the_same(tmp_path):
    record = network.simulate(alone())
    record.write(tmp_path / "it.zip")
    back = NetworkRecord.read(tmp_path / "it.zip")
    assert same(record, back)
    assert back.measures == record.measures
    assert [port.name for port in back.ports] == ["left -> right", "right -> left"]
    for port, again in zip(record.ports, back.ports, strict=True):
        assert port.whole == again.whole
        np.testing.assert_array_equal(port.samples, again.samples)
        np.testing.assert_array_equal(port.queue_distribution, again.queue_distribution)
        np.testing.assert_array_equal(port.response_times_s(20), again.response_times_s(20))


def test_a_record_of_another_version_or_world_is_told(tmp_path):
    path, record = tmp_path / "it.zip", network.simulate(alone())
    # as one of before the links had names: a part is missing, and another one is more
    old = dataclasses.replace(record, run=record.run | {"version": "0.0.1"})
    summary = old.summary()
    for changed in ({"ports": [{}]}, {"medium": "copper"}):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(NetworkRecord, "summary", lambda _, own=changed: summary | own)
            old.write(path)
        with pytest.raises(SluiceError, match=r"it\.zip is no NetworkRecord of .*version 0\.0\.1"):
            NetworkRecord.read(path)
    record.write(path)
    with pytest.raises(SluiceError, match=r"is no Record of .*: it is of world = network"):
        Record.read(path)
