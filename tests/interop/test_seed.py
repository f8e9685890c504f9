"""Seed formats A and B: six layers of validation, every fault with its place, times all or none."""

from __future__ import annotations

import json
import os
import tracemalloc

import pytest

from stenolith.errors import InvalidInput
from stenolith.interop import SeedOptions, check_seed, read_sessions

ROUND = [{"role": "user", "content": "旧的鉴权模块先不要重构"}, {"role": "assistant", "content": "明白"}]
SESSION = {"sessionKey": "s1", "conversations": [ROUND]}


def faults(value, **options):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    found = check_seed(data, SeedOptions(**options))
    return [(e.layer, e.session_index, e.round_index, e.message_index) for e in found]


@pytest.mark.parametrize("value", [{"sessions": [SESSION]}, [SESSION]], ids=["format A", "format B"])
def test_both_formats_give_the_same_sessions(value):
    (session,) = read_sessions(json.dumps(value).encode())
    assert (session.session_key, session.session_id) == ("s1", "s1")
    assert [[(m.role.value, m.text(), m.timestamp) for m in one] for one in session.rounds] == [
        [("user", "旧的鉴权模块先不要重构", None), ("assistant", "明白", None)]
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"", [("file", None, None, None)]),
        (b"{nonsense", [("file", None, None, None)]),
        (b'[{"sessionKey": "s"', [("file", None, None, None)]),
        ("words", [("top level", None, None, None)]),
        ({"sessions": {}}, [("top level", None, None, None)]),
        ({"other": []}, [("top level", None, None, None)]),
        ([], [("top level", None, None, None)]),
        ([5], [("session", 0, None, None)]),
        ([SESSION, {"sessionKey": " ", "conversations": [ROUND]}], [("session", 1, None, None)]),
        ([{"conversations": "x"}], [("session", 0, None, None)] * 2),
        ([{**SESSION, "sessionId": 5}], [("session", 0, None, None)]),
        ([{"sessionKey": "s", "conversations": [ROUND, [], "x"]}], [("round", 0, 1, None), ("round", 0, 2, None)]),
        ([{"sessionKey": "s", "conversations": [[5, {"role": "user"}, {"role": "", "content": " "}]]}],
         [("message", 0, 0, 0), ("message", 0, 0, 1), ("message", 0, 0, 2), ("message", 0, 0, 2)]),
        ([{"sessionKey": "s", "conversations": [[{"role": "user", "content": "x", "timestamp": 1.5}]]}], [("message", 0, 0, 0)]),
        ([{"sessionKey": "s", "conversations": [[{"role": "user", "content": "x", "timestamp": "soon"}]]}], [("message", 0, 0, 0)]),
        ([{"sessionKey": "s", "conversations": [[{"role": "user", "content": "x", "timestamp": 5}], ROUND]}], [("timestamps", 0, 1, 0)]),
        ([{"sessionKey": "s", "conversations": [[{"role": "user", "content": "x", "timestamp": -5}]]}], []),
        ([{"sessionKey": "s", "conversations": [[{"role": "user", "content": "x", "timestamp": "2026-08-02T08:00:00Z"}]]}], []),
    ],
)  # fmt: skip
def test_every_layer_names_where_its_faults_are(value, expected):
    assert faults(value) == expected


def test_a_strict_round_needs_both_speakers():
    value = [{"sessionKey": "s", "conversations": [ROUND, ROUND[:1]]}]
    assert faults(value) == []
    assert faults(value, strict_rounds=True) == [("round", 0, 1, None)]


def test_nothing_is_handed_out_when_anything_is_wrong():
    lines = '[\n{"sessionKey": "a", "conversations": [[{"role": "user", "content": "x"}]]},\n{"conversations": [[{"role": 1}]]}\n]'
    with pytest.raises(InvalidInput, match=r"line 3: sessions\[1\]: 'sessionKey'") as caught:
        next(read_sessions(lines))
    assert [str(error) for error in caught.value.facts["errors"]] == [
        "line 3: sessions[1]: 'sessionKey' must be a string that is not empty",
        "line 3: sessions[1].conversations[0][0]: 'role' must be a string that is not empty",
        "line 3: sessions[1].conversations[0][0]: 'content' must be a string that is not empty",
    ]


def test_missing_times_are_filled_in_steps_over_all_sessions():
    found = read_sessions(json.dumps([SESSION, SESSION]).encode(), SeedOptions(fill_from=1000))
    messages = [message for session in found for message in session.messages]
    assert [message.timestamp for message in messages] == [1000, 1100, 1200, 1300]
    assert all(message.extra["timestamp_assumed"] for message in messages)


def test_a_file_without_times_takes_its_own_so_that_a_second_run_gives_the_same(tmp_path):
    path = tmp_path / "seed.json"
    path.write_text(json.dumps([SESSION]))
    os.utime(path, ns=(0, 1_785_657_600_000_000_000))
    assert [m.timestamp for s in read_sessions(path) for m in s.messages] == [1_785_657_600_000, 1_785_657_600_100]


def test_given_times_stay_in_whatever_order_they_are():
    one = [{"role": "user", "content": "x", "timestamp": stamp} for stamp in (1_785_657_600, 5, 5, -1)]
    (session,) = read_sessions(json.dumps([{"sessionKey": "s", "conversations": [one]}]).encode())
    assert [message.timestamp for message in session.messages] == [1_785_657_600, 5, 5, -1]


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        next(read_sessions(tmp_path / "none.json"))


@pytest.mark.parametrize("ends", [("[", "]"), ('{"sessions":[', "]}")], ids=["format B", "format A"])
def test_a_big_file_is_read_one_session_at_a_time(tmp_path, ends):
    path = tmp_path / "big.json"
    session = json.dumps({"sessionKey": "s", "conversations": [[{"role": "user", "content": "词" * 3000}]]})
    path.write_text(ends[0] + ",".join([session] * 2000) + ends[1])
    assert path.stat().st_size > 30_000_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_sessions(path)) == 2000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12_000_000
