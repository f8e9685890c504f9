"""Questions: recall for a model, search for whoever looks on purpose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from stenolith.curate.threats import scan
from stenolith.engine.wiring import House
from stenolith.errors import InvalidInput
from stenolith.model.identity import Scope
from stenolith.model.message import mended
from stenolith.recall.context import Context, Request
from stenolith.recall.find import Finder
from stenolith.recall.flow import Recall
from stenolith.recall.ports import Sources
from stenolith.recall.search import Inquiry, Search
from stenolith.store.search import Filter, Layer

LAYERS: Final = {"memories": Layer.ATOM, "conversations": Layer.RECORD, "scenes": Layer.SCENE}
MOST: Final = 1000
"""The most that one question may ask for."""


class Asking:
    """Recall and search over the stores of a home. Close it: late arms may still run."""

    def __init__(self, house: House) -> None:
        self._house = house
        sources = Sources(
            finder=Finder(house.search, house.vectors, house.embedder),
            atoms=house.atoms,
            records=house.records,
            scenes=house.scenes,
            persona=house.personas,
            scan=scan,
        )
        self._recall = Recall(sources, house.settings.zone, house.now)
        self._search = Search(sources, house.settings.zone)

    async def close(self) -> None:
        """Stop the arms that were left behind."""
        await self._recall.close()
        await self._search.close()

    async def recall(self, scope: Scope, wish: Request) -> Context:
        """Return the context for a request under a scope."""
        _check_limit(wish.limit)
        for name, unit, value in (("budget", "characters", wish.budget_chars), ("deadline", "ms", wish.deadline_ms)):
            if value < 1:
                raise InvalidInput(f"{name} is 1 or more {unit}; got {value}")
        wish = replace(wish, query=mended(wish.query))
        return await self._recall.recall(await self._house.owners.find(scope), wish)

    async def search(self, layer: str, query: str, scope: Scope, *, limit: int, filters: Filter) -> dict[str, Any]:
        """Return the best matches of one layer under a scope."""
        if layer not in LAYERS:
            raise InvalidInput(f"what can be searched: {', '.join(LAYERS)}; got {layer!r}")
        _check_limit(limit)
        patience = self._house.settings.recall.search_deadline_ms
        inquiry = Inquiry(
            layer=LAYERS[layer], query=mended(query), conditions=filters, limit=limit, deadline_ms=patience
        )
        return (await self._search.search(await self._house.owners.find(scope), inquiry)).to_dict()


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"limit runs from 1 to {MOST}; got {limit}")
