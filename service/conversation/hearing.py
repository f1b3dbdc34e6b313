"""Owns how what goes on among more than two, or in a scene, reaches one of them: its lines, and who came and left."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from sqlmodel import Session, col, select

from service.conversation.prompt import Line, Present, PromptContext, SharedLine
from service.conversation.turn_taking import FEWEST, hears, sees, those_there
from service.people.worlds import WorldView
from service.store.phase import Loudness, TurnForm
from service.store.tables import ConversationKey, ConversationRow, InterventionRow, ParticipantRow, TurnRow


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
    return SharedLine(
        turn=turn.turn,
        speaker_id=turn.speaker_id,
        speaker_name=turn.speaker_name,
        text=words,
        note=line.note if is_own else "",
        told=told_of(world, turn, words, act, person.person_id),
        think=turn.think if is_own else "",
        act=act,
        in_scene=row.form == TurnForm.SCENE,
    )


def told_of(world: WorldView, turn: TurnRow, words: str, act: str, to_id: str = "") -> str:
    """The words and the act of a turn as they are told somebody: "Aoi (whispers to you): (leans over) I know."."""
    done = world.say("among.act", act=act) if act else ""
    said = " ".join(" ".join(filter(None, (done, words))).split())
    manner = _manner(world, turn, to_id) if words else ""
    name = world.say("common.aside", what=turn.speaker_name, inside=manner) if manner else turn.speaker_name
    return world.say("among.line", name=name, said=said)


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
) -> tuple[str, ...]:
    """What the person is told before its next turn: who has come and left since its last one, and what a writer let
    happen, a sentence each. What a writer reveals to somebody else it is not told. Who is back is told how things stand
    now, where that has changed while it was away; `begun` is how its prompts begin.
    """
    person = row.participants[row.seat_of(person_id)]
    spoke = [turn.turn for turn in turns if turn.speaker_id == person_id]
    own = [turn for turn in spoke if turn >= person.joined_turn]
    since, now = own[-1] if own else person.joined_turn, len(turns)
    stands = [] if own else situations(interventions, max(spoke, default=-1) + 1, since)[-1:]
    missed = [one for one in stands if spoke or text_of(one) not in begun]
    told = [*_moves(world, row, person_id, since, now)]
    for one in interventions:
        is_new = since < one.before_turn <= now or (not own and one.before_turn == since)
        is_meant = one.target_id in (None, person_id)
        if (is_new and is_meant and one.kind in TEXTS) or one in missed:
            told.append(world.say(f"among.{one.kind}", what=text_of(one)))
    return tuple(told)


SITUATION = "scene_situation_update"


def situations(interventions: Sequence[InterventionRow], since: int, until: int) -> list[InterventionRow]:
    """Those that say how things stand from a turn on, of `since` and before `until`."""
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


def _moves(world: WorldView, row: ConversationRow, person_id: str, since: int, now: int) -> Iterator[str]:
    for one in row.participants:
        if one.person_id == person_id:
            continue
        if one.left_turn is not None and since < one.left_turn <= now:
            yield world.say("among.left", name=world.name_of(one.person_id))
        elif since < one.joined_turn <= now:
            yield world.say("among.joined", name=world.name_of(one.person_id))


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
    met = {context.partner_id: _partner_of(context), **{one.person_id: one for one in context.others}}
    now = [met.get(one) or _stranger(world, person.person_id, one) for one in there]
    partner_id = _turned_to(person, there, turns) or (context.partner_id if context.partner_id in there else there[0])
    partner = next(one for one in now if one.person_id == partner_id)
    return replace(
        context,
        partner_id=partner_id,
        partner_name=partner.name,
        affinity=partner.affinity,
        stance=partner.stance,
        acquainted=partner.acquainted,
        others=tuple(one for one in now if one is not partner),
        part=context.part and replace(context.part, names=tuple(names_of(world, there))),
    )


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


def _partner_of(context: PromptContext) -> Present:
    return Present(
        person_id=context.partner_id,
        name=context.partner_name,
        language=context.language,
        affinity=context.affinity,
        stance=context.stance,
        acquainted=context.acquainted,
        known=context.known,
        spot=context.part.partner_spot if context.part else "",
    )


def _stranger(world: WorldView, person_id: str, other_id: str) -> Present:
    acquainted = world.cast.are_acquainted(person_id, other_id)
    name = world.name_of(other_id)
    return Present(person_id=other_id, name=name, language=world.language, acquainted=acquainted)
