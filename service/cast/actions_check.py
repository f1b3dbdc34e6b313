"""Owns the checks across actions.json: ids, the needs it names, levels within bounds, and that somebody can do each action."""

from collections.abc import Iterator

from service.cast.actions_sketch import ACTIONS_FILE, ActionSketch, ActionsSketch, Demand, NeedSketch
from service.cast.problem import ContentProblem, hint, problem, quote
from service.cast.references import declared_once
from service.cast.sketch import MAPS_FILE, MapsSketch, Named, Reference
from world.actions import Where


def check_actions(sketch: ActionsSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    """Everything wrong in a directory's own actions.json that its form does not show; of the bundled one nothing."""
    if not sketch.own:
        return
    yield from declared_once("need", "欲求", _ids(sketch.needs))
    yield from declared_once("action", "行動", _ids(sketch.actions))
    for need in sketch.needs:
        yield from _within(need)
    yield from _known_needs(sketch)
    for action in sketch.actions:
        for demand in action.demands:
            yield from _can_be_met(demand, sketch)
        yield from _place(action, world)
    yield from _night(sketch)


def number(value: float) -> str:
    """``100``, ``2.5``."""
    return str(int(value)) if value == int(value) else str(value)


def _ids(entries: tuple[NeedSketch, ...] | tuple[ActionSketch, ...]) -> Iterator[Named]:
    for entry in entries:
        if entry.id is not None:
            yield Named(file=ACTIONS_FILE, key=(*entry.key, "id"), id=entry.id)


def _within(need: NeedSketch) -> Iterator[ContentProblem]:
    low, high = need.lowest, need.highest
    if low is None or high is None:
        return
    if high <= low:
        yield problem(
            ACTIONS_FILE,
            (*need.key, "highest"),
            f"the need lies between lowest {number(low)} and highest {number(high)}; expected a highest above the lowest",
            f"lowest が {number(low)}、highest が {number(high)} です。highest は lowest より大きくしてください",
        )
        return
    for name, level in (("start", need.start), ("critical", need.critical)):
        if level is not None and not low <= level <= high:
            yield problem(
                ACTIONS_FILE,
                (*need.key, name),
                f"found {number(level)}; expected a number from lowest {number(low)} to highest {number(high)}",
                f"{number(level)} が書かれています。"
                f"lowest の {number(low)} から highest の {number(high)} までの数を書いてください",
            )


def unknown_need(file: str, ref: Reference, sketch: ActionsSketch) -> ContentProblem:
    """The reference names a need there is not."""
    known = [need.id for need in sketch.needs if need.id is not None]
    guess_en, guess_ja = hint(ref.id or "", known)
    names = ", ".join(map(quote, known))
    return problem(
        file,
        ref.key,
        f"unknown need {quote(ref.id or '')}; the needs of {ACTIONS_FILE} are {names or 'none'}{guess_en}",
        f"欲求 {quote(ref.id or '')} はありません。{ACTIONS_FILE} の欲求は {names or 'なし'} です{guess_ja}",
    )


def _known_needs(sketch: ActionsSketch) -> Iterator[ContentProblem]:
    if not sketch.clear_needs:
        return
    known = {need.id for need in sketch.needs}
    for ref in (*sketch.talk, *(ref for action in sketch.actions for ref in action.named)):
        if ref.id not in known:
            yield unknown_need(ACTIONS_FILE, ref, sketch)


def _can_be_met(demand: Demand, sketch: ActionsSketch) -> Iterator[ContentProblem]:
    need = next((need for need in sketch.needs if need.id == demand.need.id), None)
    if need is None or need.bounds is None:
        return
    least, most = demand.least, demand.most
    crossed = least is not None and most is not None and least > most
    if crossed or (least is not None and least > need.bounds[1]) or (most is not None and most < need.bounds[0]):
        low, high = map(number, need.bounds)
        yield problem(
            ACTIONS_FILE,
            demand.need.key,
            f"nobody could ever do this: the need {quote(need.id or '')} goes from {low} to {high}; expected a level "
            "that can be reached",
            f"誰にもできない行動になります。欲求 {quote(need.id or '')} は {low} から {high} までです。"
            "届く値を書いてください",
        )


def _place(action: ActionSketch, world: MapsSketch) -> Iterator[ContentProblem]:
    if action.where is None:
        return
    if action.where is not Where.FACILITY:
        yield from _no_facility(action)
    elif action.tags == ():
        yield problem(
            ACTIONS_FILE,
            (*action.key, "tags"),
            "an action done in a facility has no tags; expected the tags of its facilities, or "
            '"where": "home" or "anywhere"',
            '施設でする行動なのに tags がありません。施設の tags を書くか、"where" を "home" か "anywhere" にしてください',
        )
    elif action.tags and not _carried(action, world):
        there = sorted({tag for area in world.maps for place in area.facilities for tag in place.tags or ()})
        guess_en, guess_ja = hint(action.tags[0], there)
        tags, known = ", ".join(map(quote, action.tags)), ", ".join(map(quote, there))
        yield problem(
            ACTIONS_FILE,
            (*action.key, "tags"),
            f"nobody could ever do this: no facility of {MAPS_FILE} has a tag {tags}; expected one of "
            f"{known or 'none, for no facility has a tag'}{guess_en}",
            f"誰にもできない行動になります。tags に {tags} を持つ施設が {MAPS_FILE} にありません。"
            f"使われている tags は {known or 'なし'} です{guess_ja}",
        )


def _no_facility(action: ActionSketch) -> Iterator[ContentProblem]:
    for name, written in (("tags", bool(action.tags)), ("seats", action.seated)):
        if written:
            yield problem(
                ACTIONS_FILE,
                (*action.key, name),
                f'{name} belong to a facility, but "where" is {quote(action.where or "")}; expected no {name} here, or '
                '"where": "facility"',
                f'"where" が {quote(action.where or "")} なので {name} は使えません。{name} を消すか、"where" を '
                '"facility" にしてください',
            )


def _carried(action: ActionSketch, world: MapsSketch) -> bool:
    """Whether some facility has one of the action's tags, or may have it."""
    if not world.clear or any("facilities" in area.unclear for area in world.maps):
        return True
    return any(action.fits(place.tags) for area in world.maps for place in area.facilities)


def _night(sketch: ActionsSketch) -> Iterator[ContentProblem]:
    if not sketch.clear_actions or not sketch.actions or any(action.ends_day is not False for action in sketch.actions):
        return
    yield problem(
        ACTIONS_FILE,
        ("actions",),
        'no action is the night\'s sleep; expected one with "endsDay": true, best with "where": "home"',
        '夜の眠りにあたる行動がありません。どれか1つに "endsDay": true を(できれば "where": "home" と一緒に)書いてください',
    )
