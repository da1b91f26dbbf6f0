"""Advice: score, tables and words say the same; what Linux has; the buffer of today."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.ticker import NullFormatter

from sluicegate.advice import Advice, Question, advise, rows, words
from sluicegate.advice.lines import lines
from sluicegate.advice.plots import change_figure, costs_figure
from sluicegate.advice.reasons import reasons
from sluicegate.advice.runs import MEASURES, Runs
from sluicegate.advice.score import COSTS, over_scenarios
from sluicegate.advice.search import JUDGED
from sluicegate.advice.settings import FAMILIES, Setting, baseline, left_out, settings
from sluicegate.cli import main
from sluicegate.errors import SluiceError

pytestmark = pytest.mark.slow

LINK = Question(rate_bps=2e6, rtts_s=(0.02, 0.08), flows=(1, 10))
FQ, RED = Setting("fq_codel", 0.02, 1.0), Setting("gentle_red", 0.02, 0.1)


def advice_of(link, times):
    """Return an advice with given times: of each setting, for each scenario, in its unit."""
    runs = Runs(link.scaled(1.0), 10.0)
    draw = np.random.default_rng(1)
    for place, case in enumerate(runs.cases):
        for seed in JUDGED:
            # the same chance for all settings
            noise = draw.uniform(0.99, 1.01)
            for setting, own in times.items():
                value = own[place] * noise * runs.link.span_s(case.rtt_s)
                made = {"sojourn_p99": value, "completion_mean": value, "loss_ratio": 0.0}
                made |= {"utilization": 1.0, "fairness": 1.0}
                runs.measured[setting, place, seed] = [made.get(name) for name in MEASURES]
    return Advice(link, 1.0, runs, list(times))


def constructed(link=LINK):
    """Return one in which one setting is far better in all scenarios but the one of long delays."""
    last = len(Runs(link, 10.0).cases) - 1
    return advice_of(
        link,
        {
            baseline(link): [20.0] * (last + 1),
            FQ: [1.0] * last + [24.0],
            RED: [2.0] * last + [12.0],
        },
    )


def test_each_scenario_counts_the_same():
    # 5 of 6 are twice as good; the sum of the scores says the contrary
    found = constructed()
    assert sum([1.0] * 5 + [24.0]) > sum([2.0] * 5 + [12.0])
    assert found.choice == FQ
    np.testing.assert_allclose(over_scenarios(np.array([[1.0, 2.0], [4.0, 8.0]])), [2.0, 4.0])


def test_the_verdict_says_where_another_setting_is_better():
    found = constructed()
    verdict = words.verdict(found)
    assert verdict.startswith(f"Take {FQ.name}.")
    assert f"In 1 of 6 scenarios another setting is surely better (many transfers: {RED.name})" in (
        verdict
    )
    # the table of the scenarios says the same
    better = [row.scenario for row in rows.case_rows(found) if row.told_apart]
    assert better == [case.name for case, _ in found.better_than_choice] == ["many transfers"]


def test_the_parts_of_a_score_add_up_to_it():
    found = constructed()
    for each in found.ranking:
        parts = found.parts(found.finalists[each.place])
        assert parts.sum() == pytest.approx(each.score.value)
    more = re.findall(r"(\w+) ([+-]\d+\.\d\d)", words.verdict(found))
    assert [name for name, _ in more] == list(COSTS)
    gain = found.difference(found.baseline, found.choice).value
    assert sum(float(part) for _, part in more) == pytest.approx(gain, abs=0.03)


def test_a_choice_that_linux_lacks_comes_with_the_best_that_it_has():
    pie, drop = Setting("pie", 0.02), baseline(LINK)
    found = advice_of(LINK, {RED: [1.0] * 6, pie: [1.5] * 6, drop: [1.2] * 6})
    assert found.choice == RED
    assert found.best_of_linux == pie
    verdict = words.verdict(found)
    assert (
        f"Linux has no such qdisc: of the settings judged here that it has, {pie.name}" in verdict
    )
    assert "With --linux only those are searched" in verdict
    assert pie in found.worth_having
    # where the choice is a qdisc, nothing of this is said
    assert "Linux" not in words.verdict(constructed())


def test_who_asks_for_linux_gets_what_linux_has():
    link = replace(LINK, linux=True)
    found = settings(link)
    assert found
    assert all(lines(each, link).tc for each in found)
    # Linux has sfq, but not with so many packets
    fast = replace(link, rate_bps=1e9)
    assert any(each.family == "sfq" for each in settings(replace(fast, linux=False)))
    assert not any(each.family == "sfq" for each in settings(fast))
    assert set(left_out(link)) == {"gentle_red", "fred", "cobalt", "pi", "rem", "blue", "avq"}
    # on the simulated link nothing is refused for that
    assert not link.scaled(3.0).linux
    (told,) = (each for each in words.assumptions(constructed(link)) if each.startswith("Left out"))
    assert (
        told == "Left out, as Linux has no such qdisc (--linux): " + ", ".join(left_out(link)) + "."
    )


def test_what_cannot_be_set_is_refused():
    # before, drop-tail was recommended in silence
    with pytest.raises(SluiceError, match=r"nothing is left.*gentle_red: .*has no twin in Linux"):
        advise(replace(LINK, linux=True), aqms=["gentle_red"])


def test_the_buffer_of_today_is_the_baseline():
    link = replace(LINK, limit=1000)
    assert baseline(link).queue(link).limit == 1000
    assert baseline(link).name == "drop_tail (6000 ms)"
    # a scaled link has the same queueing delay
    assert baseline(link).queue(link.scaled(4.0)).limit == 250
    odd = replace(link, rate_bps=7e6, limit=997)
    assert baseline(odd).queue(odd).limit == 997


def test_before_and_after_are_told():
    link = replace(LINK, limit=1000)
    found = constructed(link)
    told = words.change(found)
    assert told.startswith("Before, with today's drop_tail (6000 ms) of 1,000 packets, and")
    before, after = (found.mean(each, "sojourn_p99").value for each in (found.baseline, FQ))
    assert f"p99 sojourn {1e3 * before:,.0f} → {1e3 * after:.3g} ms" in told
    assert "Today's drop_tail (6000 ms) of 1,000 packets scores" in words.verdict(found)
    (row,) = (row for row in rows.setting_rows(found) if row.is_today)
    assert row.setting == "drop_tail (6000 ms)"
    assert [cells[0] for cells in rows.setting_cells(found)][-1] == "drop_tail (6000 ms), today"
    # not known: the usual one
    assert rows.setting_cells(constructed())[-1][0] == "drop_tail (140 ms), usual"


def test_the_picture_has_both_ends_of_each_scenario():
    found = constructed(replace(LINK, limit=1000, direction="upload"))
    figure = change_figure([found, found])
    sojourn = figure.axes[0]
    before, after = (each.get_offsets() for each in sojourn.collections[-2:])
    assert len(before) == len(after) == 2 * len(found.cases)
    for place in range(len(found.cases)):
        for ends, setting in ((before, found.baseline), (after, found.choice)):
            expected = 1e3 * found.runs.values(setting, "sojourn_p99", JUDGED, place).mean()
            assert ends[place][0] == pytest.approx(expected)
    assert sojourn.get_yticklabels()[0].get_text() == "upload: few flows, short RTT"
    # labels of minor ticks would lie over each other
    assert isinstance(sojourn.xaxis.get_minor_formatter(), NullFormatter)


def test_a_score_far_from_the_others_does_not_hide_them():
    drop = baseline(LINK)
    found = advice_of(LINK, {FQ: [1.0] * 6, RED: [2.0] * 6, drop: [60.0] * 6})
    (ax,) = costs_figure(found).axes
    assert ax.get_xlim()[1] < 10
    assert any("60" in each.get_text() for each in ax.texts)


def test_an_advice_shows_itself():
    found = constructed(replace(LINK, limit=1000))
    assert repr(found).splitlines()[2].startswith(FQ.name)
    cell = found._repr_html_()
    assert words.change(found).partition(",")[0] in cell
    assert "drop_tail (6000 ms), today" in cell
    assert "Before and after" in cell
    assert "<svg" in cell
    assert "How to set it" not in cell
    assert "How to set it" in found.page().html()


def test_what_is_equally_good_comes_with_its_lines():
    pie, codel, choke = (
        Setting("pie", 0.02),
        Setting("codel", 0.02, 1.0),
        Setting("choke", 0.02, 0.1),
    )
    rows_of = {
        **{each: [1.0] * 6 for each in (FQ, RED)},
        pie: [2.0] * 6,
        codel: [1.0] * 6,
        choke: [1.0] * 6,
        baseline(LINK): [9.0] * 6,
    }
    found = advice_of(LINK, rows_of)
    named = words.verdict(found).partition("can tell: ")[2].partition(".")[0]
    assert found.equally_good
    for each in found.equally_good:
        assert each.name in named
        assert each in found.worth_having
    assert pie not in found.worth_having


def test_who_asks_for_linux_gets_no_lines_of_sluiced():
    asked = lines(FQ, LINK)
    assert asked.sluiced.startswith("sluiced run --fail open --rate 2e6 --limit ")
    linux = lines(FQ, replace(LINK, linux=True))
    assert (linux.sluiced, linux.tc) == ("", asked.tc)


@pytest.mark.parametrize("option", ["--rate", "--upload", "--download"])
def test_a_rate_out_of_range_names_its_option(option, capsys):
    words = ["advise", option, "2", "--rtt", "20..80ms", "--flows", "1..10"]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"error: {option}: 2 must be between 100000 and 1e12 (bits/s); did you mean 2M?\n"
    )


def test_a_bar_that_is_cut_shows_the_shares_of_its_parts():
    found = advice_of(LINK, {FQ: [1.0] * 6, baseline(LINK): [90.0] * 6})
    ax = costs_figure(found).axes[0]
    most = ax.get_xlim()[1]
    last = found.parts(found.finalists[found.ranking[-1].place])
    widths = [bars.patches[-1].get_width() for bars in ax.containers if hasattr(bars, "patches")]
    assert sum(widths) == pytest.approx(most)
    assert widths == pytest.approx([most * part / last.sum() for part in last])
    (told,) = (text for text in ax.texts if "→" in text.get_text())
    assert told.get_text() == f"{last.sum():.3g} →"


def test_each_parameter_has_a_reason():
    for name, family in FAMILIES.items():
        setting = Setting(name, 0.02, family.second[1][0])
        told = reasons(setting, LINK)
        params = setting.discipline(LINK).params
        assert [param.split()[0] for param, _ in told] == ["limit", *params]
    there = replace(LINK, limit=1000)
    assert reasons(baseline(there), there)[0] == (
        "limit 1000",
        "a full buffer waits 6000 ms: the buffer that is there today.",
    )
    limit, (_, target), interval = reasons(Setting("fq_codel", 0.0404, 1.0), LINK)
    assert limit[0] == "limit 64"
    assert limit[1].startswith("a full buffer waits 384 ms, twice 140 ms")
    assert limit[1].endswith("Linux's default of 10240 packets would be 61 s here.")
    assert "a packet takes 6 ms here" in target
    assert interval[0] == "interval 140 ms"
    assert interval[1].startswith("1 times 140 ms, the longest round trip")
    assert reasons(Setting("cake", 0.0, 1.0), LINK)[3] == (
        "target 7 ms",
        "a twentieth of rtt, as tc sets it.",
    )


def test_what_must_be_known_stands_at_the_lines():
    link = replace(LINK, direction="upload", limit=1000)
    told = words.device(link)
    assert "today's 1,000 packets" in told
    assert "--upload 1900k" in told
    assert "overhead 32 linklayer atm" in told
    page = constructed(link).page().html()
    assert page.index("1900k") < page.index("sluiced run")


def test_the_worst_scenario_and_a_longer_wait_are_told():
    drop = baseline(LINK)
    found = advice_of(LINK, {FQ: [1.0] * 5 + [24.0], drop: [12.0] * 6})
    assert "Worst in 'many transfers': p99 sojourn" in words.change(found)
    assert "p99 sojourn is longer" not in words.change(found)
    for (setting, place, _), measured in found.runs.measured.items():
        measured[MEASURES.index("utilization")] = 0.83 if setting == FQ and place == 5 else 1.0
    assert "Worst in 'many transfers': link busy 100 → 83 %." in words.change(found)
    longer = advice_of(LINK, {FQ: [1.0] * 6, drop: [2.0] * 6})
    sojourn, lost = (MEASURES.index(name) for name in ("sojourn_p99", "loss_ratio"))
    for (setting, *_), measured in longer.runs.measured.items():
        measured[sojourn] *= 3 if setting == FQ else 1
        measured[lost] = 0.0 if setting == FQ else 0.2
    assert longer.choice == FQ
    told = words.change(longer)
    assert (
        "The p99 sojourn is longer, as packets of the flows that fill the link wait; short" in told
    )
    assert "lost 20 → 0 %." in told


def test_a_buffer_that_drains_slowly_against_the_run_is_told():
    assert "takes 6 s to drain, and a run lasts 10 s" in words.change(
        constructed(replace(LINK, limit=1000))
    )
    assert "to drain" not in words.change(constructed(replace(LINK, limit=50)))
    assert "to drain" not in words.change(constructed())


def test_the_picture_has_a_title_and_few_labels():
    found = constructed(replace(LINK, limit=1000))
    for (_setting, place, _seed), measured in found.runs.measured.items():
        measured[MEASURES.index("completion_mean")] *= 10.0 ** (0.4 * place)
    figure = change_figure([found])
    (legend,) = figure.legends
    assert legend.get_title().get_text() == (
        f"Link, 2 Mbit/s: drop_tail, 1,000 packets → {FQ.name}"
    )
    figure.draw_without_rendering()
    axis = figure.axes[1].xaxis
    low, high = axis.get_view_interval()
    ticks = [each for each in axis.get_major_ticks() if low <= each.get_loc() <= high]
    boxes = [each.label1.get_window_extent() for each in ticks]
    assert len(boxes) > 2
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_upload_beside_rate_is_refused_by_name(capsys):
    words = ["advise", "--rate", "2M", "--upload", "2M", "--rtt", "20ms", "--flows", "1"]
    assert main(words) == 2
    assert "give --rate or --upload, not both" in capsys.readouterr().err


def test_a_wait_of_0_and_times_that_are_not_known_have_no_worst_scenario():
    found = constructed()
    for key, values in found.runs.measured.items():
        values[MEASURES.index("completion_mean")] = np.nan
        if key[0] == found.baseline:
            values[MEASURES.index("sojourn_p99")] = 0.0
    assert list(words._worst(found)) == []
