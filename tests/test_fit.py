import gzip
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from sluicegate.cli import main
from sluicegate.errors import SluiceError
from sluicegate.traffic import Capture, Modulator, TrafficFit, fit_capture
from sluicegate.traffic.plots import fit_figures

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).parent.parent / "captures" / "gateway.pcap"


def capture_at(times_s: np.ndarray) -> Capture:
    """Return a capture of 100-byte UDP packets at the given times."""
    n = times_s.size
    return Capture(
        path=Path("made.pcap"),
        time_ns=np.rint((times_s - times_s[0]) * 1e9).astype(np.uint64),
        bytes=np.full(n, 100, np.uint32),
        flow=np.ones(n, np.uint32),
        protocol=np.full(n, 17, np.uint8),
        ecn_capable=np.zeros(n, np.bool_),
        opens=np.zeros(n, np.bool_),
        not_ip=0,
        link_types=("raw IP",),
    )


@pytest.fixture(scope="module")
def shipped() -> TrafficFit:
    return fit_capture(Capture.read(SHIPPED))


@pytest.fixture(scope="module")
def poisson() -> TrafficFit:
    rng = np.random.default_rng(11)
    return fit_capture(capture_at(np.cumsum(rng.exponential(0.01, size=10_000))))


def test_the_shipped_capture_is_self_similar_and_the_modulator_imitates_it(
    shipped: TrafficFit,
) -> None:
    for estimate in (shipped.variance_time, shipped.rescaled_range, shipped.wavelet):
        assert estimate.low > 0.5
    assert shipped.interarrival_scv > 2
    assert (np.diff(shipped.idc) > 0).all()
    source = shipped.source
    assert source is not None
    assert source.modulator.mean / source.slot_s == pytest.approx(
        shipped.counts.mean() / shipped.bin_s
    )
    shortest, longest = source.scales_s[[0, -1]] / source.slot_s
    assert source.modulator.local_hurst(shortest, longest) == pytest.approx(
        shipped.variance_time.hurst, abs=1e-6
    )
    assert source.deviation_factor < 1.5
    assert source.scales_within >= 0.75 * source.scales_s.size
    assert shipped.variance_time.low <= source.simulated_hurst.hurst <= shipped.variance_time.high


def test_figures_of_poisson_traffic(poisson: TrafficFit) -> None:
    """Poisson traffic has the figures 1, 1 and 1/2, bursty traffic greater ones.

    The Hurst parameters may be off by 1.68 half intervals: 99.9 % instead of 95 %.
    """
    assert poisson.interarrival_scv == pytest.approx(1, abs=0.06)
    np.testing.assert_allclose(poisson.idc, 1, atol=0.35)
    assert poisson.idc[0] == pytest.approx(1, abs=0.08)
    for estimate in (poisson.variance_time, poisson.rescaled_range, poisson.wavelet):
        assert abs(estimate.hurst - 0.5) < 1.68 * (estimate.high - estimate.low) / 2


def test_a_source_is_recovered_from_its_own_traffic() -> None:
    """The source fitted to packets of a known modulator has its variance, within a factor 1.5."""
    true = Modulator(6.0, 1.6)
    slots = true.counts(120_000, 1, seed=4)
    fit = fit_capture(capture_at(0.001 * np.flatnonzero(slots)), bin_s=0.05)
    assert fit.source is not None
    m = np.rint(fit.source.scales_s / 0.001)
    exact = true.variance(m) / (true.mean * m) ** 2
    fitted_slots = np.rint(fit.source.scales_s / fit.source.slot_s)
    found = fit.source.modulator
    model = found.variance(fitted_slots) / (found.mean * fitted_slots) ** 2
    assert np.abs(np.log(model / exact)).max() < np.log(1.5)


def test_rows_are_named_once_and_say_what_they_are(shipped: TrafficFit) -> None:
    rows = shipped.rows()
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    assert all(row.meaning for row in rows)
    values = {row.name: row.value for row in rows}
    assert values["packets"] == 12_500
    assert values["hurst_wavelet"] == shipped.wavelet.hurst
    assert values["source_a"] == shipped.source.modulator.a  # type: ignore[union-attr]


def test_traffic_without_memory_gets_no_source_but_a_reason() -> None:
    jitter = np.random.default_rng(3).uniform(0, 0.5, 20_000)
    fit = fit_capture(capture_at(np.sort(np.arange(20_000) * 0.01 + jitter)))
    assert fit.source is None
    assert fit.source_problem.endswith(
        "not above 0.5: the traffic is not self-similar, and a geometric source is enough"
    )
    assert fit.rows()[-1].name == "source"
    assert set(fit_figures(fit)) == {"rate", "variance_time", "rescaled_range", "wavelet", "gaps"}


def test_figures_show_the_fit(shipped: TrafficFit, tmp_path: Path) -> None:
    for name, figure in fit_figures(shipped).items():
        assert isinstance(figure, Figure)
        assert figure.axes
        assert all(ax.has_data() for ax in figure.axes)
        figure.savefig(tmp_path / f"{name}.png")
    drawn = fit_figures(shipped)["variance_time"]
    ax = drawn.axes[0]
    texts = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert any("modulator, exact" in text for text in texts)
    assert f"at {shipped.source.scales_within} of" in ax.get_title()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("capture", "bin_s", "message"),
    [
        (
            capture_at(np.zeros(1)),
            None,
            "made.pcap has 1 IP packets; a fit needs at least 1000",
        ),
        (
            capture_at(np.zeros(2000)),
            None,
            "made.pcap: a rate needs packets at two instants at least; "
            "here all 2000 packets have one",
        ),
        (
            capture_at(np.arange(2000.0)),
            10.0,
            "bin_s = 10 leaves 199 bins; a fit needs at least 512: choose at most 3.9 s",
        ),
        (
            capture_at(np.arange(2000.0)),
            0.0,
            "bin_s = 0.0 must be at least 1e-9 (seconds)",
        ),
        (
            capture_at(np.arange(2000.0)),
            1.0,
            "the series is constant (1 in every bin): it has no variance",
        ),
    ],
)
def test_captures_that_cannot_be_fitted(
    capture: Capture, bin_s: float | None, message: str
) -> None:
    with pytest.raises(SluiceError) as caught:
        fit_capture(capture, bin_s)
    assert str(caught.value) == message


def test_a_capture_that_is_compressed_and_cut_off_is_fitted_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.pcap.gz"
    path.write_bytes(gzip.compress(SHIPPED.read_bytes()[:-5], compresslevel=1))
    assert main(["fit", str(path)]) == 0
    out = capsys.readouterr().out
    assert "12,499" in out
    assert "the file ends within packet 12500, which is left out." in out
