"""`sluice evaluate`: the scenarios of RFC 7928, what is read of them, verdicts."""

import shutil
from dataclasses import replace

import polars as pl
import pytest
from evaluations import BRIEF

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.evaluate import PROFILES, evaluate
from sluicegate.evaluate.everything import everything
from sluicegate.evaluate.page import evaluation_page
from sluicegate.evaluate.plan import EvaluationFolder
from sluicegate.evaluate.requirements import REQUIREMENTS, state
from sluicegate.evaluate.run import known
from sluicegate.evaluate.suite import case_named
from sluicegate.evaluate.words import case_lines
from sluicegate.testbed.check import missing, needs

pytestmark = pytest.mark.slow

# ------------------------------------------------------------ making it


def test_the_same_command_makes_nothing_again_and_other_aqms_are_added(sixth, monkeypatch):
    found, out = sixth
    asked = []
    monkeypatch.setattr(
        "sluicegate.evaluate.run.Replications",
        lambda profile, seed, world, runs: asked.extend(runs) or Made(profile, seed, world, runs),
    )
    from sluicegate.evaluate.work import Replications as Made

    given = {"profile": BRIEF, "workers": 1}
    again = evaluate(["codel"], out, sections=["5.1.1", "8.2.2"], **given)
    assert not asked
    assert again.frame().equals(found.frame())
    more = evaluate(["codel", "pie"], out, sections=["5.1.1"], **given)
    assert {run.name for run in asked} == {"pie"}
    assert more.is_complete("5.1.1")


def test_pages_have_what_earlier_commands_made_of_their_aqms(sixth, tmp_path):
    found, out = sixth
    shutil.copytree(out, tmp_path / "out")
    given = {"profile": BRIEF, "workers": 1, "sections": ["5.1.1"]}
    # fewer sections and replications than there are
    again = evaluate(["codel"], tmp_path / "out", replications=2, **given)
    assert again.sections == ["5.1.1"]
    assert again.done == 4
    whole = everything(again, tmp_path / "out")
    assert whole.frame().equals(found.frame())
    assert whole.done == len(whole.plan.runs) == found.done
    # of pie there is 5.1.1 alone, and of this CoDel, too: it is another than that of before
    other = sg.Discipline(aqm="codel", params={"target": 0.02})
    for each in ("pie", other):
        name = sg.Discipline(aqm=each).name if isinstance(each, str) else each.name
        alone = everything(evaluate([each], tmp_path / "out", **given), tmp_path / "out")
        assert (alone.sections, alone.plan.judged) == (["5.1.1"], [name])
    both = everything(evaluate(["codel", "pie"], tmp_path / "out", **given), tmp_path / "out")
    assert both.sections == found.sections
    html = evaluation_page(both, ["drop_tail"]).html()
    assert html.count("pie: not run yet") == len(both.cases("8.2.2"))


def test_a_section_is_complete_with_its_own_number_of_replications(tmp_path):
    given = {"profile": BRIEF, "workers": 1}
    evaluate(["codel"], tmp_path, sections=["5.1.1"], replications=2, **given)
    last = evaluate(["codel"], tmp_path, sections=["5.2"], replications=3, **given)
    whole = everything(last, tmp_path)
    assert whole.done == len(whole.plan.runs)
    (sender,) = [each for each in REQUIREMENTS if each.section == "5.2"]
    assert state(whole, sender) == "met"
    assert whole.is_complete("5.1.1")
    assert whole.plan.told_replications() == "2 to 3 replications"


def test_results_do_not_depend_on_who_makes_them(sixth, tmp_path):
    found, _ = sixth
    given = {"profile": BRIEF, "sections": ["5.1.1", "8.2.2"]}
    for k in (1, 2):
        part = evaluate(["codel"], tmp_path / "parts", shard=(k, 2), workers=2, **given)
    assert part.frame().equals(found.frame())
    pages = [evaluation_page(each, ["drop_tail"]).html() for each in (found, part)]
    assert pages[0] == pages[1]


def test_what_is_finished_is_kept_after_ctrl_c(tmp_path, monkeypatch):
    from sluicegate.evaluate.work import Replications

    made = Replications._made

    def interrupted(self, run):
        if run.name == "codel":
            raise KeyboardInterrupt
        return made(self, run)

    monkeypatch.setattr(Replications, "_made", interrupted)
    # jobs of several runs would be lost as a whole
    monkeypatch.setattr("sluicegate.evaluate.run._MOST_RUNS", 1)
    given = {"profile": BRIEF, "sections": ["5.1.1"], "workers": 1}
    with pytest.raises(InterruptError, match="3 of 6 runs are in the folder"):
        evaluate(["codel"], tmp_path, **given)
    monkeypatch.undo()
    folder = EvaluationFolder(tmp_path)
    folder.about()
    assert len(known(folder)) == 3

    def struck(_writer):
        raise KeyboardInterrupt

    # after the last run: of a shard, whose own runs are counted, and of all
    monkeypatch.setattr("sluicegate.sweeps.folder.Writer.merge", struck)
    with pytest.raises(
        InterruptError, match=r"all 3 runs of shard 2/2 are in the folder; the same "
    ):
        evaluate(["codel"], tmp_path, shard=(2, 2), **given)
    assert 3 < len(known(folder)) < 6
    with pytest.raises(InterruptError, match="all 6 runs are in the folder; the same command goes"):
        evaluate(["codel"], tmp_path, **given)
    monkeypatch.undo()
    assert len(known(folder)) == 6
    assert evaluate(["codel"], tmp_path, **given).done == 6


def test_a_damaged_folder_is_told_and_its_runs_are_made_again(tmp_path):
    given = {"profile": BRIEF, "workers": 1, "sections": ["5.1.1"], "replications": 2}
    out = tmp_path / "out"
    whole = evaluate(["codel"], out, **given).frame()
    about = out / "evaluation.json"
    sound = about.read_bytes()
    for content in (b"", sound[:100], b"[1, 2]", sound.replace(b'"seed": 1', b'"seed": 2')):
        about.write_bytes(content)
        with pytest.warns(UserWarning, match=r"evaluation\.json is damaged: .*writes it again"):
            assert evaluate(["codel"], out, **given).frame().equals(whole)
        assert about.read_bytes() == sound
    for left in (0, 1000):
        (part,) = (out / "runs").glob("*.parquet")
        part.write_bytes(part.read_bytes()[:left])
        with pytest.warns(UserWarning, match=f"{part.name} is damaged: .*makes its runs again"):
            assert evaluate(["codel"], out, **given).frame().equals(whole)
    about.unlink()
    with pytest.raises(SluiceError, match="has other files"):
        evaluate(["codel"], out, **given)
    with pytest.raises(SluiceError, match="the folder of the evaluation has no name"):
        evaluate(["codel"], "", **given)


def test_an_evaluation_goes_on_whatever_its_profile_has(tmp_path):
    # numbers of flows are a tuple, and in the folder a list
    profile = replace(BRIEF, flows=(1, 2, 3))
    given = {"profile": profile, "sections": ["5.1.1"], "replications": 2, "workers": 1}
    first = evaluate(["drop_tail"], tmp_path, **given)
    assert evaluate(["drop_tail"], tmp_path, **given).frame().equals(first.frame())


def test_a_folder_has_one_profile_and_seed(sixth):
    _, out = sixth
    with pytest.raises(SluiceError, match="another evaluation, with another profile"):
        evaluate(["codel"], out, profile="ns3")
    with pytest.raises(SluiceError, match=r"another evaluation: seed = 1, here 2"):
        evaluate(["codel"], out, profile=BRIEF, seed=2)


def test_a_class_in_python_and_a_header_are_judged(tmp_path, root):
    class Short:
        """Admits up to ten packets."""

        def arrive(self, view):
            return sg.ADMIT if view.queue_packets < 10 else sg.DROP_EARLY

    header = root / "engine" / "aqm" / "tests" / "user_aqm" / "sojourn_limit.h"
    given = [sg.Discipline(aqm=Short, label="short"), sg.Discipline(aqm=str(header))]
    found = evaluate(given, tmp_path, profile=BRIEF, sections=["5.3"], workers=1)
    case = case_named("5-3-faster")
    waits = [found.mean(case, name, "udp.queueing_delay").value for name in found.plan.names]
    # a full buffer of 17 packets, and one of ten
    assert waits[1] < waits[0]


def test_an_aqm_that_never_acts_is_told(tmp_path, sixth):
    # the buffer has 17 packets
    idle = sg.Discipline(aqm="step", params={"threshold": 5.0}, label="idle", ecn=True)
    marks = sg.Discipline(aqm="step", params={"threshold": 0.001}, label="marks", ecn=True)
    given = {"profile": BRIEF, "sections": ["4.5"], "replications": 2, "workers": 1}
    found = evaluate([idle, marks], tmp_path, **given)
    (told,) = [note for note in found.notes() if "never acts" in note]
    assert told.startswith("idle dropped nothing before the buffer was full, and marked nothing, ")
    assert told.endswith("it never acts behind a buffer of 17 packets.")
    # words of the glossary are links there
    assert "it never acts behind a" in evaluation_page(found, ["drop_tail"]).html()
    # nor is it told of drop-tail, or of an AQM that drops
    assert not [note for note in sixth[0].notes() if "never acts" in note]


# ------------------------------------------------------------ other worlds


@pytest.mark.skipif(bool(missing(needs())), reason="no gate here")
def test_the_gate_does_what_it_can_and_says_what_it_leaves_out(tmp_path):
    profile = replace(BRIEF, duration_s=2.0, warm_up_s=0.5, replications=2)
    given = {"profile": profile, "world": "gate"}
    found = evaluate(["drop_tail"], tmp_path, sections=["5.1.1", "9.1"], **given)
    case, both = case_named("5-1-1"), case_named("9-1")
    (why,) = case_lines(found, both, [])
    assert why.startswith("drop_tail: not run, gate: ")
    assert "topology.client_delays_s: 12 delays must be one where" in why
    assert found.done == 2
    assert not found.was_run("9.1")
    # real packets: all that crosses is the goodput of the flow, and it waits in the one queue
    goodput = found.values(case, "drop_tail", "bulk.goodput_bps")
    assert (0.5 * profile.rate_bps < goodput).all()
    assert (goodput < profile.rate_bps).all()
    delay = found.values(case, "drop_tail", "bulk.queueing_delay")
    assert (delay == found.values(case, "drop_tail", "sojourn_mean")).all()
    states = {each.section: state(found, each) for each in REQUIREMENTS}
    assert states["7.2"] == "not met: not run"
    assert "World gate" in found.notes()[-1]
    with pytest.raises(SluiceError, match=r"there is nothing to run: gate: topology"):
        evaluate(["drop_tail"], tmp_path / "none", sections=["9.1"], **given)


@pytest.mark.skipif(bool(missing(needs())), reason="no gate here")
def test_pages_of_the_web_run_in_the_gate(tmp_path, monkeypatch):
    pages = case_named("7-2-i")
    monkeypatch.setattr("sluicegate.evaluate.suite.Suite.chosen", lambda *_: [pages])
    # long enough that a page ends in each run of real time on a busy machine, too
    profile = replace(BRIEF, replications=2, duration_s=8.0)
    found = evaluate(["drop_tail"], tmp_path, profile=profile, world="gate")
    assert found.was_run("7.2")
    times_s = found.values(pages, "drop_tail", "web.page_mean")
    assert len(times_s) == 2
    # 50 objects over six connections are nine round trips, one after the other
    assert (times_s > 9 * profile.rtt_s).all()
    assert (times_s < profile.duration_s).all()


# ------------------------------------------------------------ outputs


def test_tables_have_every_measure(sixth):
    found, _ = sixth
    frame = found.frame()
    assert frame.columns == [
        *("section", "case", "discipline", "measure", "value", "half_width", "replications")
    ]
    assert frame["value"].is_finite().all()
    row = frame.row(
        by_predicate=(pl.col("case") == "5-1-1")
        & (pl.col("discipline") == "codel")
        & (pl.col("measure") == "bulk.goodput_bps"),
        named=True,
    )
    mean = found.mean(case_named("5-1-1"), "codel", "bulk.goodput_bps")
    assert (row["value"], row["half_width"]) == (mean.value, mean.half_width)
    assert found.summary(["drop_tail"])["suite"] == "RFC 7928"
    assert "mark ratio" not in evaluation_page(found, ["drop_tail"]).html()
    verdicts = found.verdicts(["drop_tail"])
    assert set(verdicts["verdict"]) <= {"better", "worse", "no difference", "unknown"}
    assert verdicts.height == 4


@pytest.mark.usefixtures("undrawn")
def test_pages_have_verdicts_and_pictures(tmp_path):
    sections = ["6.2", "8.2.6"]
    found = evaluate(["codel"], tmp_path, profile=BRIEF, sections=sections, workers=1)
    html = evaluation_page(found, ["drop_tail"]).html()
    assert "codel beside drop_tail" in html
    for title in (
        "Fairness of round trips",
        "Queue and losses in time: 8.2.6",
        "Delay and goodput: 8.2.6",
    ):
        assert title in html
    # the header of CoDel: a state of some bytes, called at arrivals and departures
    assert "arrive, depart" in html
    assert "0.005 s" in html
    # section 13, and what was chosen
    met = {each.section for each in REQUIREMENTS if state(found, each) == "met"}
    assert met == set(sections)
    assert "TCP-friendly sender" in html
    assert "to the even number" in html


@pytest.mark.usefixtures("undrawn")
def test_the_command_prints_verdicts_and_writes_the_page(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(PROFILES, "default", BRIEF)
    out = tmp_path / "out"
    words = ["evaluate", "codel", "--sections", "5.1.1", "--out", str(out), "--workers", "1"]
    assert main([*words, "--reference", "pie"]) == 0
    printed = capsys.readouterr().out
    assert "5.1.1 one long flow of NewReno" in printed
    # and one BDP, as the buffer of this path is five; what CoDel is compared with is not judged
    beside = ("codel beside drop_tail", "codel beside pie", "codel beside drop_tail of one BDP")
    others = ("pie beside drop_tail", "drop_tail of one BDP beside drop_tail")
    assert [printed.count(f"  {each}: ") for each in (*beside, *others)] == [1, 1, 1, 0, 0]
    assert [printed.count(f"\n{each}\n") for each in (*beside, *others)] == [1, 1, 1, 0, 0]
    assert "better in queueing delay of bulk (" in printed
    assert f"report: {out}/report.html" in printed
    tables = {"report.html", "measures.csv", "verdicts.csv", "sections.csv"}
    assert tables <= {each.name for each in out.iterdir()}
    (row, *_) = pl.read_csv(out / "sections.csv", infer_schema=False).to_dicts()
    assert (row["section"], row["other"]) == ("5.1.1", "drop_tail")
    assert f"{100 * float(row['queueing_delay_ratio']):.0f} % of that of drop_tail" in printed
    # without --reference it is pie for CoDel, too
    assert main(["evaluate", "codel", "--sections", "4.4", *words[4:]]) == 0
    assert "with 12 more runs, which the folder has" in capsys.readouterr().out
    page = (out / "report.html").read_text()
    assert "Section 4.4: packet sizes" in page
    assert "Section 5.1.1: a TCP-friendly sender" in page
    assert {"4.4", "5.1.1"} == set(pl.read_csv(out / "verdicts.csv", infer_schema=False)["section"])
    assert main(["evaluate", "nix"]) == 2
    assert "AQM: nix is not an AQM" in capsys.readouterr().err
    assert main(["evaluate", "codel", "--sections", "11", "--out", str(out)]) == 1
    told = capsys.readouterr()
    assert (told.out, "RFC 7928 has no scenario there" in told.err) == ("", True)
    assert main(["evaluate"]) == 2
    assert "for example: sluice evaluate codel" in capsys.readouterr().err
