"""Vectors: what is stored, what is near, and that the cache keeps up with every process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from stenolith.errors import InvalidInput
from stenolith.model.identity import Scope
from stenolith.store.database import Database
from stenolith.store.matrix import EXACT_ROWS, Nearness, Place, build
from stenolith.store.owners import Owners
from stenolith.store.search import Layer
from stenolith.store.vectors import Shelf, Vectors
from stenolith.testing.search import World


def _rows(count: int, dim: int = 64, seed: int = 1) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _shelf(owner: int = 1, model: str = "m", layer: Layer = Layer.ATOM) -> Shelf:
    return Shelf(owner_id=owner, layer=layer, model_id=model)


def _named(rows: Sequence[np.ndarray], start: int = 0) -> dict[str, np.ndarray]:
    return {f"atm_{start + at:06d}": row for at, row in enumerate(rows)}


async def _near(vectors: Vectors, shelf: Shelf, query: np.ndarray, count: int = 3) -> list[str]:
    found = await vectors.nearest(shelf, query)
    return [] if found is None else found.best(count)


async def test_the_nearest_rows_are_those_of_the_largest_cosine(database: Database) -> None:
    vectors, rows = Vectors(database), _rows(30)
    await vectors.put(_shelf(), _named(rows))
    query = _rows(1, seed=9)[0]
    expected = [f"atm_{at:06d}" for at in np.argsort(-(rows @ query))[:3]]
    assert await _near(vectors, _shelf(), query) == expected


async def test_the_mean_is_frozen_at_fifty_rows_and_taken_out_of_both_sides(database: Database) -> None:
    common = 4 * _rows(1, seed=5)[0]
    rows = _rows(60) + common
    vectors = Vectors(database)
    await vectors.put(_shelf(), _named(rows[:30]))
    await vectors.put(_shelf(), _named(rows[30:], 30))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    mean = unit[:50].mean(axis=0)
    query = _rows(1, seed=8)[0] + common
    query /= np.linalg.norm(query)
    centred, asked = unit - mean, query - mean
    cosines = (centred / np.linalg.norm(centred, axis=1, keepdims=True)) @ (asked / np.linalg.norm(asked))
    found = await vectors.nearest(_shelf(), query)
    assert found is not None
    order = np.argsort(-cosines)
    assert found.best(5) == [f"atm_{at:06d}" for at in order[:5]]
    expected = (cosines - cosines.mean()) / cosines.std()
    assert found.closeness(["atm_000007", "atm_none"]) == {"atm_000007": pytest.approx(expected[7], abs=0.02)}


@pytest.mark.parametrize("bad", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
async def test_a_vector_without_a_direction_is_not_stored(database: Database, bad: list[float]) -> None:
    vectors = Vectors(database)
    with pytest.raises(InvalidInput):
        await vectors.put(_shelf(), {"a": np.array([1.0, 0.0]), "b": np.array(bad)})
    assert await database.fetch("SELECT * FROM vectors") == []


async def test_lengths_and_models_never_mix(database: Database) -> None:
    vectors = Vectors(database)
    await vectors.put(_shelf(), _named(_rows(3)))
    with pytest.raises(InvalidInput, match="gave vectors of 32 numbers, before 64"):
        await vectors.put(_shelf(), _named(_rows(1, dim=32), 10))
    with pytest.raises(InvalidInput):
        await vectors.put(_shelf(), {"a": np.ones(2), "b": np.ones(3)})
    assert await vectors.nearest(_shelf(model="other"), _rows(1)[0]) is None
    assert await vectors.nearest(_shelf(), _rows(1, dim=32)[0]) is None
    assert await vectors.models() == ["m"]


async def test_owners_and_layers_never_mix(database: Database) -> None:
    vectors, rows = Vectors(database), _rows(2)
    await vectors.put(_shelf(1), {"a": rows[0]})
    await vectors.put(_shelf(2), {"b": rows[0]})
    await vectors.put(_shelf(1, layer=Layer.RECORD), {"r": rows[0]})
    assert await _near(vectors, _shelf(1), rows[0]) == ["a"]
    await vectors.remove(2, Layer.ATOM, ["a"])
    assert await _near(vectors, _shelf(1), rows[0]) == ["a"]


async def test_another_process_s_changes_are_seen(database: Database) -> None:
    here, there, rows = Vectors(database), Vectors(database), _rows(4)
    await here.put(_shelf(), _named(rows[:2]))
    assert await _near(here, _shelf(), rows[2], 1) != ["atm_000002"]
    await there.put(_shelf(), _named(rows[2:], 2))
    assert await _near(here, _shelf(), rows[2], 1) == ["atm_000002"]
    await there.remove(1, Layer.ATOM, ["atm_000002"])
    assert "atm_000002" not in await _near(here, _shelf(), rows[2], 9)
    await there.clear()
    assert await _near(here, _shelf(), rows[2]) == []


async def test_a_large_matrix_takes_only_what_is_new(database: Database) -> None:
    vectors, rows = Vectors(database, reloaded_rows=5), _rows(12)
    await vectors.put(_shelf(), _named(rows[:8]))
    await _near(vectors, _shelf(), rows[0])
    await vectors.put(_shelf(), _named(rows[8:], 8))
    await vectors.remove(1, Layer.ATOM, ["atm_000000"])
    fresh = Vectors(database)
    for row in rows:
        assert await _near(vectors, _shelf(), row, 11) == await _near(fresh, _shelf(), row, 11)


async def test_rows_without_a_vector_are_listed_oldest_first(database: Database) -> None:
    world, vectors = World(database), Vectors(database)
    ana = await world.owner("ana")
    ids = await world.remember(ana, ["one", "two", "three"])
    shelf = _shelf(ana)
    assert await vectors.missing(shelf, 2) == ids[:2]
    await vectors.put(shelf, {ids[0]: _rows(1)[0]})
    assert await vectors.missing(shelf, 9) == ids[1:]
    assert await vectors.missing(_shelf(ana, model="other"), 9) == ids


async def test_anchors_tell_near_from_nothing_near(database: Database) -> None:
    vectors = Vectors(database)
    rows = _rows(20)
    await vectors.put(_shelf(), _named(rows))
    found = await vectors.nearest(_shelf(), rows[3])
    assert found is not None
    assert found.affinity(["atm_000003"]) == {}
    await vectors.put_anchors("m", list(_rows(24, seed=77)))
    found = await vectors.nearest(_shelf(), rows[3])
    assert found is not None
    assert found.affinity(["atm_000003"])["atm_000003"] > 0
    assert found.affinity(["atm_000004"])["atm_000004"] < 0
    assert await Owners(database).find(Scope(user="nobody")) == 0


def test_a_dialogue_s_turns_lend_to_their_neighbours_and_a_monologue_s_do_not() -> None:
    rows = np.eye(6, dtype=np.float32)
    query = np.eye(6, dtype=np.float32)[0]
    talk = [Place(ref_id=f"r{at}", session=1, seq=at, speaker="ab"[at % 2]) for at in range(6)]
    alone = [Place(ref_id=f"r{at}", session=1, seq=at, speaker="a") for at in range(6)]
    dialogue = Nearness(build(talk, rows, None), query)
    assert dialogue.best(3) == ["r0", "r1", "r2"]
    scores = Nearness(build(alone, rows, None), query).closeness([f"r{at}" for at in range(6)])
    assert scores["r1"] == pytest.approx(scores["r5"])


def test_the_sign_bits_choose_almost_what_the_cosines_would() -> None:
    # Clustered like real text: a thousand topics, rows around them.
    generator = np.random.default_rng(4)
    topics = generator.standard_normal((1000, 384))
    rows = topics[generator.integers(0, 1000, 22_000)] + 0.8 * generator.standard_normal((22_000, 384))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    places = [Place(ref_id=f"r{at:05d}") for at in range(len(rows))]
    assert len(rows) > EXACT_ROWS
    shortlist = build(places, rows, None)
    exact = build(places, rows, None, exact_rows=10**9)
    kept = []
    for at in range(0, 20_000, 1000):
        query = rows[at] + 0.05 * generator.standard_normal(384).astype(np.float32)
        query /= np.linalg.norm(query)
        kept.append(len(set(Nearness(exact, query).best(10)) & set(Nearness(shortlist, query).best(10))) / 10)
    assert np.mean(kept) >= 0.97
