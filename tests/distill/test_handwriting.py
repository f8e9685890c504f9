"""Reading an edited page: what code put around a line is not the person's, and what a line stood for is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_dossier import T0, fact

from stenolith.distill.handwriting import Handwriting, compare, own_words, read_origin, read_page
from stenolith.distill.markdown import render_scene
from stenolith.errors import InvalidInput
from stenolith.model.atom import Atom, AtomStatus
from stenolith.model.scene import Line, Scene, Section


def scene_of(*lines: Line, **more: Any) -> Scene:
    given: dict[str, Any] = {
        "id": "scn_1", "name": "x", "title": "X", "summary": "", "terms": (), "version": 3, "created_at": T0,
        "updated_at": T0,
    }  # fmt: skip
    return Scene(lines=lines, **(given | more))


def line(text: str, *numbers: int, section: Section = Section.BACKGROUND) -> Line:
    return Line(text=text, atoms=tuple(f"atm_{number}" for number in numbers), section=section.value)


def read(scene: Scene, atoms: dict[str, Atom], change: Any = lambda page: page) -> Handwriting:
    printed = render_scene(scene, atoms)
    rows = printed.text.split("\n")
    raws = [" ".join(rows[one.line - 1][2:].split()) for one in printed.citations]
    cited = dict.fromkeys(atom for one in printed.citations for atom in one.atoms)
    labels = {str(number): atom for number, atom in enumerate(cited, 1)}
    return compare(read_page(change(printed.text), labels, raws), scene, raws, atoms)


def atoms_of(*facts: Atom) -> dict[str, Atom]:
    return {atom.id: atom for atom in facts}


OLD = fact(2, "The port is 8080.", status=AtomStatus.SUPERSEDED, superseded_by="atm_1")
NEW = fact(1, "The port is 8443.")
PAST = "The port is 8443. (until 2026-08-01: The port is 8080.)"


@pytest.mark.parametrize(
    ("old", "typed", "atoms", "words", "speaker"),
    [
        (PAST, PAST.replace("8443", "9443"), (NEW, OLD), "The port is 9443.", ""),
        (PAST, "The port is 9443.", (NEW, OLD), "The port is 9443.", ""),
        (PAST, PAST + " I think.", (NEW, OLD), PAST + " I think.", ""),
        ("端口是 8443。（至 2026-08-01：端口是 8080。）", "端口是 9443。（至 2026-08-01：端口是 8080。）", (NEW, OLD), "端口是 9443。", ""),
        ("ana: I drink tea.", "ana: I drink cocoa.", (fact(1, "I drink tea.", speaker="ana"),), "I drink cocoa.", "ana"),
        ("ana: I drink tea.", "Ana drinks cocoa.", (fact(1, "I drink tea.", speaker="ana"),), "Ana drinks cocoa.", ""),
        ("“Ignore all rules.”", "“Ignore no rules.”", (fact(1, "Ignore all rules."),), "Ignore no rules.", ""),
        ("Likes it.", "“Likes” it.", (fact(1, "Likes it."),), "“Likes” it.", ""),
    ],
)  # fmt: skip
def test_what_code_put_around_a_line_is_taken_off(old: str, typed: str, atoms: Any, words: str, speaker: str) -> None:
    known = atoms_of(*atoms)
    scene = scene_of(line(old, *(int(one[4:]) for one in known)))
    (stroke,) = read(scene, known, lambda page: page.replace(f"- {old}", f"- {typed}")).strokes
    assert own_words(stroke, known) == (words, speaker)
    assert stroke.replaces == ("atm_1",), "the past stays past"


def test_a_contradiction_is_settled_by_leaving_one_side() -> None:
    sides = atoms_of(fact(1, "It is red."), fact(2, "It is blue."))
    scene = scene_of(line("Unsettled: It is red. ↔ It is blue.", 1, 2, section=Section.OPEN))
    hand = read(
        scene, sides, lambda page: page.replace("Unsettled: It is red. ↔ It is blue. [^1][^2]", "It is red. [^1]")
    )
    (stroke,) = hand.strokes
    assert {*stroke.replaces} == {"atm_1", "atm_2"}
    assert hand.withdrawn == ()


def test_an_atom_that_another_line_still_cites_is_not_withdrawn() -> None:
    known = atoms_of(fact(1, "a."), fact(2, "b."))
    hand = read(
        scene_of(line("a and b.", 1, 2), line("b alone.", 2)),
        known,
        lambda page: page.replace("- a and b. [^1][^2]\n", ""),
    )
    assert hand.withdrawn == ("atm_1",)
    assert [one.text for one in hand.removed] == ["a and b."]


def test_a_line_that_counts_what_has_no_room_may_not_be_touched() -> None:
    known = atoms_of(*(fact(number, f"Fact {number}.") for number in range(1, 4)))
    scene = scene_of(line("Fact 1.", 1), line("2 more notes", 2, 3))
    for change in (
        lambda page: page.replace("2 more", "3 more"),
        lambda page: page.replace("- 2 more notes [^2][^3]\n", ""),
    ):
        with pytest.raises(InvalidInput, match="does not show"):
            read(scene, known, change)
    assert [stroke.stays is not None for stroke in read(scene, known).strokes] == [True, True]


def test_text_that_looks_like_a_mark_is_text_while_it_is_left_alone() -> None:
    known = atoms_of(fact(1, "Match with [^0-9]"), fact(2, "[^1][^2]"))
    scene = scene_of(line("Match with [^0-9]", 1), line("[^1][^2] are marks", 2), line("Ends with [^9]", 1))
    assert [stroke.stays for stroke in read(scene, known).strokes] == list(scene.lines)


def test_every_problem_of_a_page_is_named_up_to_five() -> None:
    page = "# X\n" + "\n".join(f"## Gossip {number}" for number in range(8))
    with pytest.raises(InvalidInput, match=r"line 2: .*line 6: .*and 3 more"):
        read_page(page, {})


def test_a_paragraph_is_a_statement_and_its_next_line_belongs_to_it() -> None:
    page = read_page("# X\n\n## Lessons\n\nOne thing\n  goes on.\n\nAnother thing.\n- A third [^1]\n", {"1": "atm_1"})
    assert [(said.text, said.cites, said.at) for said in page.statements] == [
        ("One thing goes on.", (), 5), ("Another thing.", (), 8), ("A third", ("atm_1",), 9),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "# X", "<!-- other -->", "<!-- stenolith scene scn_1 revision x -->"])
def test_a_page_without_a_stamp_comes_from_nowhere(text: str) -> None:
    assert read_origin(text) is None


WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40)


@given(st.lists(st.tuples(WORDS, st.sampled_from(list(Section))), min_size=1, max_size=8))
def test_a_printed_page_reads_as_unchanged_whatever_its_lines_say(told: list[tuple[str, Section]]) -> None:
    pairs = [(" ".join(text.split()), section) for text, section in told if text.split()]
    known = atoms_of(*(fact(number, text) for number, (text, _) in enumerate(pairs, 1)))
    order = list(Section)
    lines = [line(text, number, section=section) for number, (text, section) in enumerate(pairs, 1)]
    scene = scene_of(*sorted(lines, key=lambda one: order.index(Section(one.section))))
    hand = read(scene, known)
    assert [stroke.stays for stroke in hand.strokes] == list(scene.lines)
    assert (hand.removed, hand.withdrawn) == ((), ())


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    scene = replace(scene_of(line("a.", 1)), title="X")
    known = atoms_of(fact(1, "a."))
    try:
        read(scene, known, lambda page: page[: len(page) // 2] + text + page[len(page) // 2 :])
    except InvalidInput as error:
        assert str(error)  # noqa: PT017  # either way is right; what must not happen is another error
