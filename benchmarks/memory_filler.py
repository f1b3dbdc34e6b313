"""Owns small talk between the talks that matter: little is said, and little is remembered of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Filler:
    """A short talk: its lines, what a closing says of it, and the one thing it remembers."""

    lines: Sequence[str]
    summary: str
    memory: str


_SAID: Mapping[str, Sequence[tuple[str, str, str, str]]] = {
    "en": (
        (
            "The bread was burnt again this morning.",
            "I ate it all the same.",
            "The morning's bread was burnt.",
            "bread",
        ),
        (
            "There is a puddle by the door as wide as a cart.",
            "I went around it.",
            "A puddle stands by the door.",
            "a puddle",
        ),
        (
            "My left boot squeaks when it rains.",
            "I heard you from afar.",
            "A left boot squeaks when it rains.",
            "boots",
        ),
        (
            "Somebody has hung out red blankets.",
            "They will fade in that sun.",
            "Red blankets hang outside.",
            "blankets",
        ),
        ("The cat slept on the flour sacks.", "It always does.", "The cat slept on the flour sacks.", "the cat"),
        ("It smells of wet wool in here.", "It is the coats.", "The coats smell of wet wool.", "wet coats"),
        ("A gull took the end of my lunch.", "They are bold this year.", "A gull took the end of a lunch.", "a gull"),
        ("I counted nine crows on the roof.", "Yesterday there were more.", "Crows sat on the roof.", "crows"),
        ("The tea has gone cold while we stood here.", "I like it cold.", "The tea has gone cold.", "tea"),
        (
            "That shutter has been banging all night.",
            "It wants a nail.",
            "A shutter was banging all night.",
            "a shutter",
        ),
    ),
    "ja": (
        ("今朝のパンはまた焦げていたよ。", "それでも全部食べました。", "今朝のパンは焦げていた。", "パン"),
        ("戸口に大きな水たまりができている。", "よけて通りました。", "戸口に水たまりができている。", "水たまり"),
        ("雨の日は左の靴が鳴るんだ。", "遠くからでも聞こえました。", "雨の日は左の靴が鳴る。", "靴"),
        ("赤い毛布が干してあるね。", "日に焼けてしまいそうです。", "外に赤い毛布が干してある。", "毛布"),
        ("猫が粉袋の上で寝ていた。", "いつものことです。", "猫が粉袋の上で寝ていた。", "猫"),
        ("ここは濡れた毛糸のにおいがする。", "上着のせいでしょう。", "上着が濡れた毛糸のにおいをさせている。", "上着"),
        ("鳥に昼飯の端を取られたよ。", "今年はずうずうしいですね。", "昼飯の端を鳥に取られた。", "鳥"),
        ("屋根に烏が並んでいた。", "昨日はもっといました。", "屋根に烏が並んでいた。", "烏"),
        ("立ち話のあいだに茶が冷めた。", "冷めたのも好きです。", "立ち話のあいだに茶が冷めた。", "茶"),
        ("あの雨戸、一晩中鳴っていたね。", "釘を打たないと。", "雨戸が一晩中鳴っていた。", "雨戸"),
    ),
    "fr": (
        (
            "Le pain était encore brûlé ce matin.",
            "Je l'ai mangé quand même.",
            "Le pain du matin était brûlé.",
            "le pain",
        ),
        (
            "Il y a une grande flaque devant la porte.",
            "J'ai fait le tour.",
            "Une flaque est devant la porte.",
            "une flaque",
        ),
        (
            "Ma botte gauche grince quand il pleut.",
            "Je vous ai entendu de loin.",
            "Une botte grince sous la pluie.",
            "des bottes",
        ),
        (
            "On a étendu des couvertures rouges.",
            "Elles vont passer au soleil.",
            "Des couvertures rouges sèchent dehors.",
            "des couvertures",
        ),
        ("Le chat a dormi sur les sacs.", "Comme toujours.", "Le chat a dormi sur les sacs.", "le chat"),
        (
            "Ça sent la laine mouillée ici.",
            "Ce sont les manteaux.",
            "Les manteaux sentent la laine mouillée.",
            "les manteaux",
        ),
        (
            "Une mouette a pris la fin de mon repas.",
            "Elles osent tout, cette année.",
            "Une mouette a pris la fin d'un repas.",
            "une mouette",
        ),
        (
            "J'ai compté des corbeaux sur le toit.",
            "Hier il y en avait plus.",
            "Des corbeaux étaient sur le toit.",
            "des corbeaux",
        ),
        ("Le thé a refroidi pendant qu'on parlait.", "Je l'aime froid.", "Le thé a refroidi.", "le thé"),
        ("Ce volet a claqué toute la nuit.", "Il lui faut un clou.", "Un volet a claqué toute la nuit.", "un volet"),
    ),
    "zh": (
        ("今早的饼又烤焦了。", "我还是都吃了。", "今早的饼烤焦了。", "饼"),
        ("门口有好大一滩水。", "我绕过去的。", "门口有一滩水。", "积水"),
        ("一下雨我左脚的鞋就响。", "老远就听见了。", "下雨时左脚的鞋会响。", "鞋"),
        ("外头晾着红毯子。", "这太阳要晒褪色的。", "外头晾着红毯子。", "毯子"),
        ("猫睡在面袋上头。", "它天天如此。", "猫睡在面袋上。", "猫"),
        ("屋里一股湿羊毛味儿。", "是那几件外衣。", "外衣有一股湿羊毛味。", "外衣"),
        ("鸟把我剩的午饭叼走了。", "今年的鸟胆子大。", "鸟叼走了剩的午饭。", "鸟"),
        ("屋顶上落了一排乌鸦。", "昨日还要多。", "屋顶上落了一排乌鸦。", "乌鸦"),
        ("站着说话，茶都凉了。", "凉的我也爱喝。", "站着说话的工夫茶凉了。", "茶"),
        ("那扇窗板响了一夜。", "该钉个钉子了。", "那扇窗板响了一夜。", "窗板"),
    ),
}
_SUMMARY = {
    "en": "They spoke of {topic}, and of nothing else.",
    "ja": "二人は{topic}の話をしただけだった。",
    "fr": "Ils ont parlé de ceci : {topic}, et de rien d'autre.",
    "zh": "两人只说了说{topic}。",
}


def filler(language: str, number: int) -> Filler:
    """Small talk in that language, another one by each number."""
    said = _SAID.get(language, _SAID["en"])
    one, other, memory, topic = said[number % len(said)]
    return Filler(lines=(one, other), summary=_SUMMARY.get(language, _SUMMARY["en"]).format(topic=topic), memory=memory)
