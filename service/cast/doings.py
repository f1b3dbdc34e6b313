"""Owns the checks of what characters' files say of needs and actions: known, within bounds, possible where they are put."""

from collections.abc import Iterator

from service.cast.actions_check import number, unknown_need
from service.cast.actions_sketch import ACTIONS_FILE, ActionSketch, ActionsSketch
from service.cast.problem import ContentProblem, hint, problem, quote
from service.cast.sketch import MapsSketch, PersonSketch, Place, Plan, Reference
from world.actions import Where


def check_doings(
    characters: tuple[PersonSketch, ...], actions: ActionsSketch, world: MapsSketch
) -> Iterator[ContentProblem]:
    """Every need and action that a character's file names and that is not there, or not for that place."""
    for person in characters:
        for ref, level in person.needs:
            yield from _level(person, ref, level, actions)
        for plan in person.plans:
            yield from _plan(person, plan, actions, world)


def _level(
    person: PersonSketch, ref: Reference, level: float | None, actions: ActionsSketch
) -> Iterator[ContentProblem]:
    need = next((need for need in actions.needs if need.id == ref.id), None)
    if need is None:
        if actions.clear_needs:
            yield unknown_need(person.file, ref, actions)
        return
    if level is None or need.bounds is None or need.bounds[0] <= level <= need.bounds[1]:
        return
    low, high = map(number, need.bounds)
    yield problem(
        person.file,
        ref.key,
        f"found {number(level)}; expected a number from {low} to {high}, as {ACTIONS_FILE} bounds the need",
        f"{number(level)} が書かれています。{ACTIONS_FILE} にある範囲の {low} から {high} までの数を書いてください",
    )


def _plan(person: PersonSketch, plan: Plan, actions: ActionsSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    if plan.action.id is None:
        return
    action = next((action for action in actions.actions if action.id == plan.action.id), None)
    if action is None:
        if actions.clear_actions:
            yield _unknown(person, plan, actions)
        return
    if plan.at_home:
        if action.where is Where.FACILITY:
            yield _wrong_place(person, plan, "at home", "家", _possible(actions, None, home=True))
        return
    place = next((p for area in world.maps for p in area.facilities if p.id and p.id == plan.facility.id), None)
    if place is None or action.where is None or action.where is Where.ANYWHERE:
        return
    home = _is_home(person, place)
    if not (home if action.where is Where.HOME else action.fits(place.tags)):
        name = quote(place.id)
        yield _wrong_place(person, plan, f"in {name}", f"施設 {name} ", _possible(actions, place.tags, home=home))


def _is_home(person: PersonSketch, place: Place) -> bool:
    """Whether the facility holds the character's home, or may hold it."""
    return person.home is None or any(node.id in (None, person.home) for node in place.nodes)


def _possible(actions: ActionsSketch, tags: frozenset[str] | None, *, home: bool) -> list[str]:
    return [action.id for action in actions.actions if action.id and _fits(action, tags, home=home)]


def _fits(action: ActionSketch, tags: frozenset[str] | None, *, home: bool) -> bool:
    if action.where is Where.FACILITY:
        return tags is not None and action.fits(tags)
    return action.where is Where.ANYWHERE or (home and action.where is Where.HOME)


def _unknown(person: PersonSketch, plan: Plan, actions: ActionsSketch) -> ContentProblem:
    action_id = plan.action.id or ""
    guess_en, guess_ja = hint(action_id, (action.id for action in actions.actions if action.id))
    return problem(
        person.file,
        plan.action.key,
        f"unknown action {quote(action_id)}; expected an action id of {ACTIONS_FILE}{guess_en}",
        f"行動 {quote(action_id)} はありません。{ACTIONS_FILE} の行動idを書いてください{guess_ja}",
    )


def _wrong_place(person: PersonSketch, plan: Plan, en: str, ja: str, possible: list[str]) -> ContentProblem:
    action_id, names = quote(plan.action.id or ""), ", ".join(map(quote, possible))
    return problem(
        person.file,
        plan.action.key,
        f"{action_id} cannot be done {en}; possible there: {names or 'nothing'}",
        f"{ja}では {action_id} はできません。そこでできる行動: {names or 'なし'}",
    )
