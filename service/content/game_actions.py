"""What people may ask of the game while they talk (`gameActions` of actions.json): its form, and what is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from service.content.fields import (
    LARGEST_NUMBER,
    UNWRITTEN,
    ContentModel,
    FlagEntry,
    ListOf,
    Number,
    Slug,
    Text,
    Words,
)
from service.locales import Language

LONGEST_ARGUMENT = 200
"""Most characters of a text where the author sets no bound: small models run on where there is none."""
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
_LONGEST_MINUTES = 525_600


class ArgumentEntry(ContentModel):
    """One argument, in JSON Schema."""

    type: Literal["string", "integer", "number", "boolean"] = Field(description="what it is / 値の型")
    description: Text = Field(default=UNWRITTEN, description="what it means, for the model / モデルに伝える意味")
    enum: ListOf[Words] = Field(default=(), description="the only texts it may be / とりうる文字列")
    minimum: Number | None = Field(default=None, description="the least number / 最小の数")
    maximum: Number | None = Field(default=None, description="the greatest number / 最大の数")
    max_length: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="most characters; left out: 200 / 最大の文字数。なければ 200"
    )


class ArgumentsEntry(ContentModel):
    """The arguments of an action, in JSON Schema: an object of plain values."""

    type: Literal["object"] = Field(default="object", description="always `object` / 常に `object`")
    properties: dict[Words, ArgumentEntry] = Field(default={}, description="each argument by its name / 引数(名前ごと)")
    required: ListOf[Words] = Field(default=(), description="those that must be there / 必ず要る引数")


class RequiresEntry(ContentModel):
    """What must be so for the action to be offered."""

    affinity: Annotated[int, Field(ge=-100, le=100)] | None = Field(
        default=None, description="the person likes the other at least so much / 相手への好感度がこの値以上"
    )
    item: Text = Field(default=UNWRITTEN, description="the person carries this thing / この物を持っている")
    flags: dict[str, FlagEntry] = Field(
        default={},
        description="each of these flags of the world is so (`PUT /world/flags`); one that was never set is false / "
        "世界のフラグ(`PUT /world/flags`)がこの値。設定されていないフラグは false",
    )


class ScopeEntry(ContentModel):
    """Where the action is offered."""

    nodes: ListOf[str] = Field(default=(), description="ids of nodes; left out: any / ノードのid。なければどこでも")
    maps: ListOf[str] = Field(default=(), description="ids of maps; left out: any / マップのid。なければどこでも")


class GameActionEntry(ContentModel):
    """Something that the game does for a person who talks with a player."""

    id: Slug = Field(description="the id the game knows it by / ゲームが知っているid")
    description: Text = Field(description="what it is, for the model and for memories / 何をするか(モデルと記憶のため)")
    arguments: ArgumentsEntry = Field(
        default=ArgumentsEntry(), description="JSON Schema of its arguments / 引数のJSON Schema"
    )
    who: ListOf[str] = Field(
        default=(),
        description="ids of people, or `npc`, `character`; left out: everybody / "
        "人物のid、または `npc`、`character`。なければ誰でも",
    )
    requires: RequiresEntry = Field(
        default=RequiresEntry(), description="what must be so for it to be offered / 使える条件"
    )
    scope: ScopeEntry = Field(default=ScopeEntry(), description="where it is offered / 使える場所")
    confirm: bool = Field(
        default=True,
        description="false: it counts as done as soon as it is asked for; else the game says whether it is / "
        "false なら頼んだ時点で済んだことになる。そうでなければゲームの返事を待って決まる",
    )
    cooldown_minutes: Annotated[int, Field(ge=0, le=_LONGEST_MINUTES)] = Field(
        default=0,
        description="world minutes after it was done in which the same person does not do it again / "
        "済んだあと、同じ人物が繰り返せない世界時間の分",
    )
    await_result: bool = Field(
        default=False,
        description="the answer to what the player says next waits for the game's word / "
        "プレイヤーの次の発言への返事は、ゲームの返事を待つ",
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GameAction:
    """An action of the game in one language. `arguments` is the form of its arguments, by the author's names; `item` is
    "" where nothing must be carried.
    """

    id: str
    description: str
    arguments: type[BaseModel]
    item: str
    entry: GameActionEntry

    @property
    def told(self) -> str:
        """The line of a prompt that says what it is."""
        return f"{self.id}: {self.description}"


def game_actions(entries: tuple[GameActionEntry, ...], language: Language) -> dict[str, GameAction]:
    """What people may ask for, by id."""
    return {
        one.id: GameAction(
            id=one.id,
            description=one.description.of(language),
            arguments=_form(one, language),
            item=one.requires.item.of(language),
            entry=one,
        )
        for one in entries
    }


def _form(entry: GameActionEntry, language: Language) -> type[BaseModel]:
    """A model whose fields are called by number: an author's names may be anything."""
    arguments = entry.arguments
    fields: dict[str, Any] = {
        f"argument_{number}": _field(name, one, language, is_required=name in arguments.required)
        for number, (name, one) in enumerate(arguments.properties.items())
    }
    return create_model(f"{entry.id}_arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _field(name: str, entry: ArgumentEntry, language: Language, *, is_required: bool) -> tuple[Any, Any]:
    kind: Any = Literal[entry.enum] if entry.enum else _TYPES[entry.type]
    bounds: dict[str, Any] = {}
    if entry.type in ("integer", "number"):
        bounds = {
            "ge": _TYPES[entry.type](-LARGEST_NUMBER if entry.minimum is None else entry.minimum),
            "le": _TYPES[entry.type](LARGEST_NUMBER if entry.maximum is None else entry.maximum),
        }
        bounds |= {"allow_inf_nan": False} if entry.type == "number" else {}
    elif entry.type == "string" and not entry.enum:
        bounds = {"max_length": entry.max_length or LONGEST_ARGUMENT}
    kind = Annotated[kind, Field(**bounds)] if bounds else kind
    told: dict[str, Any] = {"alias": name, "description": entry.description.of(language) or None}
    return (kind, Field(**told)) if is_required else (kind | None, Field(default=None, **told))
