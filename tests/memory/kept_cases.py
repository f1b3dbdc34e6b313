"""Owns the sentences by which it is judged whether somebody told that a promise was kept: written before the rule.

A case: who promised what (Mio speaks first, then Taro, in turn), the lines, the turn that is cited. A lie is what a
careless model would take for it: the promise is only spoken of, denied, asked for, put off, another's, or another one.
"""

from typing import NamedTuple

from service.locales import Language


class Case(NamedTuple):
    """`by` is Mio or Taro, who promised `what` to the other."""

    by: str
    what: str
    turn: int
    lines: tuple[str, ...]


TRUE: dict[Language, tuple[Case, ...]] = {
    "en": (
        Case("Mio", "bring bread", 0, ("Here is the bread I promised you.", "How kind.")),
        Case("Mio", "bring bread", 0, ("I brought you the bread. It is still warm.", "Thank you.")),
        Case("Mio", "bring bread", 1, ("Good morning!", "Thank you for the bread you brought me yesterday.")),
        Case("Mio", "bring bread", 1, ("Did you find it on the step?", "The bread you left was lovely, thank you.")),
        Case("Taro", "mend the roof", 1, ("How is the roof?", "I mended the roof this morning, as I said.")),
        Case("Taro", "mend the roof", 1, ("Did you mend the roof?", "Yes, every tile of it.")),
        Case("Taro", "mend the roof", 2, ("Hello.", "Dry in there?", "Very. You mended the roof so well.")),
        Case("Taro", "lend the lantern", 0, ("Thank you for lending me the lantern, here it is back.", "Any time.")),
        Case("Taro", "lend the lantern", 1, ("I came for it.", "Here, the lantern, as promised.")),
        Case("Mio", "write to Lotte", 0, ("I have written to Lotte, the letter went with the boat.", "Good girl.")),
        Case("Mio", "write to Lotte", 0, ("I wrote to Lotte last night.", "And?")),
        Case("Mio", "ask the doctor about the cough", 0, ("I asked the doctor about your cough: honey.", "Honey?")),
        Case("Taro", "carve a whistle for Riku", 1, ("Riku is happy.", "I carved him the whistle, out of willow.")),
        Case("Taro", "carve a whistle for Riku", 0, ("Riku loves the whistle you carved for him.", "It was nothing.")),
        Case("Mio", "return the book", 0, ("I have returned the book to your shelf.", "So I saw.")),
        Case("Mio", "return the book", 1, ("It is on the table.", "I see you returned the book. Thank you.")),
        Case(
            "Taro", "show Mio the old map", 2, ("So that was it.", "That was it.", "Thank you for showing me the map.")
        ),
        Case("Taro", "paint the boat", 1, ("What did you do all day?", "I painted the boat, green as you wanted.")),
        Case("Mio", "feed the cat", 0, ("I fed the cat this morning, she ate it all.", "Good.")),
        Case("Mio", "feed the cat", 1, ("Did she eat?", "She did. Thanks for feeding the cat.")),
        Case("Taro", "bring three fish", 1, ("What is in the basket?", "Three fish for you, as I promised.")),
        Case(
            "Taro",
            "tell the story of the lighthouse",
            2,
            ("Ah!", "That is all.", "You told me the lighthouse story well."),
        ),
    ),
    "ja": (
        Case("Mio", "パンを持ってくる", 0, ("約束のパンを持ってきたよ。", "ありがとう。")),
        Case("Mio", "パンを持ってくる", 0, ("はい、これが約束したパンです。", "うれしいな。")),
        Case("Mio", "パンを持ってくる", 1, ("おはよう。", "昨日はパンを持ってきてくれてありがとう。")),
        Case("Mio", "パンを持ってくる", 1, ("食べてくれた?", "もらったパン、おいしかったよ。")),
        Case("Taro", "屋根を直す", 1, ("屋根はどう?", "今朝、屋根を直しておいたよ。")),
        Case("Taro", "屋根を直す", 1, ("屋根を直してくれた?", "うん、全部済ませたよ。")),
        Case("Taro", "屋根を直す", 0, ("屋根を直してくれて助かったよ。", "おやすい御用だ。")),
        Case("Taro", "ランタンを貸す", 0, ("ランタンを貸してくれてありがとう。", "いつでもどうぞ。")),
        Case("Taro", "ランタンを貸す", 1, ("借りに来たよ。", "ほら、約束のランタンだ。")),
        Case("Mio", "ロッテに手紙を書く", 0, ("ロッテに手紙を書いたよ。", "えらいな。")),
        Case("Mio", "ロッテに手紙を書く", 0, ("昨夜、ロッテさんに手紙を書きました。", "そうか。")),
        Case("Mio", "医者に咳のことを聞く", 0, ("お医者さんに咳のことを聞いてきたよ。蜂蜜だって。", "蜂蜜か。")),
        Case("Taro", "リクに笛を彫る", 1, ("リクが喜んでいたね。", "柳の木で笛を彫ってやったんだ。")),
        Case("Taro", "リクに笛を彫る", 0, ("彫ってくれた笛、リクが気に入っています。", "よかった。")),
        Case("Mio", "本を返す", 0, ("本は棚に返しておきました。", "見たよ。")),
        Case("Mio", "本を返す", 1, ("机の上だよ。", "本を返してくれたんだね、ありがとう。")),
        Case("Taro", "古い地図を見せる", 2, ("なるほど。", "それだけさ。", "地図を見せてくれてありがとう。")),
        Case("Taro", "舟を塗る", 1, ("一日何をしていたの?", "約束どおり舟を塗ったよ、緑にな。")),
        Case("Mio", "猫に餌をやる", 0, ("今朝、猫に餌をやりました。", "助かる。")),
        Case("Mio", "猫に餌をやる", 1, ("食べてた?", "猫に餌をくれてありがとう。")),
        Case("Taro", "魚を三匹持ってくる", 1, ("それは?", "約束の魚を三匹持ってきた。")),
        Case("Taro", "灯台の話をする", 2, ("わあ。", "おしまい。", "灯台の話をしてくれてありがとう。")),
    ),
}

LIES: dict[Language, tuple[Case, ...]] = {
    "en": (
        Case("Mio", "bring bread", 0, ("I will bring you the bread tomorrow.", "Good.")),
        Case("Mio", "bring bread", 0, ("I am sorry, I have not brought the bread.", "Never mind.")),
        Case("Mio", "bring bread", 1, ("Hello.", "Did you bring the bread?")),
        Case("Mio", "bring bread", 1, ("Hello.", "You promised me bread, remember?")),
        Case("Mio", "bring bread", 1, ("Hello.", "I brought you some bread, since you had none.")),
        Case("Mio", "bring bread", 1, ("Did you eat?", "Hanna brought me bread this morning.")),
        Case("Mio", "bring bread", 0, ("If I had brought the bread we could eat now.", "True.")),
        Case("Mio", "bring bread", 0, ("I wanted to bring the bread, but the oven was cold.", "I see.")),
        Case("Taro", "mend the roof", 1, ("Did you mend the roof?", "No, not yet.")),
        Case("Taro", "mend the roof", 1, ("Did you mend the roof?", "Yes, tomorrow for sure.")),
        Case("Taro", "mend the roof", 1, ("And the roof?", "I bought nails for the roof.")),
        Case("Taro", "mend the roof", 1, ("And the roof?", "I mended the net today.")),
        Case("Taro", "mend the roof", 2, ("Hello.", "Well?", "You never mended the roof.")),
        Case("Taro", "mend the roof", 0, ("The roof needs to be mended.", "I know.")),
        Case("Taro", "lend the lantern", 0, ("Thank you for promising me the lantern.", "It comes.")),
        Case("Taro", "lend the lantern", 1, ("And the lantern?", "I lent the lantern to Riku, you have to wait.")),
        Case("Mio", "write to Lotte", 0, ("I almost wrote to Lotte last night.", "Almost.")),
        Case("Mio", "write to Lotte", 0, ("Lotte wrote to me last night.", "And?")),
        Case("Mio", "write to Lotte", 0, ("I thought of writing to Lotte.", "Do.")),
        Case("Taro", "carve a whistle for Riku", 1, ("Riku waits.", "I am carving the whistle, it is not done.")),
        Case("Taro", "carve a whistle for Riku", 0, ("You said you carved a whistle for Riku, ha ha, as if!", "Hm.")),
        Case("Mio", "return the book", 0, ("I lost the book you lent me.", "Oh no.")),
        Case("Mio", "return the book", 0, ("I have read the book.", "And?")),
        Case("Taro", "paint the boat", 1, ("The boat?", "Maybe I painted the boat, maybe I did not.")),
        Case("Taro", "paint the boat", 1, ("The boat?", "My brother painted his boat.")),
        Case("Taro", "bring three fish", 1, ("Well?", "I brought you two fish.")),
        Case("Taro", "bring three fish", 1, ("Well?", "Good evening, the weather is fine.")),
        Case("Taro", "tell the story of the lighthouse", 0, ("They say the lighthouse has a story.", "It has.")),
    ),
    "ja": (
        Case("Mio", "パンを持ってくる", 0, ("明日パンを持ってくるね。", "たのむ。")),
        Case("Mio", "パンを持ってくる", 0, ("ごめん、パンは持ってこなかった。", "いいよ。")),
        Case("Mio", "パンを持ってくる", 1, ("こんにちは。", "パンは持ってきてくれた?")),
        Case("Mio", "パンを持ってくる", 1, ("こんにちは。", "パンの約束、覚えているかい。")),
        Case("Mio", "パンを持ってくる", 1, ("こんにちは。", "わしがパンを持ってきたよ、腹が減っただろう。")),
        Case("Mio", "パンを持ってくる", 1, ("食べた?", "今朝はハンナがパンを持ってきてくれた。")),
        Case("Mio", "パンを持ってくる", 0, ("もしパンを持ってきたら一緒に食べよう。", "そうだな。")),
        Case("Mio", "パンを持ってくる", 0, ("パンを持ってきたかったけれど、窯が冷えていた。", "そうか。")),
        Case("Taro", "屋根を直す", 1, ("屋根を直してくれた?", "いや、まだだ。")),
        Case("Taro", "屋根を直す", 1, ("屋根を直してくれた?", "うん、明日必ず直すよ。")),
        Case("Taro", "屋根を直す", 1, ("屋根は?", "屋根に使う釘を買った。")),
        Case("Taro", "屋根を直す", 1, ("屋根は?", "今日は網を直した。")),
        Case("Taro", "屋根を直す", 0, ("屋根を直してくれなかったね。", "すまん。")),
        Case("Taro", "屋根を直す", 0, ("屋根を直さないといけないね。", "ああ。")),
        Case("Taro", "ランタンを貸す", 0, ("ランタンを貸すと約束してくれてありがとう。", "今度な。")),
        Case("Taro", "ランタンを貸す", 1, ("ランタンは?", "ランタンはリクに貸した。待ってくれ。")),
        Case("Mio", "ロッテに手紙を書く", 0, ("ロッテに手紙を書こうと思った。", "書くといい。")),
        Case("Mio", "ロッテに手紙を書く", 0, ("ロッテから手紙が届いたよ。", "なんだって?")),
        Case("Mio", "ロッテに手紙を書く", 0, ("ロッテに手紙を書くつもりだった。", "そうか。")),
        Case("Taro", "リクに笛を彫る", 1, ("リクが待っているよ。", "笛はいま彫っているところだ。")),
        Case("Taro", "リクに笛を彫る", 0, ("リクに笛を彫ってくれたって、冗談でしょう。", "ふむ。")),
        Case("Mio", "本を返す", 0, ("借りた本をなくしてしまった。", "なんと。")),
        Case("Mio", "本を返す", 0, ("あの本、読みました。", "どうだった?")),
        Case("Taro", "舟を塗る", 1, ("舟は?", "塗ったかもしれないし、塗らなかったかもしれない。")),
        Case("Taro", "舟を塗る", 1, ("舟は?", "兄が自分の舟を塗った。")),
        Case("Taro", "魚を三匹持ってくる", 1, ("どう?", "魚を二匹持ってきた。")),
        Case("Taro", "魚を三匹持ってくる", 1, ("どう?", "こんばんは、いい天気だ。")),
        Case("Taro", "灯台の話をする", 0, ("灯台の話があるらしいね。", "あるとも。")),
    ),
}

FRESH_TRUE: dict[Language, tuple[Case, ...]] = {
    "en": (
        Case(
            "Mio", "carry the letter to the harbour master", 0, ("I carried the letter to the harbour master.", "Ah.")
        ),
        Case("Mio", "carry the letter to the harbour master", 0, ("The harbour master has the letter now.", "Ah.")),
        Case("Taro", "teach Mio the knot", 2, ("Look!", "Well done.", "You taught me the knot well.")),
        Case("Taro", "save a loaf for Mio", 1, ("Good morning.", "I saved a loaf for you, it is under the cloth.")),
        Case("Taro", "save a loaf for Mio", 2, ("Hm!", "Good?", "Thank you for the loaf you saved.")),
        Case("Mio", "water the beans", 0, ("I have watered the beans, twice even.", "Splendid.")),
        Case("Mio", "water the beans", 1, ("Did you see the beans?", "You watered my beans, I am grateful.")),
        Case("Taro", "find the key", 1, ("And the key?", "Here is the key, I found it under the mat.")),
        Case("Mio", "sing at the feast", 1, ("How was it?", "You sang beautifully at the feast.")),
        Case("Mio", "sew the sail", 0, ("The sail is sewn, I finished it at night.", "Already!")),
    ),
    "ja": (
        Case("Mio", "手紙を港長に届ける", 0, ("手紙を港長に届けてきました。", "そうか。")),
        Case("Mio", "手紙を港長に届ける", 1, ("済んだよ。", "手紙を届けてくれて恩に着るよ。")),
        Case("Taro", "ミオに結び方を教える", 2, ("見て!", "上出来だ。", "結び方を教えてくれてありがとう。")),
        Case("Taro", "パンを一つ取っておく", 1, ("おはよう。", "パンを一つ取っておいたよ。")),
        Case("Taro", "パンを一つ取っておく", 2, ("うん。", "うまいか。", "パンを取っておいてくれてありがとう。")),
        Case("Mio", "豆に水をやる", 0, ("豆に水をやっておいたよ。", "見事だ。")),
        Case("Mio", "豆に水をやる", 1, ("豆は見た?", "豆に水をやってくれたんだね。")),
        Case("Taro", "鍵を探す", 1, ("鍵は?", "鍵を探して、敷物の下で見つけたよ。")),
        Case("Mio", "祭りで歌う", 1, ("どうだった?", "祭りで歌ってくれてありがとう、見事だった。")),
        Case("Mio", "帆を縫う", 0, ("帆は夜のうちに縫いました。", "もうか。")),
    ),
}
"""Written after the rule, without trying it: how it does on what it has not seen."""

FRESH_LIES: dict[Language, tuple[Case, ...]] = {
    "en": (
        Case(
            "Mio", "carry the letter to the harbour master", 0, ("I still have the letter for the harbour master.", "")
        ),
        Case("Mio", "carry the letter to the harbour master", 0, ("I am off to carry the letter there now.", "Good.")),
        Case("Taro", "teach Mio the knot", 1, ("The knot?", "I taught the knot to my sons years before you came.")),
        Case("Taro", "save a loaf for Mio", 1, ("A loaf?", "I sold the last loaf an hour ago, forgive me.")),
        Case("Taro", "save a loaf for Mio", 1, ("A loaf?", "Nobody saved you a loaf.")),
        Case("Mio", "water the beans", 0, ("The rain watered your beans for me.", "Ha.")),
        Case("Mio", "water the beans", 1, ("Well?", "You could have watered the beans.")),
        Case("Taro", "find the key", 1, ("And the key?", "I have looked everywhere for the key.")),
        Case("Mio", "sing at the feast", 1, ("Well?", "You sang at home, and the feast was quiet.")),
        Case("Mio", "sew the sail", 0, ("I tried to sew the sail and pricked my thumb.", "Oh.")),
    ),
    "ja": (
        Case("Mio", "手紙を港長に届ける", 0, ("手紙はまだ私が持っています。", "おや。")),
        Case("Mio", "手紙を港長に届ける", 0, ("これから手紙を届けに行くところです。", "よし。")),
        Case("Taro", "ミオに結び方を教える", 1, ("結び方は?", "結び方は息子たちに教えた、昔の話だ。")),
        Case("Taro", "パンを一つ取っておく", 1, ("パンは?", "最後のパンは一時間前に売れた。")),
        Case("Taro", "パンを一つ取っておく", 2, ("あれ。", "どうした。", "パンを取っておいてほしかったな。")),
        Case("Mio", "豆に水をやる", 0, ("豆には雨が水をやってくれました。", "はは。")),
        Case("Mio", "豆に水をやる", 1, ("どう?", "豆に水をやってくれればよかったのに。")),
        Case("Taro", "鍵を探す", 1, ("鍵は?", "鍵を探すのをすっかり忘れていた。")),
        Case("Mio", "祭りで歌う", 1, ("どう?", "祭りで歌うのを楽しみにしていたんだが。")),
        Case("Mio", "帆を縫う", 0, ("帆を縫いかけて指を刺してしまった。", "おや。")),
    ),
}
