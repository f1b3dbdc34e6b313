"""Owns made people for tests: each another one, by a number."""

from typing import Any

from studio.generate.people.asking import MadePerson, WishedPerson

_NAMES = "Ada Bram Cleo Dirk Edda Finn Gala Hugo Ines Jory Kaja Lars Mona Nils Orla Pim Quinn Rosa Sven Tove".split()
_THINGS = "boats kites clocks bread maps goats ropes songs lamps bees nets jars coins drums stoves".split()


def somebody(number: int, **more: Any) -> MadePerson:
    """The person of that number: no two of them are alike."""
    return MadePerson.model_validate(answer(number) | more)


def wished(number: int, **more: Any) -> WishedPerson:
    """The same, of a wish."""
    own: dict[str, Any] = {"age": 41, "sex": "woman", "work": "ferry pilot", "workplace": ""}
    return WishedPerson.model_validate(answer(number) | own | more)


def answer(number: int) -> dict[str, Any]:
    """The person as a model answers."""
    first, second = _NAMES[number % len(_NAMES)], number // len(_NAMES)
    name = f"{first}{'aeiouyrtsn'[second % 10] * (second > 0)}{'lmkdv'[second // 10 % 5] * (second >= 10)}"
    thing, other = _THINGS[number % len(_THINGS)], _THINGS[(number * 7 + 3) % len(_THINGS)]
    own = f"{name} number {number}"
    return {
        "name": name,
        "personality": f"Thinks of {thing} before {other}, and counts to {number * 37} when {own} is cross.",
        "tendencies": [f"Asks {name} twice about {other}", f"Hides {number} {thing} under the stairs"],
        "facts": [f"keeps {number} {thing}", f"was born in the year of {other}", f"lost {number + 1} {other} at sea"],
        "lines": [
            f"Hello, {own} here.",
            f"I keep {number} {thing}, and I would not sell one.",
            f"The year of {other}, that was mine.",
            f"The sea has {number + 1} {other} of mine.",
            f"Count to {number * 37} and you know how I feel.",
            f"Goodbye, and mind the {thing}.",
        ],
        "goals": [{"goal": f"Sell {number * 11} {other} before winter", "importance": 1 + number % 10}],
        "likes": [thing],
        "dislikes": [other],
        "beliefs": [],
        "skills": [f"mending {thing}"],
        "behaviours": [],
        "experiences": [],
    }
