"""Owns the plan of a data set of dialogues of groups: who talks with whom, and how one dialogue is made.

Each is a scene of the engine that games use, in a world of its own. Nobody is to remember it: it has no closing.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kataribe import EndReason, Game, SpokenTurn
from service.public.files import (
    AgentEntry,
    CharacterProfile,
    DrawEntry,
    GroupEntry,
    GroupsFile,
    SceneParticipant,
    StagedScene,
    check_groups,
    chosen_worlds,
    name_of,
    read_form,
)
from service.public.models import Settings
from service.public.words import Language, sentence
from studio.generate.dataset import Dropped, Line, PlanRefused
from studio.generate.dialogues import PLACE, fault, on_stage, stage
from studio.generate.making import DatasetPlan, Item, spoken

_TALK = "group"
_ROLES = ("user", "assistant")


@dataclass(frozen=True, kw_only=True)
class AgentGroup:
    """People who talk with one another, with what each wants there. `name`: by which the file knows it."""

    name: str
    situation: str
    location: str
    people: Mapping[str, CharacterProfile]
    wants: Sequence[SceneParticipant]


@dataclass(kw_only=True)
class GroupsPlan(DatasetPlan):
    """The data set of a file of groups."""

    file: GroupsFile

    async def make(self, game: Game, item: Item) -> Line:
        """One dialogue.

        Raises:
            Dropped, GenerationStopped, ModelError.
        """
        group = self.group(item)
        content = stage(self.content, self.language, group.location, group.people, self.content.start)
        scene = StagedScene.model_validate(
            {
                "scene_id": _TALK,
                "location": group.location,
                "participants": group.wants,
                "turn_policy": self.file.turn_policy,
                "modulator": self.file.modulator,
                "perceptions": self.file.perceptions,
                "max_turns": self.file.rounds * len(group.wants),
                **({"situation": group.situation} if group.situation else {}),
            }
        )
        talk = await game.playing(content).world(item.id).scene(scene, talk_id=_TALK, remembered=False)
        turns = spoken(talk)
        if talk.end_reason is EndReason.STALLED:
            raise Dropped("repeats")
        messages = list(_messages(turns, self.language))
        known = [text for one in group.people.values() for text in (one.name, one.personality, *one.settled)]
        known += [text for one in group.wants for text in (one.goal.of(self.language), one.plan.of(self.language))]
        found = fault([(one["agent_id"], one["content"]) for one in messages], self.language, [*known, group.situation])
        if found is not None:
            raise Dropped(found)
        return {
            "language": self.language,
            "group": group.name,
            "situation": group.situation,
            "location": group.location,
            "participants": [
                {
                    "id": one.id,
                    "name": group.people[one.id].name,
                    "profile": group.people[one.id].personality,
                    "goal": one.goal.of(self.language),
                    "plan": one.plan.of(self.language),
                }
                for one in group.wants
            ],
            "messages": messages,
        }

    def text_of(self, line: Line) -> str:
        """What was done and said."""
        return "\n".join(one["content"] for one in line["messages"])

    def counts(self, line: Line) -> Mapping[str, int]:
        """Turns, and dialogues by their number of people."""
        size = len(line["participants"])
        return {"turns": len(line["messages"]), **{f"groups_of_{n}": int(n == size) for n in (2, 3, 4)}}

    def group(self, item: Item) -> AgentGroup:
        """That of the file under this number; behind them one that is drawn."""
        if item.number < len(self.file.groups):
            return self._written(self.file.groups[item.number], item.number)
        assert self.file.draw is not None  # noqa: S101 - the plan counts no more
        return self._drawn(self.file.draw, item.rng)

    def _written(self, entry: GroupEntry, number: int) -> AgentGroup:
        return AgentGroup(
            name=entry.id or str(number + 1),
            situation=entry.situation.of(self.language),
            location=self._place(entry.location.of(self.language)),
            people={one.id: self._profile(one, one.profile.of(self.language)) for one in entry.agents},
            wants=[
                SceneParticipant.model_validate(one.model_dump(include={"id", "goal", "plan"}, exclude_unset=True))
                for one in entry.agents
            ],
        )

    def _profile(self, entry: AgentEntry, personality: str) -> CharacterProfile:
        if not entry.is_own:
            return on_stage(self.content.cast(self.language), entry.id)
        name = name_of(entry, self.language)
        return CharacterProfile(id=entry.id, name=name, personality=personality, home=PLACE)

    def _drawn(self, draw: DrawEntry, rng: random.Random) -> AgentGroup:
        """Different people, each with one of its own goals."""
        cast = self.content.cast(self.language)
        people = sorted(draw.cast or (*cast.characters, *cast.npcs))
        chosen = [on_stage(cast, one) for one in rng.sample(people, rng.randint(*draw.size))]
        places = [one.of(self.language) for one in draw.locations] or sorted(cast.world_map.nodes)
        situations = [one.of(self.language) for one in draw.situations]
        goals = [one.of(self.language) for one in draw.goals]
        return AgentGroup(
            name="draw",
            situation=rng.choice(situations or [""]),
            location=self._place(rng.choice(places)),
            people={one.id: one for one in chosen},
            wants=[
                SceneParticipant.model_validate({"id": one.id} | ({"goal": goal} if goal else {}))
                for one in chosen
                for goal in (rng.choice([own.goal for own in one.goals] or goals or [""]),)
            ],
        )

    def _place(self, location: str) -> str:
        """In words."""
        places = self.content.cast(self.language).world_map
        said = places.label(location) if location in places.nodes else location
        return said or sentence(self.language, "generate.place")


def groups_plan(path: Path, settings: Settings, seed: int | None = None) -> GroupsPlan:
    """The plan that the file describes; `seed` instead of its own.

    Raises:
        PlanRefused: it names everything that is wrong with the file.
        ContentErrors: the game's files have errors.
    """
    game = chosen_worlds(settings).content
    known = game.checked
    file = read_form(
        GroupsFile, path, lambda one: check_groups(path.name, one, known.names, known.nodes), refused=PlanRefused
    )
    language = file.language or settings.world.language or game.default_language
    cast = game.cast(language)
    made_from = {
        **file.model_dump(mode="json", by_alias=True, exclude={"seed": True, "draw": {"count"}}),
        "people": {one: on_stage(cast, one).model_dump(mode="json") for one in sorted(_of_the_game(file, known.names))},
    }
    return GroupsPlan(
        kind="groups",
        count=file.count,
        seed=file.seed if seed is None else seed,
        language=language,
        made_from=made_from,
        content=game,
        file=file,
        remembers=False,
    )


def _of_the_game(file: GroupsFile, everybody: Mapping[str, Any]) -> set[str]:
    """Ids of people of the game who may take part."""
    drawn = (file.draw.cast or everybody) if file.draw else ()
    return {*drawn, *(one.id for group in file.groups for one in group.agents if not one.is_own)}


def _messages(turns: Sequence[SpokenTurn], language: Language) -> Iterator[dict[str, str]]:
    """Every other one is an assistant's, with what it thought."""
    for number, turn in enumerate(turns):
        role = _ROLES[number % 2]
        done = sentence(language, "among.act", act=turn.act) if turn.act else ""
        content = " ".join(filter(None, (done, turn.text)))
        message = {"role": role, "agent_id": turn.speaker_id, "content": content}
        yield {**message, "reasoning": turn.think} if role == "assistant" else message
