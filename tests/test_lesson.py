"""Lessons: variants, runs against closed forms, answers and grades."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from sluicegate import lessons
from sluicegate.cli import main
from sluicegate.errors import SluiceError
from sluicegate.lessons import LESSONS, Lesson, Worked, grade, lesson_page, template, work
from sluicegate.lessons.lesson import Values
from sluicegate.lessons.real import with_classes
from sluicegate.scenario import NetworkScenario, load
from sluicegate.testbed.check import missing, needs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

LACKING = missing(needs())


def short(lesson: Lesson) -> Lesson:
    """The lesson with runs of a quarter of their packets."""

    def runs(values: Values) -> dict[str, NetworkScenario]:
        return {
            name: each.replace(duration_s=each.duration_s / 2, replications=2)
            for name, each in lesson.runs(values).items()
        }

    return replace(lesson, runs=runs)


@pytest.fixture(scope="module")
def worked() -> Worked:
    return work(short(LESSONS["bufferbloat"]), 17)


def test_a_variant_is_the_same_everywhere_and_differs_between_students() -> None:
    for lesson in LESSONS.values():
        assert lesson.variant(None) == lesson.given
        assert lesson.variant(17) == lesson.variant(17)
        variants = [tuple(lesson.variant(number).values()) for number in range(40)]
        assert len(set(variants)) > 5
        for name, choices in lesson.choices.items():
            assert {lesson.variant(number)[name] for number in range(200)} == set(choices)


def test_the_buffers_wait_is_the_closed_form_and_bounds_the_pings(worked: Worked) -> None:
    values = worked.values
    asked = {each.name: each for each in worked.questions}
    wait_ms = values["large"] * 12000 / values["rate_bps"] * 1000
    assert asked["full_buffer_ms"].answer == pytest.approx(wait_ms)
    for size in ("small", "large"):
        full_ms = values[size] * 12000 / values["rate_bps"] * 1000
        empty_ms = values["rtt_s"] * 1000
        ping = asked[f"ping_{size}_ms"].answer
        # less than behind a full buffer with one packet in transmission, more than half of it
        packet_ms = 12000 / values["rate_bps"] * 1000
        assert empty_ms + full_ms / 2 < ping < empty_ms + full_ms + packet_ms + 0.2
    assert asked["page_large_s"].answer > 1.3 * asked["page_small_s"].answer
    assert asked["page_bbr_s"].answer < asked["page_large_s"].answer
    # a page of 180 kB takes at least its own transmission
    assert asked["page_small_s"].answer > 180_000 * 8 / values["rate_bps"]


def test_what_a_router_does_not_count_by_class_follows_from_its_queue_and_the_flows(
    worked: Worked,
) -> None:
    for label, scenario in short(worked.lesson).runs(worked.values).items():
        found = worked.records[label]
        computed = with_classes(scenario, found)
        page, ping = "page.completion_mean", "ping.one_way_delay_mean"
        assert computed[page].value == pytest.approx(found[page].value)
        # pings that find the buffer full are lost; they would have waited for all of it
        lost = found["ping.loss_ratio"].value
        more = scenario.queue.limit - found["queue_mean"].value
        full_s = computed[ping].value + more * 12000 / worked.values["rate_bps"]
        expected_s = (1 - lost) * found[ping].value + lost * full_s
        assert computed[ping].value == pytest.approx(expected_s, rel=0.03)


@pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")
def test_the_lesson_on_real_packets() -> None:
    lesson = LESSONS["bufferbloat"]
    label = "Reno, 100 packets"

    def runs(values: Values) -> dict[str, NetworkScenario]:
        return {label: lesson.runs(values)[label].replace(duration_s=5, warm_up_s=2)}

    one = replace(lesson, runs=runs, questions=lambda *_: [])
    found = work(one, world="gate")
    assert found.whose == "the assignment as given, with real packets"
    record = found.records[label]
    # behind more than half of a full buffer of 120 ms, as simulated
    assert 0.06 < record["ping.one_way_delay_mean"].value < 0.125
    # the slow start of a page over such round trips
    assert 0.3 < record["page.completion_mean"].value < 1.5
    with pytest.raises(SluiceError, match="world = moon must be one of network, gate"):
        work(lesson, world="moon")


@pytest.mark.parametrize("name", ["red", "l4s"])
def test_the_other_lessons_show_what_they_say(name: str) -> None:
    found = work(short(LESSONS[name]))
    asked = {each.name: each.answer for each in found.questions}
    if name == "red":
        assert asked["queue_gentle_few"] < asked["queue_gentle_many"]
        assert asked["queue_harsh_few"] < asked["queue_harsh_many"] < asked["queue_gentle_many"]
        # at most as the square of the flows (Mathis et al. 1997)
        assert 2 < asked["loss_times"] < (60 / 4) ** 2
    else:
        assert asked["scalable_wait_ms"] < 1 < asked["codel_wait_ms"] < asked["classic_wait_ms"]
        assert 10 < asked["scalable_mbps"] < 30
    assert len(lesson_page(found).html()) > 10_000


def test_the_runs_of_a_variant_are_scenario_files(worked: Worked, tmp_path: Path) -> None:
    for lesson in LESSONS.values():
        variant = replace(worked, lesson=lesson, values=lesson.variant(17))
        files = variant.scenarios()
        for name, run in zip(files, lesson.runs(variant.values).values(), strict=True):
            (tmp_path / name).write_text(files[name])
            assert load(tmp_path / name) == run
    assert list(worked.scenarios())[::4] == ["reno-5-packets.toml", "bbr-80-packets.toml"]


def filled(worked: Worked, scale: float) -> str:
    text = template(worked)
    for each in worked.questions:
        text = text.replace(f"# {each.name} = ", f"{each.name} = {each.answer * scale}")
    return text


def test_right_answers_are_right_and_others_are_not(worked: Worked, tmp_path: Path) -> None:
    file = tmp_path / "answers.toml"
    file.write_text(filled(worked, 1.0))
    assert all(each.right for each in grade(worked, file))
    assert lessons.student_of(file) == 17
    assert {each.result for each in grade(worked, file)} == {"right"}
    file.write_text(filled(worked, 3.0))
    assert not any(each.right for each in grade(worked, file))
    file.write_text(template(worked))
    assert [(each.given, each.right) for each in grade(worked, file)] == [
        (None, False) for _ in worked.questions
    ]
    assert grade(worked, file)[0].result == "not answered"


def test_a_class_is_graded_into_one_table(
    worked: Worked,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(lessons.LESSONS, "bufferbloat", short(LESSONS["bufferbloat"]))
    files = [tmp_path / "one.toml", tmp_path / "bad.toml", tmp_path / "two.toml"]
    # as some editors write it
    files[0].write_text(filled(worked, 1.0), encoding="utf-8-sig")
    files[1].write_text('lesson = "bufferbloat"\n[answers]\nping = 3')
    files[2].write_text(template(worked))
    marks = tmp_path / "marks.csv"
    graded = [word for file in files for word in ("--grade", str(file))]
    assert main(["lesson", "bufferbloat", *graded, "--csv", str(marks)]) == 1
    # the others are graded all the same
    assert "bad.toml: answers.ping is not asked" in capsys.readouterr().err
    table = pl.read_csv(marks)
    assert table["student"].drop_nulls().unique().to_list() == [17]
    right = table.group_by("file", maintain_order=True).agg(pl.sum("right"))["right"]
    count = len(worked.questions)
    # a file that cannot be graded has a line, too
    assert right.to_list() == [count, 0, 0]
    assert table["file_right"].unique(maintain_order=True).to_list() == [count, None, 0]
    (error,) = table["error"].drop_nulls()
    assert error.startswith("answers.ping is not asked")
    # a folder stands for its files
    (tmp_path / "folder.toml").mkdir()
    assert main(["lesson", "bufferbloat", "--grade", str(tmp_path)]) == 1
    shown, wrong = capsys.readouterr()
    assert "folder.toml" not in wrong
    totals = shown.partition("not graded")[2]
    assert f"17  {count} of {count}" in totals
    assert f"17  0 of {count}" in totals


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("lesson = ", "is not a file of answers"),
        (
            "[answers]\nping_small_ms = 80,0",
            "line 2: ping_small_ms = 80,0 has a decimal comma: write 80.0",
        ),
        (
            "[answers]\nping_small_ms = # ms",
            "line 2: there is no number after ping_small_ms =: write one",
        ),
        ('lesson = "red"\n[answers]', "must be 'bufferbloat'"),
        ("[answers]\nping_small_ms = 3", 'the line lesson = "bufferbloat" is missing'),
        ('lesson = "bufferbloat"\nanswers = 3', "answers must be a table"),
        (
            'lesson = "bufferbloat"\n[answers]\nping = 3',
            "answers.ping is not asked; there are full",
        ),
        ('lesson = "bufferbloat"\n[answers]\nping_small_ms = "3"', "must be a number"),
        ('lesson = "bufferbloat"\n[answers]\nping_small_ms = nan', "must be a number"),
        ('lesson = "bufferbloat"\n[answers]\nping_small_ms = true', "must be a number"),
        (f'lesson = "bufferbloat"\n[answers]\nping_small_ms = {"9" * 400}', "must be a number"),
    ],
)
def test_a_wrong_file_is_told(worked: Worked, tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "answers.toml"
    file.write_text(text)
    with pytest.raises(SluiceError, match=r"answers\.toml") as error:
        grade(worked, file)
    assert why in str(error.value)


def test_the_page_has_answers_only_for_teachers(worked: Worked) -> None:
    why = worked.questions[1].why
    assert why not in lesson_page(worked).html()
    assert why in lesson_page(worked, answers=True).html()
    assert "variant of student 17" in worked._repr_html_()
    # a student finds the way there; what the way back takes is said
    assert "ping.one_way_delay_mean, its way there" in lesson_page(worked).html()


def test_wrong_words_on_the_command_line_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('lesson = "red"\nstudent = -1')
    kept, above = tmp_path / "kept", tmp_path / "above.toml"
    kept.mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    (kept / "answers.toml").write_text('lesson = "red"\nstudent = 17')
    long = tmp_path / "long.toml"
    long.write_text(f'lesson = "red"\nstudent = 0x{"f" * 5000}')
    true = tmp_path / "true.toml"
    true.write_text('lesson = "red"\nstudent = true')
    above.write_text('lesson = "red"\nloss_times = 4')
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for words, code, why in [
        (["tcp"], 2, "tcp is no lesson; there are bufferbloat, red, l4s"),
        (["red", "--grade", str(bad), "--answers"], 2, "--grade writes no page"),
        (["red", "--csv", "marks.csv"], 2, "--csv needs --grade"),
        (["red", "--world", "moon"], 1, "world = moon must be one of network, gate"),
        (["l4s", "--world", "gate"], 1, "world = gate must be one of network for the lesson l4s"),
        (["red", "--grade", str(long)], 1, "is not a file of answers: Exceeds the limit"),
        (["red", "--grade", str(pipe)], 1, "is not a file of answers: give a file, or a folder"),
        (["red", "--world", "gate", "--grade", str(bad)], 2, "--grade takes --world network"),
        (["red", "--student", "3", "--out", str(kept)], 1, "answers variant of student 17, not"),
        (["red", "--student", "3", "--grade", str(kept / "answers.toml")], 1, "of student 17, not"),
        (["red", "--grade", str(above)], 1, "loss_times must stand below [answers]"),
        (["red", "--grade", str(true)], 1, "student = True must be a whole number"),
        (
            ["l4s", "--student", "17", "--out", str(kept)],
            1,
            "the lesson red, not l4s: take another",
        ),
        (["red", "--grade", str(kept), "--csv", str(tmp_path / "no/x.csv")], 2, "is not a folder"),
        ([], 2, "bufferbloat|red|l4s"),
        (["red", "--grade", str(bad)], 1, "student = -1 must be a whole number from 0 on"),
        (["red", "--grade", str(tmp_path / "none.toml")], 1, "none.toml: No such file: give"),
        (["red", "--grade", str(empty)], 2, "has no file *.toml"),
        (["red", "--student", "seventeen"], 2, "'seventeen' is not a whole number."),
    ]:
        assert main(["lesson", *words]) == code
        assert why in capsys.readouterr().err
