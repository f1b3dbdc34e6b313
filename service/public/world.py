"""Owns one world as the Python API shows it: its people talk, remember, live on, and are kept as they stand."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from service.content.fields import Flag
from service.content.made import read_made
from service.content.profile import Profile
from service.content.scenes import Scene
from service.conversation.human import Words, say
from service.conversation.prompt import Goal
from service.conversation.scenes import begin, go_on, read_scene
from service.conversation.start import Start, start, start_with_player
from service.conversation.stream import ALL
from service.conversation.surveys import AnswerForm, PersonAnswer, Survey, require_actor
from service.conversation.turn_taking import OPENER, PARTNER
from service.conversation.writing import Form, Wanted, write
from service.core import Core
from service.errors import existing, usable
from service.export.files import export_to, read_file
from service.export.story import Imported, StorySpan
from service.history.rewind import PastMoment
from service.memory.authoring import Author
from service.memory.recall import PersonMemory, recall
from service.memory.record import Group, Item
from service.memory.seed_lines import GivenLine, Statement, Summary, Turn
from service.memory.seeding import Seeded, seed
from service.people.attitude import set_affinity
from service.people.person import levels_of, positions, read_person
from service.people.worlds import WorldView
from service.public.events import Moment, StoryEvent, story_after
from service.public.talk import Conversing, Talk, read_talk
from service.runtime import snapshots
from service.runtime.client_actions import begin_talk, set_decision, sleep, walk
from service.runtime.made_people import put_person
from service.runtime.snapshots import WorldSnapshot
from service.runtime.world_clock import advance_clock, clock_and_target
from service.runtime.world_edits import set_flags
from service.runtime.world_session import WorldSession
from service.store.events import events_after, last_event
from service.store.jobs import JobKind
from service.store.phase import Phase
from service.store.tables import (
    ConversationKey,
    ConversationRow,
    EventRow,
    JobKey,
    PersonRow,
    SummaryRow,
    UsageRow,
    takes_part,
)
from service.store.usage import usage_rows
from world.life import Position, Segment
from world.time import WorldTime

LOOK_SECONDS = 0.1
"""How often it is told how far a world is."""

Past = Statement | Turn | Summary


class World:
    """One world of a game. Whatever it is asked to do is written down when the call returns."""

    def __init__(self, core: Core, world_id: str) -> None:
        self.id = world_id
        self._core = core
        self._talk = core.conversation

    async def view(self) -> WorldView:
        """The world as it stands: `now`, `language`, `map`, `cast` (everybody's profile), weather, flags."""
        return await self._core.read(self.id, lambda _, world: world)

    async def people(self) -> Mapping[str, Profile]:
        """Everybody's profile by id: characters, NPCs, players."""
        return (await self.view()).cast.everybody

    async def where(self) -> Mapping[str, Position]:
        """Everybody's place by id; players who stand nowhere are left out."""
        return await self._core.read(self.id, positions)

    async def put(self, person_id: str, **profile: Any) -> None:
        """Make a person, or change it. `profile` has the keys of a person's file, and its `kind`: `put("mika",
        kind="player", name="Mika")`.

        Raises:
            ProfileWrong: it names everything that is wrong.
        """
        made = read_made(person_id, json.dumps(profile, ensure_ascii=False).encode())
        worlds = self._talk.worlds
        await self._core.world_runner.command(self.id, lambda s, lived: put_person(s, worlds, lived, made))

    def converse(
        self,
        person_id: str,
        partner_id: str,
        *,
        goal: str = "",
        success: str = "",
        max_turns: int | None = None,
        told: Sequence[str] = (),
        talk_id: str = "",
    ) -> Conversing:
        """Let a character talk with whom it stands beside: awaited, the closed `Talk`; iterated, its turns as they are
        spoken. Without a `goal` it sets one itself; `success` says when the goal is reached. `told` is what is going on
        around them.

        Raises:
            NotFound, Busy, Walking, NotBeside, NoWayThere: the two cannot talk now.
            ModelNotConfigured, BudgetExhausted: nobody speaks.
        """
        wanted = Start(
            opener_id=person_id,
            partner_id=partner_id,
            goal=Goal(goal=goal, success_criteria=success or goal) if goal else None,
            max_turns=max_turns or self._talk.settings.max_turns,
            told=tuple(told),
            conversation_id=talk_id,
        )
        return Conversing(self._core, partial(self._begin, wanted))

    async def _begin(self, wanted: Start) -> ConversationKey:
        models = self._talk.models.names()

        def apart(session: Session, world: WorldView) -> ConversationKey:
            begins = start_with_player if wanted.opener_id in world.cast.players else start
            return begins(session, world, wanted, models).key

        if self._core.lives:
            return await self._core.start_talk(self.id, lambda s, lived: begin_talk(s, lived, wanted, models))
        return await self._core.write(self.id, apart)

    async def say(
        self,
        player_id: str,
        person_id: str,
        text: str,
        *,
        max_turns: int | None = None,
        talk_id: str = "",
        remembered: bool = True,
    ) -> Talk:
        """Say something to somebody, wherever the two are, as a player (`put` makes one). The first words begin a
        conversation, later ones go on with it. Answers the conversation with what was said to it (`Talk.answer`).

        Raises:
            NotFound: there is no such player or person.
            NotYourTurn, Invalid: nothing can be said now.
            ModelNotConfigured: nobody answers.
        """
        self._core.require_models()
        key = await self._core.read(self.id, lambda s, _: _open_talk(s, self.id, player_id, person_id))
        if key is None:
            most = max_turns or self._talk.settings.max_turns_with_player
            wanted = Start(
                opener_id=player_id, partner_id=person_id, max_turns=most, place_waived=True, conversation_id=talk_id
            )
            key = await self._begin(wanted)
        words, worlds, found = Words(text=text), self._talk.worlds, key
        await self._core.say(found, lambda s: say(s, worlds, found, words), wait=True)
        return await read_talk(self._core, found)

    async def end(self, talk_id: str) -> Talk:
        """End a conversation that runs, and have it remembered."""
        key = ConversationKey(self.id, talk_id)
        await self._core.end_talk(key)
        await self._core.carry(key)
        return await read_talk(self._core, key)

    async def talk(self, talk_id: str) -> Talk:
        """A conversation of this world as it stands. Raises: NotFound."""
        return await read_talk(self._core, ConversationKey(self.id, talk_id))

    async def recall(
        self,
        person_id: str,
        *,
        about: str | None = None,
        asking: str = "",
        limit: int = 20,
        at: WorldTime | None = None,
    ) -> PersonMemory:
        """What somebody remembers: of a person (`about`), of a question (`asking`), or of both; `at`: as it was known
        at that world time. Raises: NotFound.
        """
        world = await self.view()
        for named in filter(None, (person_id, about)):
            world.cast.person(named)
        database, memory = self._talk.database, self._talk.memory
        return await recall(database, memory, world, person_id, about, query=asking, limit=limit, at=at)

    async def memories(self, person_id: str) -> Sequence[Item]:
        """All that somebody remembers, one by one. Raises: NotFound."""
        world = await self.view()
        return await self._talk.memory.items(
            Group(world_id=self.id, person_id=world.cast.person(person_id).id), world.now
        )

    async def remember(self, person_id: str, *past: str | Past, by: str = "") -> Seeded:
        """Give somebody a past: a sentence, or a `Statement`, a `Turn` or a `Summary` of an earlier talk. What was
        given before changes nothing. `by`: who does it, for the audit.

        Raises:
            LinesWrong: it names everything that is wrong; nothing was written.
        """
        lines = [Statement(id=one, statement=one) if isinstance(one, str) else one for one in past]
        given = [GivenLine(where=f"past[{number}]", line=line) for number, line in enumerate(lines)]
        memory, author = self._talk.memory, Author(name=by)
        done = await self._core.write(self.id, lambda s, world: seed(s, world, memory, person_id, given, author))
        await self._core.jobs.submit(JobKey(self.id, JobKind.VECTORS, person_id))
        await self._core.bring_on(self.id, person_id)
        return done

    async def summaries(self, person_id: str) -> Sequence[SummaryRow]:
        """What somebody remembers of its conversations as wholes, oldest first."""
        query = select(SummaryRow).where(SummaryRow.world_id == self.id, SummaryRow.person_id == person_id)
        return await self._talk.database.read(lambda s: s.exec(query.order_by(col(SummaryRow.at))).all())

    async def tick(self, minutes: int) -> Sequence[EventRow]:
        """Let the world live on for so many world minutes, in whole ticks; answers what happened.

        Raises:
            TickTooLong: it is more than `KATARIBE_WORLD__MAX_TICK_MINUTES`.
        """
        before = await self.last_event()
        step = await self._core.world_runner.tick(self.id, -(-minutes // self._talk.settings.world.tick_minutes))
        await self._core.world_runner.wait(self.id, step.after)
        return await self.events(after=before)

    async def live(self, minutes: int = 0) -> AsyncIterator[Moment]:
        """Let the world go on to where it was told to go before, and then so many minutes; tells how far it is."""
        until, runner = await self.bound_for(), self._core.world_runner
        if minutes > 0:
            until = (await runner.tick(self.id, -(-minutes // self._talk.settings.world.tick_minutes))).after
        now = (await self.view()).now
        moving = asyncio.create_task(runner.wait(self.id, until))
        try:
            with self._talk.stream.mailbox(ALL) as box:
                while not moving.done():
                    await asyncio.wait({moving}, timeout=LOOK_SECONDS)
                    run = runner.run_of(self.id)
                    now, in_flight = (run.settled, run.in_flight) if run else (now, 0)
                    grown = {key.conversation_id: one for key, one in box.take()[1].items() if key.world_id == self.id}
                    yield Moment(now=now, until=until, in_flight=in_flight, speaking=grown)
            moving.result()
            yield Moment(now=until, until=until, speaking={})
        finally:
            moving.cancel()

    async def bound_for(self) -> WorldTime:
        """The moment to which the world was told to go; its own, where it stands."""
        return (await self._talk.database.read(lambda s: clock_and_target(s, self._talk.worlds, self.id)))[1]

    async def let_decide(self, how: Mapping[str, str]) -> None:
        """Set how characters decide from now on, by their ids: by `model`, `routine` or `client`."""
        query = select(PersonRow.person_id, PersonRow.decision).where(PersonRow.world_id == self.id)
        if how.items() <= dict(await self._talk.database.read(lambda s: s.exec(query).all())).items():
            return

        def work(session: Session, lived: WorldSession) -> None:
            for person_id, decision in how.items():
                set_decision(session, lived, person_id, decision)

        await self._core.world_runner.command(self.id, work)

    async def needs(self) -> Mapping[str, Mapping[str, float]]:
        """The levels of every character's needs, by person and need id."""

        def work(session: Session, world: WorldView) -> dict[str, Mapping[str, float]]:
            needs = world.setting.catalogue.needs
            rows = session.exec(select(PersonRow).where(PersonRow.world_id == world.id))
            lives = {row.person_id: read_person(row.life, needs) for row in rows if row.life is not None}
            levels = {one: levels_of(world, one, lives.get(one)) for one in world.cast.characters}
            return {person_id: needs.at(one, max(world.now, one.since)) for person_id, one in levels.items()}

        return await self._core.read(self.id, work)

    async def usage(self) -> Sequence[UsageRow]:
        """What models have cost in this world, by world day and role."""
        return await self._talk.database.read(lambda s: usage_rows(s, self.id))

    async def skip_to(self, moment: WorldTime) -> None:
        """Set the clock of a world in which nobody lives on to that moment."""
        await self._core.write(self.id, lambda s, world: advance_clock(s, world, moment))

    async def events(self, *, after: int = 0, limit: int = 10_000) -> Sequence[EventRow]:
        """What happened, oldest first, after the event of that id."""
        return await self._talk.database.read(lambda s: events_after(s, self.id, after, limit))

    async def last_event(self) -> int:
        """The id of the newest event; 0: nothing has happened."""
        return await self._talk.database.read(lambda s: last_event(s, self.id))

    async def story(self, *, after: int = 0, limit: int = 300) -> Sequence[StoryEvent]:
        """The same as `events`, each with its conversation and what is remembered of it."""
        return await self._core.read(self.id, lambda s, world: story_after(s, world, after, limit))

    async def walk(self, person_id: str, *, to_person: str | None = None, to_place: str | None = None) -> Segment:
        """Send a character on its way, to somebody's side or to a facility; it goes as `tick` lets time pass.

        Raises:
            NotFound, Busy, NoWayThere, FacilityClosed: it cannot go there.
        """
        return await self._core.world_runner.command(
            self.id,
            lambda s, lived: walk(s, lived, person_id, npc_id=to_person, facility_id=to_place),
            keeps_decisions=True,
        )

    async def sleep(self, person_id: str) -> int:
        """Let a character sleep, which empties its day; answers how many conversations that cleared."""
        return await self._core.world_runner.command(
            self.id, lambda s, lived: sleep(s, lived, person_id), keeps_decisions=True
        )

    async def flags(self, **flags: Flag | None) -> None:
        """Set flags of the game, which lore and secrets may depend on; None takes one away."""
        await self._core.world_runner.command(self.id, lambda s, lived: set_flags(s, lived, flags))

    async def feel(self, person_id: str, towards: str, affinity: int) -> None:
        """Set how much somebody likes another, from -100 to 100."""
        await self._core.write(self.id, lambda s, w: set_affinity(s, w, person_id, towards, affinity, "given"))

    async def scene(
        self,
        scene: str | Scene | Mapping[str, Any],
        *,
        turns: int | None = None,
        talk_id: str = "",
        remembered: bool = True,
    ) -> Talk:
        """Play a scene: the id of one of the game's files, or a whole one as such a file has it. It goes on for so many
        turns (None: to its end). Where nobody lives it need not be `remembered`.

        Raises:
            NotFound: there is no such scene, or no such person in it.
            SceneWrong: it names everything that is wrong.
        """
        self._core.require_models()
        names = self._talk.models.names()
        key = await self._core.write(
            self.id, lambda s, world: begin(s, world, _scene_of(s, world, scene), names, talk_id).key
        )
        return await self.go_on(key.conversation_id, turns, remembered=remembered)

    async def go_on(self, talk_id: str, turns: int | None = 1, *, remembered: bool = True) -> Talk:
        """Let a scene that stands go on for so many turns (None: to its end)."""
        key = ConversationKey(self.id, talk_id)
        await self._talk.database.write(lambda s: go_on(s, self._talk.worlds, key, turns))
        await self._core.carry(key, closes=remembered)
        return await read_talk(self._core, key)

    async def survey(
        self,
        question: str,
        *,
        people: Sequence[str] | None = None,
        choices: Sequence[str] = (),
        least: float | None = None,
        most: float | None = None,
        shown: str = "",
        remember: bool = False,
    ) -> list[PersonAnswer]:
        """Ask many people (None: everybody) the same: one of `choices`, a number from `least` to `most`, or words.
        `shown` is what they are shown before. With `remember` they know that they were asked.

        Raises:
            NotFound, Invalid: somebody cannot be asked.
        """
        self._core.require_models()
        world = await self.view()
        ids = [require_actor(world, one).id for one in people or (*world.cast.npcs, *world.cast.characters)]
        asked = Survey(
            question=question, stimulus=shown, form=AnswerForm(choices=tuple(choices), least=least, most=most)
        )
        return await self._core.survey(world, asked, ids, remember=remember)

    async def write(self, person_id: str, form: Form, *, about: str = "", to: str | None = None) -> str:
        """Words in character that are no conversation: a `bark`, a `letter` (to somebody), a page of a `diary`. Nobody
        remembers them.
        """
        self._core.require_models()
        wanted = Wanted(person_id=person_id, form=form, to_id=to, about=about)
        return (await write(self._talk, await self.view(), wanted)).text

    async def snapshot(self, name: str) -> WorldSnapshot:
        """Keep the world as it stands; one of that name is replaced."""
        return await snapshots.keep(self._talk, self.id, name)

    async def restore(self, name: str) -> None:
        """Bring the world back to a snapshot. Raises: NotFound, SnapshotUnusable."""
        await self._core.restore(self.id, name)

    async def branch(self, to_world: str, *, snapshot: str | None = None, at: WorldTime | None = None) -> "World":
        """Begin another world that is this one up to now, to a snapshot, or to an earlier minute.

        Raises:
            WorldExists, NotFound, SnapshotUnusable, Invalid: it cannot begin.
        """
        await self._core.branch(self.id, to_world, snapshot, None if at is None else PastMoment(at=at))
        return World(self._core, to_world)

    async def remove(self) -> None:
        """Forget the world wholly; it may begin anew."""
        await self._core.forget_world(self.id)

    async def export(self, file: Path) -> int:
        """Write all there is of the world into a file of JSON lines; answers how many.

        Raises:
            NoSuchWorld: nothing has happened in it.
            FileUnusable: it cannot be written.
        """
        names = {language: cast.world_name for language, cast in self._talk.worlds.content.casts.items()}
        return await asyncio.to_thread(export_to, self._talk.settings, self.id, names, StorySpan(), file)

    async def import_(self, file: Path) -> Imported:
        """Read what `export` has written into this world, which has not lived: all of it or nothing.

        Raises:
            BadLine: a line is not as it should be.
            WorldHasLived: this world has begun.
            FileUnusable: it cannot be read.
        """

        with usable(file):
            read = await self._core.world_runner.rewrite(self.id, lambda s: read_file(s, self.id, file))
        await self._core.bring_on(self.id)
        return read


def _scene_of(session: Session, world: WorldView, scene: str | Scene | Mapping[str, Any]) -> Scene:
    if isinstance(scene, Scene):
        return scene
    if not isinstance(scene, str):
        return read_scene(session, world, dict(scene))
    return existing(world.cast.scenes.get(scene), "scene", scene)


def _open_talk(session: Session, world_id: str, player_id: str, person_id: str) -> ConversationKey | None:
    """The conversation that a player has with a person; None: none runs."""
    query = select(ConversationRow).where(
        ConversationRow.world_id == world_id,
        ConversationRow.phase == Phase.RUNNING,
        takes_part(player_id, OPENER),
        takes_part(person_id, PARTNER),
    )
    row = session.exec(query.order_by(col(ConversationRow.id).desc())).unique().first()
    return None if row is None else row.key
