"""Owns when somebody speaks to a player first: who stands beside one, has a reason, and may.

By a rule, without a model, whenever the world leaves a minute that `LOOK_MINUTES` divides: all is settled there, so
nobody waits for anybody, and who is opened to is a function of the world as it stands (docs/decisions).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlmodel import Session, col, select

from service.content.fields import clipped
from service.conversation.prompt import Goal
from service.conversation.start import Start, open_to_player
from service.llm.chat import Role
from service.memory.mind import mid_term_memories
from service.memory.secrets import discretion
from service.people.attitude import Attitude, attitudes_among
from service.people.commitments import open_commitments
from service.people.person import standing_players
from service.people.worlds import WorldView
from service.runtime.client_actions import hold
from service.runtime.world_session import WorldSession, next_letting_go
from service.store.events import log_command
from service.store.ids import id_at
from service.store.phase import OpenedFor
from service.store.tables import ConversationRow, ParticipantRow, PersonRow, engaged_in
from world.time import MINUTES_PER_DAY, MINUTES_PER_HOUR, WorldTime

LOOK_MINUTES = 15
"""How often it is looked whether somebody speaks first, in world minutes."""
LEFT_ALONE_MINUTES = 30
"""How long nobody speaks first to a player after a talk, in world minutes."""
SOON_MINUTES = 2 * MINUTES_PER_HOUR
"""A promise is due when its hour, or its part of a day, is no farther off; one for a day is due on that day."""
FOND = 60
"""Affinity from which somebody speaks to a player for no other reason."""
MISSED_MINUTES = 12 * MINUTES_PER_HOUR
"""For how long the two must not have talked, in world minutes."""
REMEMBERED_DAYS = 7
"""World days in which nobody speaks first of the same matter again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reason:
    """Why somebody would speak to a player. `urgency`: the smallest comes first."""

    opened_for: OpenedFor
    matter: str = ""
    urgency: int = 0


def listening(session: Session, world: WorldView) -> dict[str, str]:
    """The players that somebody may speak to first, and where each stands."""
    if not world.settings.openings_per_day or not world.cast.players:
        return {}
    standing = standing_players(session, world)
    busy = select(PersonRow.person_id).where(PersonRow.world_id == world.id, col(PersonRow.busy).is_(True))
    return {i: standing[i] for i in sorted(standing.keys() - set(session.exec(busy)))}


def next_look(session: Session, world: WorldView, target: WorldTime) -> WorldTime:
    """How far the world may go at once towards `target`: to the next minute at which it is looked, or at which a client
    loses a character.
    """
    target = next_letting_go(session, world, target)
    if not listening(session, world):
        return target
    return min(target, WorldTime((world.now // LOOK_MINUTES + 1) * LOOK_MINUTES))


def open_talks(session: Session, world_session: WorldSession, models: dict[Role, str], max_turns: int) -> list[str]:
    """Let people speak to players first, as the world stands now; the caller commits. Answers the players."""
    world, opened = world_session.world, list[str]()
    players = listening(session, world)
    limits = _Limits(session, world)
    for player_id, node_id in players.items():
        if not limits.allow_player(player_id):
            continue
        beside = [one for one in _beside(world_session, node_id) if limits.allow_opener(one)]
        found = _best(session, world, limits, player_id, beside)
        if found is None:
            continue
        opener_id, reason = found
        facts = {"name": world.name_of(player_id), "matter": clipped(reason.matter, 120)}
        goal, criteria = (world.say(f"openings.{reason.opened_for}.{part}", **facts) for part in ("goal", "criteria"))
        wanted = Start(
            opener_id=opener_id,
            partner_id=player_id,
            goal=Goal(goal=clipped(goal, 200), success_criteria=clipped(criteria, 200)),
            opened_for=reason.opened_for,
            matter=reason.matter,
            max_turns=max_turns,
            conversation_id=id_at(world.now, world.id, opener_id, player_id),
        )
        open_to_player(session, world, wanted, models)
        if opener_id in world.cast.homes:
            hold(session, world_session, opener_id)
        limits.engaged |= {opener_id, player_id}
        opened.append(player_id)
    if opened:
        log_command(session, world.id, world.now, "opened", {})
    return opened


class _Limits:
    """Who may not be spoken to, or speak, as the store has it."""

    def __init__(self, session: Session, world: WorldView) -> None:
        self._world = world
        held = select(ParticipantRow.person_id).where(*engaged_in(world.id))
        self.engaged = set(session.exec(held))
        lately = select(ConversationRow).where(
            ConversationRow.world_id == world.id,
            ConversationRow.started_at > world.now - REMEMBERED_DAYS * MINUTES_PER_DAY,
            col(ConversationRow.opened_for).is_not(None),
        )
        self._opened = session.exec(lately).unique().all()
        talked = (
            select(ParticipantRow.person_id)
            .join(
                ConversationRow,
                (col(ConversationRow.world_id) == ParticipantRow.world_id)
                & (col(ConversationRow.id) == ParticipantRow.conversation_id),
            )
            .where(
                ParticipantRow.world_id == world.id,
                col(ParticipantRow.person_id).in_(world.cast.players),
                col(ConversationRow.ended_at).is_(None)
                | (col(ConversationRow.ended_at) > world.now - LEFT_ALONE_MINUTES),
            )
        )
        self._talked = set(session.exec(talked))

    def allow_player(self, player_id: str) -> bool:
        """It is in no talk, has not just been in one, and was not spoken to often enough today."""
        today = [
            row
            for row in self._opened
            if row.partner_id == player_id and self._world.at(WorldTime(row.started_at)).day == self._world.day
        ]
        return player_id not in self._talked and len(today) < self._world.settings.openings_per_day

    def allow_opener(self, person_id: str) -> bool:
        """It is in no talk, and has spoken to no player first for a while."""
        since = self._world.now - self._world.settings.opening_cooldown_minutes
        lately = any(row.opener_id == person_id and row.started_at > since for row in self._opened)
        return person_id not in self.engaged and not lately

    def was_told(self, opener_id: str, player_id: str, matter: str) -> bool:
        """It has spoken of this before."""
        told = (opener_id, player_id, matter)
        return any((row.opener_id, row.partner_id, row.matter) == told for row in self._opened)


def _beside(world_session: WorldSession, node_id: str) -> Iterator[str]:
    """Those beside the node who are free to talk: NPCs at their posts, and characters that could be interrupted."""
    world, core = world_session.world, world_session.core
    for npc_id, post in sorted(world.map.posts.items()):
        if world.map.next_to(post, node_id) and core.npc_talk(npc_id, world.now, seen=False) is None:
            yield npc_id
    for character_id in sorted(world.cast.homes):
        person = core.people.get(character_id)
        if person is None or world_session.how.get(character_id) == "client":
            continue
        doing = person.during(world.now)
        if doing.approachable(world.now) and world.map.next_to(doing.node_id, node_id):
            yield character_id


def _best(
    session: Session, world: WorldView, limits: _Limits, player_id: str, beside: Iterable[str]
) -> tuple[str, _Reason] | None:
    """Who speaks to the player, and why: a promise comes before news, and news before company."""
    openers = list(beside)
    attitudes = attitudes_among(session, world.id, [*openers, player_id], world.now) if openers else {}
    known = {one.content for one in mid_term_memories(session, world, player_id)[player_id]}
    found = [
        (reason, opener_id)
        for opener_id in openers
        for reason in _reasons(session, world, opener_id, player_id, attitudes[opener_id, player_id], known)
        if not reason.matter or not limits.was_told(opener_id, player_id, reason.matter)
    ]
    order = list(OpenedFor)
    reason, opener_id = min(
        found, key=lambda one: (order.index(one[0].opened_for), one[0].urgency, one[1]), default=(None, "")
    )
    return None if reason is None else (opener_id, reason)


def _reasons(
    session: Session, world: WorldView, opener_id: str, player_id: str, attitude: Attitude, known: set[str]
) -> Iterator[_Reason]:
    for promise in open_commitments(session, world, opener_id):
        due_at = None if promise.due is None else promise.due.since or promise.due.at
        soon = MINUTES_PER_DAY if promise.window is None else SOON_MINUTES
        if promise.other(opener_id) == player_id and due_at is not None and due_at <= world.now + soon:
            yield _Reason(opened_for=OpenedFor.PROMISE, matter=promise.what, urgency=due_at)
    keeps = discretion(world.cast.actor(opener_id), player_id, attitude.affinity)
    for one in mid_term_memories(session, world, opener_id)[opener_id]:
        if one.is_seen and one.level == "high" and one.content not in known and keeps.lets_item(one):
            yield _Reason(opened_for=OpenedFor.URGENT, matter=one.content, urgency=-one.since)
    last = attitude.last_met_at
    if attitude.affinity >= FOND and (last is None or last <= world.now - MISSED_MINUTES):
        yield _Reason(opened_for=OpenedFor.AFFINITY, urgency=-attitude.affinity)
