"""groups/*.yaml: groups of people of whose dialogues data are made (`kataribe generate groups`). Their form."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from service.content.fields import (
    UNWRITTEN,
    ContentModel,
    ContentProblem,
    Key,
    ListOf,
    Slug,
    Text,
    problem,
    quote,
    refusal,
)
from service.content.references import declared_once, unknown, unknown_in
from service.content.scenes import ModulatorName, TurnPolicyName, check_location
from service.locales import Language, languages

FEWEST_AGENTS, MOST_AGENTS = 2, 4

Size = Annotated[int, Field(ge=FEWEST_AGENTS, le=MOST_AGENTS)]


class AgentEntry(ContentModel):
    """Somebody of a group."""

    id: Slug = Field(
        description="its id in the group, or that of somebody of the game / グループの中でのid、またはゲームの人物のid"
    )
    name: Text = Field(default=UNWRITTEN, description="its name; left out: its id / 名前。なければid")
    profile: Text = Field(
        default=UNWRITTEN,
        description="who it is; left out: it is somebody of the game / どんな人か。なければゲームの人物",
    )
    goal: Text = Field(default=UNWRITTEN, description="what it wants here / ここで望むこと")
    plan: Text = Field(default=UNWRITTEN, description="how it means to get it / そのためにしようとしていること")

    @property
    def is_own(self) -> bool:
        """Whether it is of this file alone."""
        return self.profile.of("en") != ""


class GroupEntry(ContentModel):
    """People who talk with one another once."""

    id: Slug | None = Field(default=None, description="its id; left out: its number / id。なければ番号")
    situation: Text = Field(default=UNWRITTEN, description="how things stand / 状況")
    location: Text = Field(
        default=UNWRITTEN, description="id of a node of the game, or in words / ゲームのノードのid、または文"
    )
    agents: ListOf[AgentEntry] = Field(
        description="2 to 4 people, in the order in which they speak / 2人から4人。この順に話す"
    )

    @model_validator(mode="after")
    def _peopled(self) -> Self:
        if not FEWEST_AGENTS <= len(self.agents) <= MOST_AGENTS:
            raise refusal("group_agents")
        return self


class DrawEntry(ContentModel):
    """Groups that are drawn by chance."""

    count: int = Field(ge=1, le=900_000, description="so many groups / グループの数")
    size: ListOf[Size] = Field(
        default=(FEWEST_AGENTS, MOST_AGENTS), description="the fewest and the most people / 人数の最小と最大"
    )
    cast: ListOf[Slug] = Field(
        default=(), description="ids of people of the game; left out: all of them / ゲームの人物のid。なければ全員"
    )
    situations: ListOf[Text] = Field(default=(), description="one of them each / このうち一つ")
    locations: ListOf[Text] = Field(
        default=(),
        description="one of them each, ids of nodes or in words; left out: any place of the game / "
        "このうち一つ(ノードのidか文)。なければゲームの場所のどれか",
    )
    goals: ListOf[Text] = Field(
        default=(),
        description="what somebody wants who has no `goals` of its own / 自分の `goals` を持たない人が望むこと",
    )

    @model_validator(mode="after")
    def _sized(self) -> Self:
        if len(self.size) != 2 or self.size[0] > self.size[1]:
            raise refusal("group_size")
        return self


class GroupsFile(ContentModel):
    """groups/*.yaml."""

    groups: ListOf[GroupEntry] = Field(default=(), description="groups as they are written here / ここに書いたグループ")
    draw: DrawEntry | None = Field(default=None, description="and groups that are drawn / くじで決めるグループ")
    language: Language | None = Field(default=None, description="left out: the game's own / 省くとゲームの言語")
    rounds: int = Field(default=2, ge=1, le=20, description="so many turns for each / 一人あたりのターン数")
    perceptions: int = Field(
        default=3,
        ge=1,
        le=20,
        description="so many of what it perceived last a speaker goes by / 話す人に示す、直近に気づいたことの数",
    )
    turn_policy: TurnPolicyName = Field(default="in_order", description="as of scenes / 場面と同じ")
    modulator: ModulatorName = Field(default="all", description="as of scenes / 場面と同じ")
    seed: int = Field(default=7, description="of all chance / 乱数のシード")

    @model_validator(mode="after")
    def _any(self) -> Self:
        if not self.groups and self.draw is None:
            raise refusal("no_groups")
        return self

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.groups) + (self.draw.count if self.draw else 0)


def check_groups(
    file: str, groups: GroupsFile, known: Mapping[str, Text], nodes: Collection[str] | None
) -> Iterator[ContentProblem]:
    """Every id that is there twice or stands for nobody, and every two in a group with one name. `known`: what the
    people of the game are called; `nodes`: ids of its places (None: they could not be read).
    """
    yield from declared_once((file, ("groups", i, "id"), one.id) for i, one in enumerate(groups.groups) if one.id)
    for i, group in enumerate(groups.groups):
        key: Key = ("groups", i, "agents")
        yield from check_location(file, ("groups", i, "location"), group.location, nodes)
        yield from declared_once((file, (*key, j, "id"), agent.id) for j, agent in enumerate(group.agents))
        for j, agent in enumerate(group.agents):
            if not agent.is_own and agent.id not in known:
                yield unknown(file, (*key, j, "id"), "content.unknown_person_or_profile", agent.id, known)
        yield from _same_names(file, key, group.agents, known, groups.language)
    if groups.draw is not None:
        yield from _check_draw(file, groups.draw, known)
        for i, location in enumerate(groups.draw.locations):
            yield from check_location(file, ("draw", "locations", i), location, nodes)


def _same_names(
    file: str, key: Key, agents: tuple[AgentEntry, ...], known: Mapping[str, Text], language: Language | None
) -> Iterator[ContentProblem]:
    for one in (language,) if language else languages():
        first = dict[str, str]()
        for j, agent in enumerate(agents):
            name = name_of(agent, one) if agent.is_own or agent.id not in known else known[agent.id].of(one)
            if first.setdefault(name, agent.id) != agent.id:
                yield problem(file, (*key, j, "name"), "content.same_name", name=quote(name))
                return


def name_of(agent: AgentEntry, language: Language) -> str:
    """What somebody of the file is called."""
    return agent.name.of(language) or agent.id


def _check_draw(file: str, draw: DrawEntry, known: Mapping[str, Text]) -> Iterator[ContentProblem]:
    yield from declared_once((file, ("draw", "cast", i), one) for i, one in enumerate(draw.cast))
    yield from unknown_in(file, ("draw", "cast"), "content.unknown_person", draw.cast, known)
    there = len(draw.cast or known)
    if there < draw.size[1]:
        yield problem(file, ("draw", "size", 1), "content.too_few_to_draw", there=there, most=draw.size[1])
