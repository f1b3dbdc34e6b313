"""Owns what a person keeps to itself: its author's secrets, and whatever it remembers that would give them away; and
what it was told in confidence, before whom that may not stand. Pure.

A secret that was told to one is still one for the next: what its owner said then, the summary of that talk and what it
has told about itself hold the same words, and are kept back as the secret is.
"""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from service.content.load import Cast
from service.content.profile import Profile
from service.memory.lexical import is_named, share, squeezed, telling
from service.memory.mind import OnMind
from service.memory.recall import RecentMemory
from service.memory.record import ANYBODY, Episode, HeardTurn, Item, Memory, Recalled
from service.people.worlds import WorldView
from service.store.tables import SummaryRow

GIVEN_AWAY = 0.5
"""Share of a secret's telling tokens, in whatever language, from which a text gives it away."""


@dataclass(frozen=True)
class Discretion:
    """What somebody may tell a partner, `open`, and what it must not, `kept`; its author's words both. `present` are
    those who hear it; where it is nobody, none knows who will. `alike`: for each who hears it and whose name others
    bear, that name and those others.
    """

    partner_id: str | None = None
    present: frozenset[str] = frozenset()
    open: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    alike: Mapping[str, tuple[str, Set[str]]] = field(default_factory=dict)

    def apart(self, world: WorldView, owner_id: str, there: Collection[str]) -> "Discretion":
        """This discretion before those who are there. It also keeps what is of others of the same name: it would be
        taken for theirs.
        """
        others = {one: world.cast.namesakes[one] - {*there, owner_id} for one in there if one in world.cast.namesakes}
        return replace(self, alike={one: (world.name_of(one), ids) for one, ids in others.items()})

    def lets(self, text: str) -> bool:
        """Whether the text gives nothing away."""
        return not any(
            squeezed(secret) in squeezed(text) or share(wanted, text) >= GIVEN_AWAY for secret, wanted in self._telling
        )

    def lets_item(self, item: Item | OnMind | SummaryRow) -> bool:
        """Whether nothing that is remembered of it gives anything away, and nobody asked that it be kept from them."""
        return not self._is_between(item) and self.lets(_words_of(item))

    def known(self, found: Iterable[Recalled], world: WorldView) -> list[Recalled]:
        """What of the found memories may stand in a prompt. What the partner said, or was told, it knows itself; of the
        summary of a talk with more nobody knows that. Whoever confides a secret lowers its voice: who only overheard
        the talk has not heard that.
        """

        def may_stand(item: Item) -> bool:
            is_anothers = self._is_anothers(item, _words_of(item))
            return self._lets_known(item) and not is_anothers and not _is_confided(world, item)

        return [
            one if one.beside is None or may_stand(one.beside) else replace(one, beside=None)
            for one in found
            if may_stand(one.item)
        ]

    def recent(self, recent: RecentMemory) -> RecentMemory:
        """What of its mind and of its day may stand in a prompt."""
        return replace(
            recent,
            mid_term=tuple(
                row for row in recent.mid_term if self._lets_known(row) and not self._is_anothers(row, row.content)
            ),
            today=tuple(
                row for row in recent.today if self._lets_known(row) and not self._is_anothers(row, row.summary)
            ),
            meetings=tuple(row for row in recent.meetings if self._lets_known(row)),
            unsettled=tuple(turn for turn in recent.unsettled if self.partner_id is not None or self.lets(turn.text)),
        )

    def _lets_known(self, one: Item | SummaryRow | OnMind) -> bool:
        """Whether a prompt may hold this, where the partner may know it itself."""
        is_shared = one.partner_id == self.partner_id and not (isinstance(one, Episode | SummaryRow) and one.others)
        return not self._is_between(one) if is_shared else self.lets_item(one)

    def _is_between(self, one: Item | SummaryRow | OnMind) -> bool:
        """Whether it was told in confidence, and is kept from somebody who hears it."""
        told = {one.partner_id, getattr(one, "told_by", None), getattr(one, "speaker_id", None)}
        told |= {*one.others} if isinstance(one, Episode | SummaryRow) else set()
        apart = self.present - told if ANYBODY in one.kept_from else self.present.intersection(one.kept_from)
        return bool(one.kept_from and (apart or not self.present))

    def _is_anothers(self, one: Item | SummaryRow | OnMind, text: str) -> bool:
        """Whether it is of another of the same name, or names that one where nobody knows which of them is meant."""
        whose = {one.partner_id, *one.others}
        return whose.isdisjoint(self.alike) and any(
            ids & whose or is_named(name, text) for name, ids in self.alike.values()
        )

    @cached_property
    def _telling(self) -> list[tuple[str, frozenset[str]]]:
        return [(secret, telling(secret)) for secret in self.kept]


def discretion(owner: Profile, partner_id: str | None = None, affinity: int = 0) -> Discretion:
    """What the owner may tell the partner, whom it likes so much; without a partner, nothing of what it keeps."""
    open_to = [partner_id is not None and secret.may_be_told(partner_id, affinity) for secret in owner.secrets]
    told = list(zip(owner.secrets, open_to, strict=True))
    return Discretion(
        partner_id=partner_id,
        present=frozenset(filter(None, (partner_id,))),
        open=tuple(secret.fact for secret, is_open in told if is_open),
        kept=tuple(secret.fact for secret, is_open in told if not is_open),
    )


def discretion_among(owner: Profile, affinities: Mapping[str, int]) -> Discretion:
    """What the owner may tell where all of these hear it, whom it likes so much."""
    each = [discretion(owner, other_id, affinity) for other_id, affinity in affinities.items()]
    if len(each) == 1:
        return each[0]
    kept = tuple(secret.fact for secret in owner.secrets if any(secret.fact in one.kept for one in each))
    told = tuple(one.fact for one in owner.secrets if one.fact not in kept)
    return Discretion(present=frozenset(affinities), open=told, kept=kept)


def discretion_of_all(cast: Cast) -> Discretion:
    """Nothing that anybody keeps, nor what was told in confidence: before nobody knows whom."""
    return Discretion(kept=tuple(secret.fact for one in cast.everybody.values() for secret in one.secrets))


def _words_of(item: Item | OnMind | SummaryRow) -> str:
    if isinstance(item, Memory):
        return f"{item.text} {item.quote}"
    if isinstance(item, OnMind | SummaryRow):
        return item.content if isinstance(item, OnMind) else item.summary
    return item.text if isinstance(item, Episode) else f"{item.speaker_name}: {item.text}"


def _is_confided(world: WorldView, item: Item) -> bool:
    """Whether it is a turn that was only overheard, and was told in confidence or gives its speaker's secret away."""
    if not isinstance(item, HeardTurn) or not item.overheard:
        return False
    if item.kept_from or item.speaker_id not in world.cast.everybody:
        return bool(item.kept_from)
    return not discretion(world.cast.person(item.speaker_id)).lets(item.text)
