"""Draws the grounds of the sample village, pictures/harbour.svg and pictures/shrine_hill.svg, around the nodes and ways
of maps.json: `python docs/tools/ground.py` writes them anew.
"""

# ruff: noqa: E501 - the paths of a picture are long
import json
import random
from collections.abc import Iterator
from math import hypot
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FRAMES = {"harbour": (-190, -30, 1370, 770), "shrine_hill": (-170, -30, 1340, 760)}
ROOFS = ("#5b6b7f", "#6d5a52", "#4f6470", "#7a5348", "#5f6f5e")
Point = tuple[float, float]
Field = tuple[float, float, float, float, float, str, str]
"""Left, top, width, height, how much its right end is lower, its colour, that of its rows."""

RICE, GRAIN, TEA = ("#cfdd9f", "#9dbb6f"), ("#d9dca0", "#b9bd6c"), ("#bfd694", "#7fa85f")
FIELDS: dict[str, tuple[Field, ...]] = {
    "harbour": (
        (985, 118, 150, 74, 10, *RICE),
        (1000, 214, 160, 70, 8, *GRAIN),
        (1020, 304, 140, 62, 6, *RICE),
        (-165, 210, 120, 66, -8, *GRAIN),
        (-170, 300, 130, 70, -8, *RICE),
    ),
    "shrine_hill": (
        (690, 118, 190, 64, 12, *TEA),
        (712, 212, 200, 66, 10, *TEA),
        (740, 306, 170, 64, 8, *TEA),
        (930, 160, 150, 70, 10, *TEA),
        (950, 420, 150, 66, -6, *TEA),
    ),
}

HARBOUR_LAND = (
    "M-190 566C-110 548-10 548 52 552C66 588 62 640 104 652C150 660 172 626 182 592C206 578 216 604 220 646"
    "C224 690 268 692 306 684C352 676 362 652 364 604L372 580C440 572 560 574 640 566C648 600 648 640 690 650"
    "C740 660 806 660 834 642C850 612 852 566 864 538C910 506 1010 486 1190 436V-40H-200Z"
)
SYMBOLS = """
<symbol id="tree" viewBox="-12 -26 24 30" overflow="visible"><ellipse cy="1" rx="9" ry="3" fill="#000" opacity=".12"/>
<path d="M-1.5 0h3v-8h-3z" fill="#7b5d44"/><circle cy="-14" r="9" fill="#7fa86a"/>
<circle cx="-3" cy="-17" r="5" fill="#94bb7c"/></symbol>
<symbol id="cedar" viewBox="-12 -36 24 40" overflow="visible"><ellipse cy="1" rx="8" ry="3" fill="#000" opacity=".14"/>
<path d="M-1.5 0h3v-6h-3z" fill="#6b4f3b"/><path d="M0-34L9-4H-9Z" fill="#4f7f62"/>
<path d="M0-34L4-20-5-8Z" fill="#669a77"/></symbol>
<symbol id="boat" viewBox="-20 -20 40 26" overflow="visible"><path d="M-17-3H17L11 5H-11Z" fill="#8a5a3c"/>
<path d="M-17-3H17L16-1H-16Z" fill="#f3e7cf"/><path d="M-1-22V-4H-12Z" fill="#fdfaf0"/>
<path d="M1-20V-4H9Z" fill="#efe6d2"/></symbol>
<symbol id="rock" viewBox="-10 -10 20 14" overflow="visible"><path d="M-9 2L-5-6 2-8 9 2Z" fill="#9aa3a3"/>
<path d="M-5-6L2-8 0 2H-9Z" fill="#b4bcbb"/></symbol>
<symbol id="torii" viewBox="-24 -46 48 48" overflow="visible"><g fill="#c8412b"><path d="M-17-36h5V2h-5zM12-36h5V2h-5z"/>
<path d="M-20-30H20v4H-20z"/><path d="M-25-42Q0-37 25-42L23-35Q0-32-23-35Z"/></g>
<path d="M-25-43Q0-38 25-43v3Q0-35-25-40Z" fill="#3b3436"/></symbol>
"""


def house(at: Point, roof: str, wide: float = 34, wall: str = "#f6eedd") -> str:
    """A house seen from its front; `at` is the middle of its doorstep."""
    x, y = at
    high, eaves = wide * 0.5, wide * 0.62
    return (
        f'<g transform="translate({x:.0f} {y:.0f})"><ellipse cy="1" rx="{eaves:.0f}" ry="4" opacity=".14"/>'
        f'<path d="M{-wide / 2:.0f} 0V{-high:.0f}H{wide / 2:.0f}V0Z" fill="{wall}"/>'
        f'<path d="M-4 0v-10h8V0zM{wide / 2 - 10:.0f} {-high / 2:.0f}h6v-5h-6z" fill="#8a6a4e"/>'
        f'<path d="M{-eaves:.0f} {-high + 2:.0f}L{-wide / 3:.0f} {-high * 1.75:.0f}H{wide / 3:.0f}'
        f'L{eaves:.0f} {-high + 2:.0f}Z" fill="{roof}"/>'
        f'<path d="M{-wide / 3:.0f} {-high * 1.75:.0f}H{wide / 3:.0f}l2 3H{-wide / 3 - 2:.0f}Z" opacity=".22"/></g>'
    )


def off(point: Point, a: Point, b: Point) -> float:
    """How far the point is from the line between two others."""
    (x, y), (ax, ay), (bx, by) = point, a, b
    dx, dy = bx - ax, by - ay
    part = max(0, min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)))
    return hypot(x - ax - part * dx, y - ay - part * dy)


class Ground:
    """One map: its nodes and ways, and what was built and planted so far."""

    def __init__(self, area: dict[str, Any], frame: tuple[int, int, int, int], fields: tuple[Field, ...]) -> None:
        self.frame, self.fields = frame, fields
        self.nodes: dict[str, Point] = {one["id"]: (one["x"], one["y"]) for one in area["nodes"]}
        self.ways = [(self.nodes[way["from"]], self.nodes[way["to"]]) for way in area["edges"]]
        self.random = random.Random(area["id"])
        self.taken: list[tuple[Point, float]] = [(at, 30) for at in self.nodes.values()]
        self.standing: list[tuple[float, str]] = []

    def is_free(self, at: Point, room: float) -> bool:
        """Whether nothing is there: no way, no house, no tree."""
        clear_of_ways = all(off(at, a, b) > room for a, b in self.ways)
        in_field = any(
            x - 9 < at[0] < x + width + 9 and y - 6 < at[1] < y + high + 24 for x, y, width, high, *_ in self.fields
        )
        return (
            clear_of_ways
            and not in_field
            and all(hypot(at[0] - x, at[1] - y) > room + own for (x, y), own in self.taken)
        )

    def put(self, at: Point, room: float, drawn: str) -> None:
        """Something that stands there, in front of what stands further up."""
        self.taken.append((at, room))
        self.standing.append((at[1], drawn))

    def use(self, symbol: str, at: Point, size: float) -> None:
        """A tree, a rock or a boat."""
        x, y = at
        left, top = x - size / 2, y - size * 0.86
        drawn = f'<use href="#{symbol}" x="{left:.0f}" y="{top:.0f}" width="{size:.0f}" height="{size:.0f}"/>'
        self.put(at, size / 3, drawn)

    def build(self, node: str, roof: str, wide: float, wall: str = "#f6eedd", dx: float = 0, dy: float = -20) -> None:
        """The house of somebody who stands on that node, behind it."""
        x, y = self.nodes[node]
        self.put((x + dx, y + dy), wide / 2, house((x + dx, y + dy), roof, wide, wall))

    def scatter(self, number: int, inside: Iterator[Point], room: float, draw: str, size: float) -> None:
        """So many of them where there is room."""
        for _ in range(number * 12):
            at = next(inside)
            if number and self.is_free(at, room):
                number -= 1
                self.use(draw, at, size * self.random.uniform(0.85, 1.2))

    def homes(self, number: int) -> None:
        """Houses along the ways, where nobody of the story lives."""
        for _ in range(900):
            (ax, ay), (bx, by) = self.random.choice(self.ways)
            part, side = self.random.uniform(0.2, 0.8), self.random.choice((-1, 1))
            far = hypot(bx - ax, by - ay) or 1
            away = self.random.uniform(32, 44) * side
            at = (ax + (bx - ax) * part - (by - ay) / far * away, ay + (by - ay) * part + (bx - ax) / far * away)
            if number and self.is_free(at, 27) and self.is_land(at):
                number -= 1
                self.put(at, 24, house(at, self.random.choice(ROOFS), self.random.uniform(26, 34)))

    def is_land(self, at: Point) -> bool:
        """Houses and trees do not stand in the water."""
        x, y = at
        return y < (528 - max(0, x - 840) * 0.28)

    def within(self, left: float, top: float, right: float, bottom: float) -> Iterator[Point]:
        """Any points of a rectangle that are on land."""
        while True:
            at = (self.random.uniform(left, right), self.random.uniform(top, bottom))
            yield at if self.is_land(at) else (left, top)

    def roads(self) -> str:
        """All ways, with their seams beneath."""
        lines = "".join(f"M{ax:g} {ay:g}L{bx:g} {by:g}" for (ax, ay), (bx, by) in self.ways)
        return (
            f'<g fill="none" stroke-linecap="round" stroke-linejoin="round">'
            f'<path d="{lines}" stroke="#b9a377" stroke-width="17" opacity=".55"/>'
            f'<path d="{lines}" stroke="#f3e8cb" stroke-width="12"/></g>'
        )

    def svg(self, beneath: str, above: str = "") -> str:
        """The picture: what lies, the roads, and what stands, the furthest first."""
        x, y, width, height = self.frame
        standing = "\n".join(drawn for _, drawn in sorted(self.standing, key=lambda one: one[0]))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x} {y} {width} {height}" width="{width}" height="{height}">'
            f"<defs>{SYMBOLS.strip()}</defs>\n{beneath}\n{self.roads()}\n{above}\n{standing}\n</svg>\n"
        )


def patch(x: float, y: float, width: float, height: float, lean: float, colour: str, rows: str) -> str:
    """A field with rows."""
    lines = "".join(f"M{x + 4:g} {y + step:g}l{width - 8:g} {lean:g}" for step in range(7, int(height), 9))
    shape = f"M{x:g} {y:g}l{width:g} {lean:g}v{height:g}l{-width:g} {-lean:g}Z"
    return f'<path d="{shape}" fill="{colour}"/><path d="{lines}" stroke="{rows}" stroke-width="3.4" stroke-linecap="round"/>'


def waves(chance: random.Random, number: int, top: float) -> str:
    """Crests on the sea."""
    spots = [(chance.uniform(-180, 1170), chance.uniform(top, 735)) for _ in range(number)]
    lines = "".join(f"M{x:.0f} {y:.0f}q6-5 12 0t12 0" for x, y in spots)
    return f'<path d="{lines}" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" opacity=".45"/>'


def harbour(area: dict[str, Any]) -> str:
    """The harbour: hills behind, a stream through the village, the sea before it with pier, mole and lighthouse."""
    one = Ground(area, FRAMES["harbour"], FIELDS["harbour"])
    for node, roof, wide in (
        ("inn_hall", "#3f5f7a", 62),
        ("inn_desk", "#3f5f7a", 40),
        ("tavern_door", "#8a4b3a", 40),
        ("tavern_counter", "#8a4b3a", 46),
        ("bakery_oven", "#a5673f", 42),
        ("clinic_desk", "#5c7f86", 44),
        ("smithy_anvil", "#4b4f58", 44),
        ("store_counter", "#6b5a86", 44),
        ("nagaya_one", "#6d5a52", 40),
        ("nagaya_two", "#6d5a52", 40),
        ("carpenter_house", "#7a5348", 42),
        ("net_loft", "#6d6a5e", 40),
        ("market_hall", "#47708c", 56),
    ):
        one.build(node, roof, wide)
    one.build("school_yard", "#7d6a4a", 66, dy=-22)
    one.use("boat", (458, 640), 62)
    one.use("boat", (30, 668), 54)
    one.use("boat", (1040, 600), 66)
    one.use("boat", (520, 692), 40)
    one.use("boat", (-110, 640), 44)
    one.homes(34)
    one.scatter(90, one.within(-190, -24, 1180, 44), 12, "cedar", 36)
    one.scatter(46, one.within(-190, 30, 30, 470), 14, "tree", 32)
    one.scatter(34, one.within(880, 130, 1180, 430), 14, "tree", 32)
    one.scatter(46, one.within(30, 30, 890, 500), 17, "tree", 28)
    chance = random.Random(4)
    mole, pier = "M826 475L912 533L945 638", "M570 556L583 668"
    beneath = f"""<linearGradient id="sea" x2="0" y2="1"><stop stop-color="#9fd0dc"/><stop offset="1" stop-color="#5c9fc0"/>
</linearGradient><linearGradient id="land" x2="0" y2="1"><stop stop-color="#b9d19a"/><stop offset=".75" stop-color="#dbe5bd"/>
</linearGradient><rect x="-200" y="-40" width="1400" height="800" fill="url(#sea)"/>{waves(chance, 70, 590)}
<g fill="none" stroke-linejoin="round"><path d="{HARBOUR_LAND}" stroke="#fff" stroke-width="26" opacity=".35"/>
<path d="{HARBOUR_LAND}" stroke="#efe0b4" stroke-width="13"/></g><path d="{HARBOUR_LAND}" fill="url(#land)"/>
<path d="M-190 566C-110 548-10 548 52 552C40 520 0 500-60 500S-160 512-190 520Z" fill="#f2e4bb"/>
<path d="M-200 150C-120 70-40 40 60 40S240-10 330 10 520-20 640 0 860 30 940 0 1100 30 1200 80V-40H-200Z" fill="#8fb47c"/>
<path d="M-200 90C-100 30 0 0 120 8S330-30 420-20V-40H-200ZM760-40C860-10 960-20 1040 0S1140 20 1200 40V-40Z" fill="#76a06b"/>
{"".join(patch(*field) for field in one.fields)}
<path d="M141 70C175 130 262 130 258 205C254 262 300 240 292 300S258 420 262 470 268 540 230 600" fill="none" stroke="#8cc3d6"
stroke-width="13" stroke-linecap="round"/><circle cx="141" cy="86" r="17" fill="#a9dbe6"/><circle cx="141" cy="86" r="9" fill="#d6f0f2"/>
<path d="{mole}" fill="none" stroke="#8b9496" stroke-width="34" stroke-linecap="round" stroke-linejoin="round"/>
<path d="{mole}" fill="none" stroke="#b6bdbb" stroke-width="24" stroke-linecap="round" stroke-linejoin="round"/>
<circle cx="947" cy="650" r="36" fill="#8b9496"/><circle cx="947" cy="647" r="31" fill="#b9c2ae"/>
<path d="{pier}" fill="none" stroke="#7b5d44" stroke-width="24"/>
<path d="{pier}" fill="none" stroke="#b58d63" stroke-width="18" stroke-dasharray="5 1.5"/>
<circle cx="519" cy="182" r="30" fill="#efe6d0"/><circle cx="519" cy="182" r="13" fill="#a9dbe6"/>
<ellipse cx="684" cy="83" rx="62" ry="26" fill="#e6d6ae"/>"""
    above = """<path d="M238 209Q258 190 278 209" fill="none" stroke="#c8412b" stroke-width="7" stroke-linecap="round"/>
<path d="M521 60h22M521 50h22M522 40h20M523 30h18M524 20h16M525 10h14" stroke="#b3aa98" stroke-width="6"/>
<ellipse cx="286" cy="78" rx="30" ry="13" fill="#a9dbe6" stroke="#93897b" stroke-width="4"/>
<g transform="translate(972 640)"><path d="M-9 0L-6-52H6L9 0Z" fill="#fbfaf4"/><path d="M-8-14H8l-.7-10H-7.3ZM-6.8-38H6.8L6.2-46H-6.2Z"
fill="#d2553d"/><path d="M-8-52H8v-3h-3v-8L0-69-5-63v8h-3Z" fill="#47525c"/><circle cy="-58" r="3" fill="#ffe08a"/></g>"""
    return one.svg(beneath, above)


def shrine_hill(area: dict[str, Any]) -> str:
    """The hill: a shrine among cedars, the archive, and tea on the terraces."""
    one = Ground(area, FRAMES["shrine_hill"], FIELDS["shrine_hill"])
    one.is_land = lambda at: True  # type: ignore[method-assign]
    one.build("shrine_hall", "#5a4a4a", 78, "#f3dcc8", dy=-22)
    one.build("shrine_office", "#7a4a3e", 38, "#f3dcc8")
    one.build("archive_desk", "#5f6f86", 56)
    one.build("tea_house", "#6f7f4c", 50)
    one.build("fox_shrine", "#a83e2a", 26, "#d2553d", dy=-18)
    one.use("torii", (389, 668), 52)
    one.use("torii", (376, 486), 40)
    one.use("torii", (117, 452), 26)
    one.use("cedar", (56, 140), 110)
    for x, y in ((190, 566), (226, 572), (208, 590), (180, 590), (238, 596)):
        one.use("rock", (x, y), 18)
    one.scatter(150, one.within(-165, -20, 560, 420), 13, "cedar", 40)
    one.scatter(70, one.within(-165, 400, 480, 720), 14, "cedar", 36)
    one.scatter(50, one.within(470, 440, 1160, 720), 16, "tree", 32)
    one.scatter(26, one.within(960, 20, 1160, 720), 16, "tree", 32)
    one.scatter(16, one.within(470, 130, 700, 460), 16, "tree", 30)
    beneath = f"""<linearGradient id="land" x2="0" y2="1"><stop stop-color="#a5c48a"/><stop offset="1" stop-color="#d3e0b2"/></linearGradient>
<rect x="-200" y="-40" width="1400" height="800" fill="url(#land)"/>
<path d="M440-40C480 20 560 40 640 20S820 10 900 40 1080 60 1200 30V-40Z" fill="#8ec4d8"/>
<path d="M440-40C480 20 560 40 640 20S820 10 900 40 1080 60 1200 30" fill="none" stroke="#efe0b4" stroke-width="9"/>
<path d="M-200 60C-80 0 120 20 240 120S420 260 520 250 560 420 440 470 160 500 60 620-120 640-200 700Z" fill="#86ad76" opacity=".8"/>
{"".join(patch(*field) for field in one.fields)}
<ellipse cx="386" cy="352" rx="84" ry="62" fill="#e8ddbf"/><circle cx="233" cy="52" r="24" fill="#a9dbe6"/>
<circle cx="233" cy="52" r="13" fill="#d6f0f2"/>
<path d="M366 650L352 563 362 470M412 650L380 563 390 470" fill="none" stroke="#c9bd9e" stroke-width="5"/>"""
    above = """<path d="M376 640l24-2M373 625l24-2M371 610l24-2M368 595l24-2M362 540l22 1M364 525l22 1M366 510l22 1M368 495l22 1"
stroke="#b3aa98" stroke-width="5"/><g transform="translate(258 330)"><path d="M-16 0v-26h4V0zM12 0v-26h4V0z" fill="#7b5d44"/>
<path d="M-24-24L0-42 24-24Z" fill="#5b6b7f"/><path d="M-7-6q0-14 7-14t7 14Z" fill="#8f7a3d"/></g>"""
    return one.svg(beneath, above)


def main() -> None:
    """Write both pictures."""
    areas = {area["id"]: area for area in json.loads((ROOT / "maps.json").read_text("utf-8"))["maps"]}
    for draw in (harbour, shrine_hill):
        (ROOT / "pictures" / f"{draw.__name__}.svg").write_text(draw(areas[draw.__name__]), "utf-8")


if __name__ == "__main__":
    main()
