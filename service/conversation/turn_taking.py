"""Owns whose turn it is and whom it reaches: who is there, who speaks next, when a conversation is over, when it waits
for a human or for somebody to let it go on, and when it has waited too long; who perceives a turn, and how what goes on
among more than two, or in a scene, is told one of them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import get_args

from sqlmodel import Session, col, select

from service.content.profile import Emotion
from service.conversation.prompt import Line, Present, PromptContext, ScenePart
from service.people.worlds import WorldView
from service.steady_time import steady_time
from service.store.jobs import enqueue, job_of
from service.store.perception import is_there, perceives
from service.store.phase import ClockPolicy, EndReason, Loudness, Modulator, Phase, Speaker, TurnForm, TurnPolicy
from service.store.tables import ConversationKey, ConversationRow, InterventionRow, ParticipantRow, TurnRow
from world.time import WorldTime

OPENER, PARTNER = 0, 1
"""Seats. The opener speaks first, and the goal is its own."""
FEWEST = 2
"""With fewer there is no conversation."""
GOODBYES = 2
"""Turns that may follow the one in which the goal is reached: the other answers, and who reached it says goodbye."""


def next_step(row: ConversationRow, turns: Sequence[TurnRow]) -> int | EndReason:
    """The seat that speaks next, or why it is over. The opener speaks first; then two alternate, and of more it is as
    the conversation's turn policy says.

    With fewer than two there it is over.
    """
    there = [one.seat for one in those_there(row, len(turns))]
    if not turns:
        return there[0] if len(there) >= FEWEST else EndReason.WANTS_TO_END
    end, why = ending(row, turns)
    if len(turns) >= end or len(there) < FEWEST:
        return why if len(turns) >= end else EndReason.WANTS_TO_END
    spoke = row.seat_of(turns[-1].speaker_id)
    in_order = sorted((seat for seat in there if seat != spoke), key=lambda seat: (seat < spoke, seat))
    return _next_of(row, in_order, turns)


def ending(row: ConversationRow, turns: Sequence[TurnRow]) -> tuple[int, EndReason]:
    """The number of turns it ends with, by what was said so far, and why: after the goal is reached `GOODBYES` follow,
    after one of two takes its leave the other one's answer.

    A model's goodbye to a human is the last word, for nobody can tell whether the human will speak again. No word ends
    a chat client's talk.
    """
    end, why, two = row.max_turns, EndReason.TURN_LIMIT, those_there(row, len(turns))
    if len(two) == FEWEST and row.chat_idle_minutes is None:
        answers = all(one.speaker == Speaker.MODEL for one in two)
        there = [one.person_id for one in two]
        for turn, number in zip(turns[-2:], range(len(turns))[-2:], strict=True):
            if turn.wants_to_end and turn.speaker_id in there:
                end, why = min(end, number + 1 + answers), EndReason.WANTS_TO_END
    reached = reached_at(row, turns)
    return (end, why) if reached is None else (min(end, reached + 1 + GOODBYES), EndReason.GOAL_ACHIEVED)


def reached_at(row: ConversationRow, turns: Sequence[TurnRow]) -> int | None:
    """The turn in which the goal was reached: not before somebody else has spoken; None: it was not, or a player has
    sat down, who came for something else.
    """
    found = (number for number, turn in enumerate(turns) if turn.goal_achieved and number)
    return next(found, None) if row.turn_policy != TurnPolicy.ADDRESSED else None


def _next_of(row: ConversationRow, others: Sequence[int], turns: Sequence[TurnRow]) -> int:
    """Which of the others, of whom none spoke last, in the order of their seats from there on."""
    if row.turn_policy == TurnPolicy.ADDRESSED:
        addressed = map(row.seat_of, turns[-1].addressed or ())
        seat = next((seat for seat in addressed if seat in others), others[0])
        if turns[-1].addressed and turns[-1].speaker_id in row.humans:
            return seat
        return _fairly(seat, others, [row.seat_of(turn.speaker_id) for turn in turns])
    if row.turn_policy == TurnPolicy.URGENCY:
        # How much each wanted to go on when it spoke last; who has not spoken yet wants to most.
        wants = {turn.speaker_id: turn.urgency or 0 for turn in turns}
        return max(others, key=lambda seat: wants.get(row.person_ids[seat], 11))
    return others[0]


def _fairly(seat: int, others: Sequence[int], spoke: Sequence[int]) -> int:
    """That seat; where it would answer for the third time running, whoever has been silent for the longest, and for as
    many turns as there are people.
    """
    silent = [one for one in others if one not in spoke[-len(others) - 1 :]]
    if spoke[-2:-5:-2] != [seat, seat] or not silent:
        return seat
    return min(silent, key=lambda one: max((turn for turn, who in enumerate(spoke) if who == one), default=-1))


Reached = tuple[list[str] | None, list[str] | None]
"""Of the others, who sees a turn's act and who hears its words; None: everybody there."""


def reached(others: Sequence[str], sees: Collection[str], hears: Collection[str]) -> Reached:
    """Who of the others sees, and who hears, in their order."""
    seen, heard = ([one for one in others if one in some] for some in (sees, hears))
    return None if len(seen) == len(others) else seen, None if len(heard) == len(others) else heard


def asks(row: ConversationRow, turns: Sequence[TurnRow], person_id: str) -> TurnRow | None:
    """The last turn, where a player has said it to this person among more than two, in a talk: it is answered to the
    player, and a whisper is whispered back. None: it is not so.
    """
    if not turns or row.form == TurnForm.SCENE or not is_shared(row, len(turns)):
        return None
    last = turns[-1]
    return last if last.speaker_id in row.humans and person_id in (last.addressed or ()) else None


def address(row: ConversationRow, turns: Sequence[TurnRow], turn: TurnRow) -> None:
    """Have the turn that comes next reach whom it answers, as `asks` says."""
    asked = asks(row, turns, turn.speaker_id)
    if asked is not None:
        turn.addressed, turn.loudness = [asked.speaker_id], asked.loudness
        stand, loudness = spots(row, turns), Loudness(asked.loudness)
        turn.seen_by, turn.heard_by = by_place(stand, turn.speaker_id, turn.addressed, loudness)


def by_place(spots: Mapping[str, str], speaker_id: str, addressed: Collection[str], loudness: Loudness) -> Reached:
    """The rule of place: `spots` says where each one who is there stands. An act is seen at the same spot."""
    others = [one for one in spots if one != speaker_id]
    near = {one for one in others if spots[one] == spots[speaker_id]}
    hears = {
        Loudness.LOUD: set(others),
        Loudness.NORMAL: near,
        Loudness.WHISPER: near & set(addressed),
        Loudness.ASIDE: set[str](),
    }[loudness]
    return reached(others, near, hears)


def spots(row: ConversationRow, turns: Sequence[TurnRow]) -> dict[str, str]:
    """Where each one stands who is there after the turns, in the order of their seats."""
    now = {
        one.speaker_id: one.spot
        for one in turns
        if one.spot is not None and is_there(row.participants[row.seat_of(one.speaker_id)], one.turn)
    }
    return {one.person_id: now.get(one.person_id, one.spot) for one in those_there(row, len(turns))}


def those_there(row: ConversationRow, turn: int) -> list[ParticipantRow]:
    """Who is there at that turn, in the order of their seats."""
    return [one for one in row.participants if is_there(one, turn)]


def hears(turn: TurnRow, person: ParticipantRow) -> bool:
    """Whether the person hears the turn's words."""
    return perceives(person, turn.turn, turn.speaker_id, turn.heard_by)


def sees(turn: TurnRow, person: ParticipantRow) -> bool:
    """Whether the person sees what is done in the turn."""
    return perceives(person, turn.turn, turn.speaker_id, turn.seen_by)


SECONDS_PER_MINUTE = 60


def let_speak(row: ConversationRow, step: int | EndReason, world: WorldView) -> None:
    """Where the next to speak is a human, the conversation waits from now on, and nobody works on it
    meanwhile: the human's silence begins."""
    awaited = None if isinstance(step, EndReason) else row.participants[step]
    waits = awaited is not None and awaited.speaker == Speaker.HUMAN
    now = awaited.person_id if awaited is not None and waits else None
    if row.awaits != now:
        row.awaits = now
    if waits:
        usual = world.settings.silence_minutes, world.settings.silence_world_minutes
        minutes, world_minutes = usual if row.chat_idle_minutes is None else (row.chat_idle_minutes, 0)
        row.silent_at = steady_time() + minutes * SECONDS_PER_MINUTE if minutes else 0.0  # 0: silence is never too long
        row.silent_at_minute = world.now + world_minutes if world_minutes else 0


def carry_on(session: Session, row: ConversationRow) -> None:
    """Have the conversation carried on; where it waits for a human, when that one has been silent for too long. What
    the living world holds it carries itself. The caller commits.
    """
    if row.clock_policy == ClockPolicy.NONE:
        enqueue(session, job_of(row.key), at=row.silent_at if row.awaits is not None else 0.0)


def leave_silent(session: Session, world_id: str, now: WorldTime) -> None:
    """Have those conversations ended in which a human has said nothing for too long by world time `now`; the caller
    commits.
    """
    mine = (ConversationRow.world_id == world_id, ConversationRow.phase == Phase.RUNNING)
    over = (col(ConversationRow.awaits).is_not(None), col(ConversationRow.silent_at_minute).between(1, now))
    for conversation_id in session.exec(select(ConversationRow.id).where(*mine, *over)):
        enqueue(session, job_of(ConversationKey(world_id, conversation_id)))


def is_silent(row: ConversationRow, world: WorldView) -> bool:
    """Whether a human has said nothing in it for too long."""
    over = 0 < row.silent_at <= steady_time() or 0 < row.silent_at_minute <= world.now
    return row.awaits is not None and over


def is_shared(row: ConversationRow, turn: int) -> bool:
    """Whether the turn's line says who speaks, for it is one of a scene, or more than two are there."""
    return row.form == TurnForm.SCENE or len(those_there(row, turn)) > FEWEST


def reaching(
    world: WorldView, row: ConversationRow, person_id: str, turns: Sequence[TurnRow], plain: Sequence[Line]
) -> tuple[Line, ...]:
    """What of the turns, told as `plain` lines of two, the person is shown: what it perceived; in a scene, of what came
    between two turns of its own only the newest.
    """
    person, world = row.participants[row.seat_of(person_id)], world.told_in(row.language)
    found, since = list[Line](), list[Line]()
    for turn, line in zip(turns, plain, strict=True):
        shown = _as_perceived(world, row, person, turn, line)
        if turn.speaker_id == person_id:
            found += _newest(row, since)
            since = []
            found.append(shown or line)
        elif shown is not None:
            since.append(shown)
    return (*found, *_newest(row, since))


def _newest(row: ConversationRow, lines: list[Line]) -> list[Line]:
    return lines[max(0, len(lines) - row.perceptions) :] if row.form == TurnForm.SCENE else lines


def _as_perceived(
    world: WorldView, row: ConversationRow, person: ParticipantRow, turn: TurnRow, line: Line
) -> Line | None:
    """The line as the person perceived it; None: it did not."""
    words, act = turn.text if hears(turn, person) else "", turn.act if sees(turn, person) else ""
    is_own = turn.speaker_id == person.person_id
    if not (words or act or is_own):
        return None
    if not is_shared(row, turn.turn):
        return line
    return Line(
        turn=turn.turn,
        speaker_id=turn.speaker_id,
        speaker_name=turn.speaker_name,
        text=words,
        note=line.note if is_own else "",
        note_turns=line.note_turns if is_own else (),
        told=told_of(world, turn, words, act, person.person_id, is_seen=sees(turn, person)),
        think=turn.think if is_own else "",
        act=act,
        emotion=turn.emotion,
        in_scene=row.form == TurnForm.SCENE,
    )


def told_of(world: WorldView, turn: TurnRow, words: str, act: str, to_id: str = "", *, is_seen: bool = True) -> str:
    """The words, the act and the face of a turn as they are told somebody: "Aoi (sad, whispers to you): (leans over) I
    know.".
    """
    done = world.say("among.act", act=act) if act else ""
    said = " ".join(" ".join(filter(None, (done, words))).split())
    face = world.say(f"among.{turn.emotion}") if is_seen and turn.emotion in SHOWN else ""
    manner = world.say("common.comma").join(filter(None, (face, _manner(world, turn, to_id) if words else "")))
    name = world.say("common.aside", what=turn.speaker_name, inside=manner) if manner else turn.speaker_name
    return world.say("among.line", name=name, said=said)


SHOWN = frozenset(get_args(Emotion)) - {"neutral"}
"""Emotions that others see."""


def _manner(world: WorldView, turn: TurnRow, to_id: str) -> str:
    """To whom it is said, and how loud; "": to all, as people talk."""
    addressed = turn.addressed or []
    if turn.loudness == Loudness.ASIDE:
        return world.say("among.aside")
    if to_id in addressed:
        return world.say(f"among.{turn.loudness}_to_you")
    names = world.say("common.comma").join(map(world.name_of, addressed))
    if names:
        return world.say(f"among.{turn.loudness}_to", names=names)
    return "" if turn.loudness == Loudness.NORMAL else world.say(f"among.{turn.loudness}")


def happened(
    world: WorldView,
    row: ConversationRow,
    person_id: str,
    turns: Sequence[TurnRow],
    interventions: Sequence[InterventionRow],
    begun: str = "",
) -> tuple[tuple[int, str], ...]:
    """What the person is told before its next turn: who has come, left and moved since its last one, and what a writer
    let happen, a sentence each, with the turn before which it happened. What a writer reveals to somebody else it is
    not told. Who is back is told how things stand now, where that has changed while it was away; `begun` is how its
    prompts begin.
    """
    person = row.participants[row.seat_of(person_id)]
    spoke = [turn.turn for turn in turns if turn.speaker_id == person_id]
    own = [turn for turn in spoke if turn >= person.joined_turn]
    since, now = _since(row, person_id, turns), len(turns)
    stands = [] if own else situations(interventions, max(spoke, default=-1) + 1, since)[-1:]
    missed = [one for one in stands if spoke or text_of(one) not in begun]
    told = [*_moves(world, row, person_id, since, turns)]
    for one in interventions:
        is_new = since < one.before_turn <= now or (not own and one.before_turn == since)
        is_meant = one.target_id in (None, person_id)
        if (is_new and is_meant and one.kind in TEXTS) or one in missed:
            told.append((one.before_turn, world.say(f"among.{one.kind}", what=text_of(one))))
    return tuple(sorted(told, key=lambda one: one[0]))


def newcomers(row: ConversationRow, person_id: str, turns: Sequence[TurnRow]) -> list[str]:
    """Who has sat down at a player's table since the person's last turn, and is there."""
    since = _since(row, person_id, turns)
    is_table = row.has_human and row.form == TurnForm.TALK
    return [one.person_id for one in those_there(row, len(turns)) if is_table and one.joined_turn > since]


def _since(row: ConversationRow, person_id: str, turns: Sequence[TurnRow]) -> int:
    """The person's last turn since it came, else that at which it came."""
    came = row.participants[row.seat_of(person_id)].joined_turn
    return max([came, *(turn.turn for turn in turns if turn.speaker_id == person_id)])


SITUATION = "scene_situation_update"


def situations(interventions: Sequence[InterventionRow], since: int, until: int) -> list[InterventionRow]:
    """Interventions that changed how things stand, from turn `since` to before turn `until`."""
    return [one for one in interventions if one.kind == SITUATION and since <= one.before_turn < until]


def goes_on(row: ConversationRow, interventions: Sequence[InterventionRow], until: int) -> tuple[str, ...]:
    """What goes on there, as far as a writer has changed how things stand before turn `until`."""
    told, changed = tuple(row.told or ()), situations(interventions, 0, until)
    return (*told[:-1], text_of(changed[-1])) if changed else told


def text_of(intervention: InterventionRow) -> str:
    """Its words, of one that people are told."""
    return " ".join(str(intervention.details[TEXTS[intervention.kind]]).split())


TEXTS = {SITUATION: "situation", "add_event": "event", "revelation": "content"}
"""Interventions that people are told, and where in `details` the words stand."""


def _moves(
    world: WorldView, row: ConversationRow, person_id: str, since: int, turns: Sequence[TurnRow]
) -> Iterator[tuple[int, str]]:
    for one in row.participants:
        if one.person_id == person_id:
            continue
        name = world.name_of(one.person_id)
        if since < one.joined_turn <= len(turns):
            is_near = one.spot == spots(row, turns[: one.joined_turn]).get(person_id)
            said = f"among.joined{'' if is_near else '_at'}"
            yield one.joined_turn, world.say(said, name=name, spot=spot_told(world, one.spot))
        if one.left_turn is not None and since < one.left_turn <= len(turns):
            yield one.left_turn, world.say("among.left", name=name)
    for turn in turns[since:]:
        if turn.spot is not None and turn.speaker_id != person_id:
            yield turn.turn, world.say("among.moved", name=turn.speaker_name, spot=spot_told(world, turn.spot))


def spot_told(world: WorldView, spot: str) -> str:
    """The spot in words."""
    return spot or world.say("among.with_others")


def interventions_in(session: Session, key: ConversationKey) -> list[InterventionRow]:
    """What a writer did to the scene, in order."""
    query = select(InterventionRow).where(
        InterventionRow.world_id == key.world_id, InterventionRow.conversation_id == key.conversation_id
    )
    return list(session.exec(query.order_by(col(InterventionRow.number))))


def among(context: PromptContext, world: WorldView, row: ConversationRow, turns: Sequence[TurnRow]) -> PromptContext:
    """The context of a speaker as it is before its next turn: the others are those who are there now, and the partner
    is who has addressed it last since its own last turn, else who was last perceived, else as it was.
    """
    person = row.participants[row.seat_of(context.speaker.id)]
    there = [one.person_id for one in those_there(row, len(turns)) if one is not person]
    partner = Present(
        person_id=context.partner_id,
        name=context.partner_name,
        affinity=context.affinity,
        stance=context.stance,
        acquainted=context.acquainted,
        known=context.known,
        spot=context.part.partner_spot if context.part else "",
    )
    met = {one.person_id: one for one in (partner, *context.others)}
    knows = {one: world.cast.are_acquainted(person.person_id, one) for one in there}
    now = [met.get(one) or Present(person_id=one, name=world.name_of(one), acquainted=knows[one]) for one in there]
    partner_id = _turned_to(person, there, turns) or (context.partner_id if context.partner_id in there else there[0])
    partner = next(one for one in now if one.person_id == partner_id)
    part = context.part and replace(context.part, names=tuple(names_of(world, there)))
    return replace(
        context,
        partner_id=partner_id,
        partner_name=partner.name,
        affinity=partner.affinity,
        stance=partner.stance,
        acquainted=partner.acquainted,
        others=tuple(one for one in now if one is not partner),
        part=part and _standing(part, world, row, person.person_id, turns),
    )


def _standing(
    part: ScenePart, world: WorldView, row: ConversationRow, person_id: str, turns: Sequence[TurnRow]
) -> ScenePart:
    """Its part, with who stands too far off to perceive all of its turn, and where that is."""
    stand = spots(row, turns)
    can_be_far = part.addresses and row.modulator != Modulator.ALL and len(stand) > FEWEST
    far = {one: spot_told(world, at) for one, at in stand.items() if can_be_far and at != stand[person_id]}
    names = (world.say("common.aside", what=world.name_of(one), inside=at) for one, at in far.items())
    apart = world.say("among.apart", names=world.say("common.comma").join(names)) if far else ""
    was_told = any(apart in turn.note for turn in turns if turn.speaker_id == person_id)
    return replace(part, goes_to=tuple(dict.fromkeys(far.values())), apart="" if was_told else apart)


def names_of(world: WorldView, person_ids: Sequence[str]) -> dict[str, str]:
    """What each is called where a model is to name it, by what it is called: its name, with its id where two have the
    same.
    """
    names = [world.name_of(one) for one in person_ids]
    return {
        name if names.count(name) == 1 else world.say("common.aside", what=name, inside=one): one
        for one, name in zip(person_ids, names, strict=True)
    }


def _turned_to(person: ParticipantRow, there: Sequence[str], turns: Sequence[TurnRow]) -> str | None:
    since = list(takewhile(lambda turn: turn.speaker_id != person.person_id, reversed(turns)))
    perceived = [one for one in since if one.speaker_id in there and (hears(one, person) or sees(one, person))]
    addressing = (one for one in perceived if person.person_id in (one.addressed or ()))
    return next((one.speaker_id for one in (*addressing, *perceived)), None)
