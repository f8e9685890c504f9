"""One structured answer: ask, repair, validate, and once more with the error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from stenolith.llm.port import Completion, LanguageModel, Obstacle, Prompt, Unanswerable, Usage
from stenolith.llm.repair import is_schema, read_json

Shape = TypeVar("Shape", bound=BaseModel)
_SECOND: Final = (
    "\n\nYour previous answer could not be used: {reason}.\n"
    "Answer again: one JSON object in the form described, nothing before it and nothing after it."
)
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Shape]):
    """A validated answer.

    *usage* is that of all *calls*.  *truncated* says that the model was cut off: what it had finished
    is there, the rest is not.
    """

    value: Shape
    model: str
    usage: Usage
    calls: int = 1
    truncated: bool = False


async def structured(model: LanguageModel, prompt: Prompt, shape: type[Shape]) -> Answer[Shape]:
    """Return the model's answer as *shape*; a first answer that cannot be used costs one retry.

    Raises `ModelUnavailable` when the model cannot be asked, and `Unanswerable` when it answers
    something else twice, or nothing before it was cut off.
    """
    first = await model.complete(prompt)
    read = _read(first, shape)
    if isinstance(read, Answer):
        return read
    second = await model.complete(replace(prompt, user=prompt.user + _SECOND.format(reason=read)))
    again = _read(second, shape)
    if isinstance(again, Answer):
        return replace(again, usage=first.usage + second.usage, calls=2)
    obstacle = Obstacle.TOO_LONG if second.truncated else Obstacle.UNREADABLE
    raise Unanswerable(f"{model.model_id} gave no usable answer to {prompt.name!r}: {again}", obstacle)


def _read(completion: Completion, shape: type[Shape]) -> Answer[Shape] | str:
    """Return the answer, or in a few words why there is none; the words of the answer are not among them."""
    reason = "it was cut off before it said anything" if completion.truncated else "it holds no JSON"
    for found in read_json(completion.text):
        if is_schema(found.value):
            reason = "it repeats the schema instead of filling it"
            continue
        try:
            value = shape.model_validate(found.value)
        except ValidationError as error:
            reason = _explain(error)
            continue
        return Answer(
            value=value,
            model=completion.model,
            usage=completion.usage,
            truncated=completion.truncated or not found.whole,
        )
    return reason


def _explain(error: ValidationError) -> str:
    """Name the places that are wrong, without their values."""
    places = [f"{'.'.join(map(str, item['loc'])) or 'the answer'}: {item['type']}" for item in error.errors()]
    return "; ".join(places[:_SHOWN])
