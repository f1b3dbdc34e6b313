"""A game's own prompts: they replace the service's, and what is wrong with one is told with its file and line."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import service
from service.app import create_app
from service.content.check import examine
from service.errors import ContentErrors
from service.llm.choose import ROLES, Models
from service.locales import Language, languages
from service.own_prompts import check_prompts, load_game
from tests.api.play import TALK, recollection, reply, settings_for, turn, write_village
from tests.content.village import Village
from tests.scripted_model import ScriptedModel

SERVICE = Path(service.__file__).parent


def source_of(name: str, language: Language = "en") -> str:
    """The service's own template of that name."""
    (file,) = SERVICE.rglob(f"prompts/{language}/{name}.j2")
    return file.read_text("utf-8")


def put(directory: Path, file: str, source: str) -> Path:
    """The game's directory with that file in it."""
    target = directory / "prompts" / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(source, encoding="utf-8")
    return directory


def problems(directory: Path, language: Language) -> list[str]:
    """What `kataribe check` tells of the game."""
    checked = examine(directory)
    return [found.line(language) for found in (*checked.problems, *check_prompts(checked.own_prompts))]


def test_a_game_says_what_a_speaker_is_told(tmp_path: Path) -> None:
    own = source_of("speaker").replace("Rules\n", "Rules\n- Speak as a pirate, {{ scene.speaker.name }}.\n")
    game = put(write_village(tmp_path / "game"), "en/speaker.j2", own)
    told: dict[Language, str] = {}
    for language in ("en", "ja"):
        script = ScriptedModel(turn("Hello.", ends=True), reply("Ay.", ends=True), recollection("They spoke."))
        settings = settings_for(tmp_path / language, game, language=language)
        with TestClient(create_app(settings, models=Models(dict.fromkeys(ROLES, script)))) as http:
            http.post("/conversations/start?wait=true", json=TALK).raise_for_status()
        told[language] = script.history[0].messages[0].content
    assert "- Speak as a pirate, Sora." in told["en"]
    assert "pirate" not in told["ja"]


def test_a_part_of_a_prompt_is_replaced_wherever_it_is_part_of_one(tmp_path: Path) -> None:
    game = put(Village().write(tmp_path), "en/persona.j2", "You are the pirate {{ scene.speaker.name }}.\n")
    assert load_game(game).cast("en").own_prompts == (("persona", "You are the pirate {{ scene.speaker.name }}.\n"),)
    assert problems(game, "en") == []


@pytest.mark.parametrize("language", languages())
def test_the_prompts_of_the_service_pass_as_a_games_own(tmp_path: Path, language: Language) -> None:
    game = Village().write(tmp_path)
    for file in SERVICE.rglob(f"prompts/{language}/*.j2"):
        if "quality" in file.parts:  # judges are no part of a game
            continue
        put(game, f"{language}/{file.name}", file.read_text("utf-8"))
    assert problems(game, "en") == []


BLOCKS = "{% block user %}{% endblock %}{% block repair %}{% endblock %}"
WRONG = [
    ("fr/plan.j2", "", 'prompts/fr/: there is no language "fr"; expected "en" or "ja"', '言語 "fr" はありません'),
    ("en/plan.txt", "", "prompts/en/plan.txt: expected a file whose name ends in .j2", "名前が .j2 で終わる"),
    (
        "en/speeker.j2",
        "",
        'prompts/en/speeker.j2: there is no prompt "speeker"; expected one of "aside", "attitude", "closing", '
        '"decide", "here", "long_term", "moderator", "modulator", "persona", "plan", "reflection", "scan", "sketch", '
        '"speaker", "state", "survey", "verify", "write" (did you mean "speaker"?)',
        '("speaker" ではありませんか?)',
    ),
    (
        "en/plan.j2",
        "{% block system %}{% endblock %}{% block user %}{% endblock %}",
        'prompts/en/plan.j2: the block "repair" is missing; expected the blocks "system", "user", "repair"',
        'ブロック "repair" がありません',
    ),
    (
        "en/plan.j2",
        "Plan!\n{% block system %}\n{% if %}\n{% endblock %}" + BLOCKS,
        "prompts/en/plan.j2: line 3: no valid Jinja2 template: Expected an expression, got 'end of statement block'",
        "3行目: Jinja2のテンプレートとして読めません",
    ),
    (
        "en/plan.j2",
        "{% block system %}\n{% if scene.at == '25:00' %}\n{{ scene.speeker }}\n{% endif %}\n{% endblock %}" + BLOCKS,
        'prompts/en/plan.j2: line 3: there is no scene.speeker in this prompt (did you mean "speaker"?)',
        "3行目: このプロンプトに scene.speeker はありません",
    ),
    (
        "ja/decide.j2",
        "{% block system %}\n{% for offer in scene.offers %}\n{{ offer.txt }}\n{% endfor %}\n{% endblock %}" + BLOCKS,
        "prompts/ja/decide.j2: line 3: cannot be rendered: 'service.decision.context.Offer object' has no attribute 'txt'",  # noqa: E501
        "3行目: 文章にできません(",
    ),
    (
        "en/closing.j2",
        "{% block system %}{% for one in scene.participants %}{{ {'happy': 1, 'neutral': 2}[one.mood] }}{% endfor %}"
        "{% endblock %}{% block user %}{% endblock %}",
        "prompts/en/closing.j2: line 1: cannot be rendered: 'dict object' has no attribute 'angry'",
        "1行目: ",
    ),
    ("en/here.j2", "\n{{ place }}", "prompts/en/here.j2: line 2: cannot be rendered: 'place' is undefined", "2行目: "),
    ("en/here.j2", "{{ 1 / 0 }}", "prompts/en/here.j2: line 1: cannot be rendered: division by zero", "1行目: "),
    (
        "en/here.j2",
        "{{ scene.speaker.__class__ }}",
        "prompts/en/here.j2: line 1: cannot be rendered: access to attribute '__class__'",
        "1行目: ",
    ),
]


@pytest.mark.parametrize(("file", "source", "en", "ja"), WRONG)
def test_what_is_wrong_with_a_prompt_is_told_with_its_file_and_line(
    tmp_path: Path, file: str, source: str, en: str, ja: str
) -> None:
    game = put(Village().write(tmp_path / "game"), file, source)
    (told,) = problems(game, "en")
    assert told.startswith(en)
    assert ja in problems(game, "ja")[0]
    with pytest.raises(ContentErrors, match="An error in the content"):
        create_app(settings_for(tmp_path, game))


@pytest.mark.parametrize(
    "asked",
    [
        "'a' * 9999999999",
        "9999999999 * 'a'",
        "9 ** 9 ** 9",
        "'a'.ljust(9999999999)",
        "'a' | center(9999999999)",
        "'%9999999999d' % 1",
        "'%9999999999d' | format(1)",
        "'{:9999999999}'.format(1)",
    ],
)
def test_what_would_take_all_memory_is_told_and_not_made(tmp_path: Path, asked: str) -> None:
    game = put(
        Village().write(tmp_path), "en/persona.j2", f"You are {{{{ scene.speaker.name }}}}.\n{{{{ {asked} }}}}\n"
    )
    (told,) = problems(game, "en")
    assert "prompts/en/persona.j2" in told
    assert "100000" in told


@pytest.mark.parametrize(
    "slip",
    [
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x=['ab']) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = [n.x, n.x] | join %}{% endfor %}",
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x.replace('a', n.x) %}{% endfor %}",
        "{% set n = namespace(x='ab') %}{% for i in range(60) %}"
        "{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}{% endfor %}",
        "{% for i in range(90000) %}{% for j in range(90000) %}{% for k in range(90000) %}{% endfor %}{% endfor %}"
        "{% endfor %}",
    ],
    ids=["tilde", "plus", "lists", "join", "replace", "blocks", "loops"],
)
def test_what_would_grow_with_each_round_or_never_end_is_told(tmp_path: Path, slip: str) -> None:
    game = put(Village().write(tmp_path), "en/persona.j2", f"You are {{{{ scene.speaker.name }}}}.\n{slip}\n")
    (told,) = problems(game, "en")
    assert "prompts/en/persona.j2" in told
    assert "1000000" in told


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    game = Village().write(tmp_path)
    (game / "prompts").write_text("no folder")
    assert problems(game, "en") == ["prompts/: cannot be listed: it is no folder; expected a directory"]
    (game / "prompts").unlink()
    put(game, "en/plan.j2", "").joinpath("prompts/en/plan.j2").write_bytes(b"\xff")
    assert problems(game, "ja")[0].startswith("prompts/en/plan.j2: 1行目: UTF-8ではない")
