"""The checks of needs and actions: ids, levels within bounds, and that somebody can do each action, where it is
planned.
"""

from collections.abc import Iterator, Mapping

from service.content.actions import ActionEntry, ActionsFile, ArgumentEntry, NeedEntry
from service.content.fields import ContentProblem, Key, hint, listed, problem, quote
from service.content.files import ACTIONS_FILE
from service.content.maps import FacilityEntry, MapsFile
from service.content.persons import CharacterFile
from service.content.references import Characters, declared_once, entries, unknown_in
from world.actions import Where

Needs = Mapping[str, NeedEntry]
"""Needs by their ids."""


def check_actions(actions: ActionsFile) -> Iterator[ContentProblem]:
    """Everything wrong within actions.json that its form does not show."""
    yield from declared_once((ACTIONS_FILE, ("needs", i, "id"), need.id) for i, need in enumerate(actions.needs))
    yield from declared_once((ACTIONS_FILE, ("actions", i, "id"), one.id) for i, one in enumerate(actions.actions))
    needs = {need.id: need for need in actions.needs}
    for i, need in enumerate(actions.needs):
        yield from _within(("needs", i), need)
    for i, action in enumerate(actions.actions):
        yield from _reachable(("actions", i), action, needs)
        yield from _place(("actions", i), action)
    yield from _restored(actions)
    if not any(action.ends_day for action in actions.actions):
        yield problem(ACTIONS_FILE, ("actions",), "content.no_night")


def _bounds(need: NeedEntry) -> dict[str, str]:
    return {"low": f"{need.lowest:.12g}", "high": f"{need.highest:.12g}"}


def _within(key: Key, need: NeedEntry) -> Iterator[ContentProblem]:
    if need.highest <= need.lowest:
        yield problem(ACTIONS_FILE, (*key, "highest"), "content.highest_below_lowest", **_bounds(need))
    yield from _in_bounds(ACTIONS_FILE, (*key, "start"), need.start, need)
    if need.critical is not None:
        yield from _in_bounds(ACTIONS_FILE, (*key, "critical"), need.critical, need)


def _restored(actions: ActionsFile) -> Iterator[ContentProblem]:
    """A need that becomes critical and that nothing raises stays critical for ever."""
    effects = (*(action.effects for action in actions.actions), actions.talk.effects_per_hour)
    raised = {need_id for effect in effects for need_id, change in effect.items() if change > 0}
    for i, need in enumerate(actions.needs):
        falls = need.critical is not None and need.lowest <= need.critical and need.drift_per_hour <= 0
        if falls and need.id not in raised:
            yield problem(ACTIONS_FILE, ("needs", i, "critical"), "content.never_restored", need=quote(need.id))


def _in_bounds(file: str, key: Key, level: float, need: NeedEntry) -> Iterator[ContentProblem]:
    if need.lowest < need.highest and not need.lowest <= level <= need.highest:
        yield problem(file, key, "content.out_of_bounds", level=f"{level:.12g}", need=quote(need.id), **_bounds(need))


def _reachable(key: Key, action: ActionEntry, needs: Needs) -> Iterator[ContentProblem]:
    """What the action asks of a need has to lie within the need's bounds."""
    asked = [("requires", need_id, wanted.at_least, wanted.at_most) for need_id, wanted in action.requires.items()]
    asked += [("cost", need_id, price, float("inf")) for need_id, price in action.cost.items()]
    for name, need_id, least, most in asked:
        need = needs.get(need_id)
        if need and need.lowest < need.highest and max(least, need.lowest) > min(most, need.highest):
            yield problem(
                ACTIONS_FILE, (*key, name, need_id), "content.out_of_reach", need=quote(need_id), **_bounds(need)
            )


def _place(key: Key, action: ActionEntry) -> Iterator[ContentProblem]:
    if action.where is Where.FACILITY and not action.tags:
        yield problem(ACTIONS_FILE, (*key, "tags"), "content.no_tags")
    for name in ("tags", "seats"):
        if action.where is not Where.FACILITY and getattr(action, name):
            yield problem(ACTIONS_FILE, (*key, name), "content.not_in_facility", name=name, where=quote(action.where))


def check_tags(actions: ActionsFile, maps: MapsFile) -> Iterator[ContentProblem]:
    """Every action whose tags no facility has."""
    carried = sorted({tag for _, place in entries(maps, "facilities") for tag in place.tags})
    for i, action in enumerate(actions.actions):
        if action.where is Where.FACILITY and action.tags and set(action.tags).isdisjoint(carried):
            facts = {"tags": listed(action.tags), "known": listed(carried), "hint": hint(action.tags[0], carried)}
            yield problem(ACTIONS_FILE, ("actions", i, "tags"), "content.tags_of_no_facility", **facts)


def check_game_actions(actions: ActionsFile) -> Iterator[ContentProblem]:
    """Every game action that is declared twice or cannot be asked for."""
    asked = actions.game_actions
    yield from declared_once((ACTIONS_FILE, ("gameActions", i, "id"), one.id) for i, one in enumerate(asked))
    for i, one in enumerate(asked):
        key, arguments = ("gameActions", i), one.arguments
        at = (*key, "arguments", "required")
        yield from unknown_in(ACTIONS_FILE, at, "content.unknown_argument", arguments.required, arguments.properties)
        for name, argument in arguments.properties.items():
            yield from _possible((*key, "arguments", "properties", name), argument)
        if one.await_result and not one.confirm:
            yield problem(ACTIONS_FILE, (*key, "awaitResult"), "content.awaits_nothing")


def _possible(key: Key, argument: ArgumentEntry) -> Iterator[ContentProblem]:
    """An argument that nothing fits, or a bound that says nothing of its type."""
    if argument.enum and argument.type != "string":
        yield problem(ACTIONS_FILE, (*key, "enum"), "content.enum_of_texts")
    low, high = argument.minimum, argument.maximum
    if low is not None and high is not None and low > high:
        facts = {"low": f"{low:.12g}", "high": f"{high:.12g}"}
        yield problem(ACTIONS_FILE, (*key, "maximum"), "content.no_number_fits", **facts)


def check_plans(characters: Characters, actions: ActionsFile, maps: MapsFile | None) -> Iterator[ContentProblem]:
    """Every level of a character's need that is out of bounds, and every action that its place is not for."""
    needs = {need.id: need for need in actions.needs}
    known = {action.id for action in actions.actions}
    places = {place.id: place for _, place in entries(maps, "facilities")} if maps else {}
    for file, character in characters.items():
        for need_id, level in character.needs.items():
            if need_id in needs:
                yield from _in_bounds(file, ("needs", need_id), level, needs[need_id])
        for i, block in enumerate(character.routine):
            if block.action_id in known and (block.facility_id is None or block.facility_id in places):
                place = places[block.facility_id] if block.facility_id is not None else None
                possible = [action.id for action in actions.actions if _fits(action, place, character)]
                if block.action_id not in possible:
                    yield _wrong_place(file, ("routine", i, "action"), block.action_id, place, possible)


def _fits(action: ActionEntry, place: FacilityEntry | None, character: CharacterFile) -> bool:
    """Whether the character can do it at that facility (None: at home)."""
    if action.where is Where.FACILITY:
        return place is not None and not set(place.tags).isdisjoint(action.tags)
    return action.where is Where.ANYWHERE or place is None or character.home in place.nodes


def _wrong_place(
    file: str, key: Key, action_id: str, place: FacilityEntry | None, possible: list[str]
) -> ContentProblem:
    facts = {"action": quote(action_id), "possible": listed(possible)}
    if place is None:
        return problem(file, key, "content.not_possible_at_home", **facts)
    return problem(file, key, "content.not_possible_there", facility=quote(place.id), **facts)
