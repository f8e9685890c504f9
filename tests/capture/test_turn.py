"""What a host hands over."""

from __future__ import annotations

import pytest

from stenolith.capture.turn import Turn, TurnKind, from_texts
from stenolith.model.message import Message, Role, Text


def said(role, text):
    return Message(role=Role(role), parts=(Text(text=text),))


HISTORY = (said("user", "hi"), said("assistant", "hello"))


@pytest.mark.parametrize(
    ("turn", "index"),
    [
        (Turn(messages=(*HISTORY, said("user", "memories\n\nwhat now?")), mark=2, original="what now?"), 2),
        (Turn(messages=(*HISTORY, said("user", "rewritten")), mark=2, original="what now?"), 2),
        (
            Turn(
                messages=(*HISTORY, said("user", "context"), said("user", "x what now?")), mark=2, original="what now?"
            ),
            3,
        ),
        (Turn(messages=(said("user", "what now?"), *HISTORY, said("user", "what now?!")), original="what now?"), 3),
        (Turn(messages=(*HISTORY, said("user", "rewritten")), original="what now?"), None),
        (Turn(messages=HISTORY, mark=2, original="what now?"), None),
        (Turn(messages=HISTORY, mark=9, original="hi"), 0),
        (Turn(messages=HISTORY, mark=0, original="  "), None),
        (Turn(messages=HISTORY, mark=0), None),
    ],
)
def test_typed_words_belong_to_the_question_of_this_turn(turn, index):
    found = [at for at in range(len(turn.messages)) if turn.original_at(at) is not None]
    assert found == ([] if index is None else [index])


def test_two_strings_make_a_turn_whose_messages_are_all_new():
    turn = from_texts("q", "a", started=1, ended=2)
    assert [(m.role, m.text(), m.timestamp) for m in turn.messages] == [("user", "q", 1), ("assistant", "a", 2)]
    assert turn.mark == 0


def test_a_blank_side_is_left_out():
    assert [m.role for m in from_texts("q", " \n").messages] == ["user"]


@pytest.mark.parametrize("kind", TurnKind)
@pytest.mark.parametrize("failed", [True, False])
def test_only_a_persons_finished_turn_is_distilled(kind, failed):
    turn = Turn(messages=HISTORY, kind=kind, failed=failed)
    assert turn.distillable == (kind == "interactive" and not failed)
