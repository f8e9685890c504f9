"""A scope's whole memory as JSON lines, and back: ids, times, versions, provenance and tombstones kept.

The first line is a manifest with the number of lines of each kind and the SHA-256 of all that
follows.  It names no scope and no moment, so that exporting a re-import gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from stenolith.engine import documents
from stenolith.engine.packing import Packing
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput, StoreUnavailable
from stenolith.model.identity import Scope
from stenolith.model.message import compact_json
from stenolith.store.files import open_atomic

FORMAT = "stenolith-export"
VERSION = 1
SPOOL_BYTES = 32 * 1024 * 1024
"""Lines held in memory before they go to a temporary file; the manifest in front of them needs their checksum."""
Line = dict[str, Any]


class Exporting:
    """Writes and reads exports."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._packing = Packing(house)

    async def write(self, scope: Scope, target: IO[bytes]) -> dict[str, Any]:
        """Write the owner's memory, or one session's transcript, to *target*: the manifest, then one line a thing."""
        owner_id = await self._house.owners.find(scope)
        counts: Counter[str] = Counter()
        checksum = hashlib.sha256()
        with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
            async for line in self._lines(owner_id, scope.session_key):
                counts[line["type"]] += 1
                data = compact_json(line).encode() + b"\n"
                checksum.update(data)
                spool.write(data)
            manifest = {
                "type": "manifest",
                "format": FORMAT,
                "version": VERSION,
                "counts": dict(sorted(counts.items())),
            }
            target.write(compact_json({**manifest, "sha256": checksum.hexdigest()}).encode() + b"\n")
            spool.seek(0)
            shutil.copyfileobj(spool, target)
        return {"lines": 1 + counts.total(), "counts": dict(counts), "sha256": checksum.hexdigest()}

    def _lines(self, owner_id: int, session_key: str) -> AsyncIterator[Line]:
        if session_key:
            return self._packing.session_lines(owner_id, session_key)
        return self._packing.lines(owner_id)

    async def to_file(self, scope: Scope, path: Path) -> dict[str, Any]:
        """Write an export file (0600), whole or not at all."""
        try:
            with open_atomic(path) as handle:
                return await self.write(scope, handle)
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be written: {error.strerror or error}") from error

    async def read_all(self, scope: Scope, paths: Sequence[Path]) -> dict[str, Any]:
        """Read exports one after another and report as an import does."""
        total: Counter[str] = Counter()
        for path in paths:
            total.update(await self.read(scope, path))
        shape = {"sessions": total["session"], "messages": total["message"], "recorded": total["record"]}
        return {**shape, "restored": dict(total), "skipped": {}, "errors": []}

    async def read(self, scope: Scope, path: Path) -> dict[str, Any]:
        """Read an export into the owner's memory; what is already there is left alone.

        The checksum is verified before anything is stored.  Raises `InvalidInput` that says what is
        wrong with the file.
        """
        _verify(path)
        owner_id = await self._house.owners.intern(scope)
        restored: Counter[str] = Counter()
        async with self._house.database.transaction():
            await self._house.database.lock(owner_id)
            async for kind in self._packing.restore(owner_id, scope, _lines(path)):
                restored[kind] += 1
            await self._reindex(owner_id)
        await self._house.journal.catch_up()
        return dict(restored)

    async def _reindex(self, owner_id: int) -> None:
        house, zone = self._house, self._house.settings.zone
        after = ""
        while page := await house.records.page(owner_id, after, 1000):
            await house.index.index(documents.of_records(page, zone))
            after = page[-1].record_id
        after = ""
        while atoms := await house.atoms.export(owner_id, after, 1000):
            await house.index.index(documents.of_atoms(owner_id, [atom for atom, _ in atoms], zone))
            after = atoms[-1][0].id
        scenes = [kept.scene for kept in await house.scenes.export(owner_id)]
        await house.index.index(documents.of_scenes(owner_id, scenes))


def _lines(path: Path) -> Iterator[Line]:
    with path.open("rb") as handle:
        next(handle)
        for number, data in enumerate(handle, 2):
            try:
                yield json.loads(data)
            except ValueError as error:
                raise InvalidInput(f"{path}, line {number}: not JSON ({error})") from error


def _verify(path: Path) -> None:
    checksum = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            manifest = json.loads(handle.readline() or b"null")
            for data in handle:
                checksum.update(data)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InvalidInput(f"{path}, line 1: the manifest is not JSON ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a stenolith export: its first line is no manifest of one")
    if manifest.get("version") != VERSION:
        raise InvalidInput(f"{path} has export version {manifest.get('version')}; this stenolith reads {VERSION}")
    if manifest.get("sha256") != checksum.hexdigest():
        raise InvalidInput(f"{path} is damaged: its checksum does not match; nothing was imported")
