"""Owns the pairs that `is_grounded` is measured on: a statement, the turn before, the cited turn, whether it was said.

The NPC is Taro (太郎), the character Mio (ミオ). Written before the thresholds were tuned.
"""

from typing import NamedTuple


class Pair(NamedTuple):
    statement: str
    before: str
    heard: str


EN_TRUE = [
    Pair("Taro has twin daughters", "Do you have a family?", "I have twin daughters. They go to the village school."),
    Pair("has two daughters", "Do you have children?", "Two daughters, both of them louder than the sea."),
    Pair("has two children", "How many children do you have?", "Two."),
    Pair(
        "Taro has been baking for 12 years", "You look tired.", "Twelve years I have been baking, and my back knows it."
    ),
    Pair("opens the bakery at five", "When do you start?", "I open the bakery at five, before the gulls are awake."),
    Pair(
        "Taro is afraid of deep water", "Why don't you swim?", "Deep water makes me afraid. It has since I was a boy."
    ),
    Pair("was born in the harbour town", "Where were you born?", "In the harbour town, over the old ropeworks."),
    Pair("Taro wants to see the capital", "Any dreams?", "Before I die I want to see the capital, just once."),
    Pair("never learned to read", "Shall I write it down?", "Don't bother. I never learned to read."),
    Pair("is not married", "Are you married?", "No, never found the time."),
    Pair("is married", "Are you married?", "Yes, and very happily."),
    Pair("Taro's wife died last winter", "Is your wife well?", "My wife died last winter. The house is quiet now."),
    Pair("learned baking from his grandmother", "Who taught you?", "My grandmother. I learned baking at her knee."),
    Pair("keeps a cat named Mugi", "Whose cat is that?", "Mine. Her name is Mugi and she keeps me, if anything."),
    Pair("sells honey cakes on Sundays", "What do you sell?", "Mostly bread. On Sundays I sell honey cakes."),
    Pair(
        "Taro broke his leg as a child",
        "You limp a little.",
        "I broke my leg when I was a child. It never healed right.",
    ),
    Pair("owes the miller forty coins", "What troubles you?", "I owe the miller forty coins and winter is coming."),
    Pair(
        "Taro's brother sails on a whaling ship",
        "Any relatives?",
        "My brother sails on a whaling ship, far in the north.",
    ),
    Pair("is allergic to walnuts", "Have a walnut!", "Thank you, no. Walnuts and I don't agree; I'm allergic."),
    Pair("does not drink sake", "A cup of sake?", "I don't drink sake any more."),
    Pair("used to be a soldier", "Where did you get that scar?", "I used to be a soldier, long ago."),
    Pair(
        "plans to close the shop next spring", "How is business?", "To be honest, I plan to close the shop next spring."
    ),
    Pair("Taro has three apprentices", "Do you work alone?", "With 3 apprentices, none of whom can get up early."),
    Pair("is sixty-one years old", "How old are you?", "I turned sixty-one in June."),
    Pair("likes jazz records", "What is that music?", "Jazz. I like those old records more than I should."),
    Pair("Taro hides money under the flour bin", "I can keep a secret.", "There is money hidden under the flour bin."),
    Pair("is saving for a new oven", "Why work so hard?", "I'm saving every coin for a new oven."),
    Pair("misses his daughter in the city", "You look sad.", "My daughter moved to the city. I miss her."),
    Pair("has one son", "Any children?", "My son works at the mill."),
    Pair(
        "Taro fishes every morning before work", "Do you rest?", "Every morning before work I go fishing off the pier."
    ),
]

EN_FALSE = [
    Pair("has three daughters", "Do you have children?", "I have two daughters."),
    Pair("has three daughters", "I heard you have three daughters.", "Two, to be exact."),
    Pair("has two children", "Do you have children?", "A couple of children, yes."),
    Pair("Taro is a thief", "Somebody took my purse.", "You are a thief?"),
    Pair("is a thief", "Are you a thief?", "No, and mind your tongue."),
    Pair("stole the silver bell from the shrine", "You stole the silver bell from the shrine.", "Good day to you."),
    Pair(
        "stole the silver bell from the shrine",
        "Did you steal the silver bell from the shrine?",
        "That bell was always dear to me.",
    ),
    Pair("is married", "Are you married?", "No, never found the time."),
    Pair("is not married", "Are you married?", "Yes, and very happily."),
    Pair("Taro drinks sake", "A cup of sake?", "I don't drink sake any more."),
    Pair("lives in the capital", "Where do you live?", "Above the bakery, where else."),
    Pair("is the richest man in the village", "How is business?", "Bread sells well enough in the village."),
    Pair("wants to marry Hanako", "What do you wish for?", "A new oven, and dry flour."),
    Pair("opens the bakery at six", "When do you open?", "I open the bakery at five."),
    Pair("has been baking for twenty years", "How long?", "I have been baking for twelve years."),
    Pair("Taro has a wooden leg", "You limp a little.", "I broke my leg when I was a child."),
    Pair("was once a pirate captain", "Where did you get that scar?", "I was a soldier once."),
    Pair("hates the fisherman Genzo", "Do you know Genzo?", "Genzo buys his bread here."),
    Pair("can speak with ghosts", "Do you believe in ghosts?", "On a foggy night one believes in anything."),
    Pair("knows where the treasure is", "Do you know where the treasure is?", "What treasure? Have some bread."),
    Pair("has a secret", "Do you have a secret?", "Does anybody not?"),
    Pair("Taro poisoned the well", "They say you poisoned the well.", "People talk too much in this village."),
    Pair(
        "is forty years old",
        "How old are you?",
        "Older than forty loaves of yesterday, younger than the hill. Sixty-one.",
    ),
    Pair("owes the miller four hundred coins", "What troubles you?", "I owe the miller forty coins."),
    Pair("can read three languages", "Shall I write it down?", "I never learned to read."),
    Pair("has no daughters", "Family?", "I have twin daughters."),
    Pair("Taro will close the bakery tomorrow", "Is it true you close?", "I will never close the bakery."),
    Pair("is a king", "I am the king's messenger.", "And I have bread in the oven."),
    Pair("Taro promised to give Mio the shop", "You promised to give me the shop, remember?", "Did I promise that?"),
    Pair("Taro", "Hello.", "Hello, Mio."),
    Pair("   ", "Hello.", "Hello, Mio."),
    Pair("is very", "Hello.", "I am very well."),
]

JA_TRUE = [
    Pair("太郎には双子の娘がいる", "ご家族は?", "双子の娘がおってな、村の学校に通っとる。"),
    Pair("娘が二人いる", "お子さんは?", "娘が2人。どちらも海よりやかましい。"),
    Pair("子供が二人いる", "お子さんは何人ですか?", "二人だよ。"),
    Pair("パンを焼いて十二年になる", "お疲れですね。", "パンを焼いて１２年だ。腰にくるよ。"),
    Pair("パン屋を五時に開ける", "朝は早いんですか?", "五時には店を開けるよ。パン屋は朝が勝負だからね。"),
    Pair("深い水を怖がっている", "泳がないんですか?", "深い水が怖くてね。子供の頃からなんだ。"),
    Pair("港町で生まれた", "お生まれはどちらですか?", "港町だよ。古い縄工場の上の部屋でね。"),
    Pair("一度都を見てみたいと思っている", "夢はありますか?", "死ぬ前に一度でいいから都を見てみたい。"),
    Pair("字を習ったことがない", "書いておきましょうか?", "いや、字は習ったことがないんだ。"),
    Pair("結婚していない", "結婚しているんですか?", "いいえ、縁がなくてね。"),
    Pair("結婚している", "結婚しているんですか?", "ええ、三十年になります。"),
    Pair("妻を去年の冬に亡くした", "奥さんはお元気ですか?", "妻は去年の冬に亡くなったよ。家が静かになった。"),
    Pair("祖母からパン作りを習った", "誰に習ったんですか?", "祖母だよ。パン作りは全部あの人から習った。"),
    Pair("ムギという猫を飼っている", "あの猫は?", "ムギというんだ。飼っている猫に飼われているようなものさ。"),
    Pair("日曜に蜂蜜の菓子を売っている", "何を売っているんですか?", "ふだんはパンだけど、日曜は蜂蜜の菓子も売るよ。"),
    Pair("子供の頃に足を折った", "足をどうかしましたか?", "子供の頃に折ったんだ、この足は。"),
    Pair("粉屋に四十枚の銀貨を借りている", "何か心配事でも?", "粉屋に銀貨を40枚借りていてね。"),
    Pair("弟が捕鯨船に乗っている", "ご兄弟は?", "弟がいるよ。北の海で捕鯨船に乗っている。"),
    Pair("胡桃を食べると具合が悪くなる", "胡桃はいかがですか?", "胡桃は駄目なんだ。食べると具合が悪くなる。"),
    Pair("酒は飲まない", "一杯どうですか?", "酒はもう飲まないことにしている。"),
    Pair("昔は兵隊だった", "その傷は?", "昔、兵隊だった頃の傷だ。"),
    Pair("来年の春に店を閉めるつもりだ", "お店はどうですか?", "実は来年の春に店を閉めようと思っている。"),
    Pair("弟子が三人いる", "お一人で?", "弟子が３人いるが、誰も早起きができん。"),
    Pair("六十一歳である", "おいくつですか?", "六月で六十一歳になった。"),
    Pair("古いジャズのレコードが好きだ", "この音楽は?", "ジャズだよ。古いレコードが好きでね。"),
    Pair("小麦粉の樽の下に金を隠している", "秘密は守ります。", "小麦粉の樽の下に金を隠してある。"),
    Pair("新しい窯のために金を貯めている", "どうしてそんなに働くんですか?", "新しい窯が欲しくて、金を貯めてるんだ。"),
    Pair("都会に出た娘を恋しがっている", "寂しそうですね。", "娘が都会に出てしまってね、恋しいんだよ。"),
    Pair("息子が一人いる", "お子さんは?", "息子は水車小屋で働いてるよ。"),
    Pair("毎朝仕事の前に釣りをする", "休みは?", "毎朝、仕事の前に桟橋で釣りをするのが楽しみだ。"),
]

JA_FALSE = [
    Pair("娘が三人いる", "お子さんは?", "娘が二人いるよ。"),
    Pair("娘が三人いる", "娘さんが三人いると聞きました。", "二人だよ。"),
    Pair("子供が二人いる", "お子さんは?", "子供なら何人かいるよ。"),
    Pair("太郎は泥棒だ", "財布を取られました。", "あなたは泥棒ですか?"),
    Pair("泥棒だ", "あなたは泥棒ですか?", "いいえ、失礼な。"),
    Pair("神社の銀の鈴を盗んだ", "あなたが神社の銀の鈴を盗んだんでしょう。", "今日はいい天気だね。"),
    Pair("神社の銀の鈴を盗んだ", "神社の銀の鈴を盗んだのはあなたですか?", "あの鈴には思い出があってね。"),
    Pair("結婚している", "結婚しているんですか?", "いいえ、縁がなくてね。"),
    Pair("結婚していない", "結婚しているんですか?", "ええ、三十年になります。"),
    Pair("酒を飲む", "一杯どうですか?", "酒はもう飲まないことにしている。"),
    Pair("都に住んでいる", "どこにお住まいですか?", "パン屋の二階だよ。"),
    Pair("村一番の金持ちだ", "お店はどうですか?", "村の人がパンを買ってくれるよ。"),
    Pair("花子と結婚したいと思っている", "願い事は?", "新しい窯と、乾いた粉だな。"),
    Pair("パン屋を六時に開ける", "何時からですか?", "パン屋は五時に開けるよ。"),
    Pair("パンを焼いて二十年になる", "長いんですか?", "パンを焼いて十二年だ。"),
    Pair("木の義足をつけている", "足をどうかしましたか?", "子供の頃に足を折ったんだ。"),
    Pair("昔は海賊の船長だった", "その傷は?", "昔は兵隊だった。"),
    Pair("源蔵を憎んでいる", "源蔵さんをご存じですか?", "源蔵はうちのパンを買っていくよ。"),
    Pair("幽霊と話ができる", "幽霊を信じますか?", "霧の晩には何でも信じたくなるものさ。"),
    Pair("宝の在り処を知っている", "宝の在り処を知っていますか?", "宝だって? パンでも食べていきな。"),
    Pair("秘密を隠している", "何か秘密を隠していますか?", "隠していない人がいますか?"),
    Pair("井戸に毒を入れた", "あなたが井戸に毒を入れたと聞きました。", "この村の人は噂が好きでね。"),
    Pair("四十歳である", "おいくつですか?", "六十一歳だよ。四十年前は若かった。"),
    Pair("粉屋に銀貨を四百枚借りている", "心配事でも?", "粉屋に銀貨を四十枚借りている。"),
    Pair("三か国語を読める", "書いておきましょうか?", "字は読めないんだ。"),
    Pair("娘はいない", "ご家族は?", "双子の娘がいるよ。"),
    Pair("明日店を閉める", "お店を閉めるんですか?", "店は閉めないよ。"),
    Pair("王である", "私は王の使者です。", "うちの窯にはパンが入っているよ。"),
    Pair("ミオに店を譲ると約束した", "店を譲ると約束しましたよね?", "そんな約束をしたかな?"),
    Pair("太郎は", "こんにちは。", "こんにちは、ミオさん。"),
    Pair(" 　", "こんにちは。", "こんにちは、ミオさん。"),
    Pair("さけがすき", "こんにちは。", "こんにちは、ミオさん。いいてんきだね。"),
]

# Written after the thresholds were set and never tuned on: looser paraphrases, bolder lies.
HELD_OUT_EN_TRUE = [
    Pair(
        "Taro grew up by the sea",
        "Where are you from?",
        "I grew up so near the sea that the tide came into the kitchen.",
    ),
    Pair("prefers tea to coffee", "Coffee?", "Tea, please. I prefer it to coffee."),
    Pair("Taro's father was a fisherman", "And your father?", "My father was a fisherman, as was his."),
    Pair("works alone at night", "Who helps you?", "Nobody. I work alone, at night, while you all sleep."),
    Pair("has not slept well since the storm", "You look pale.", "I haven't slept well since the storm."),
    Pair("Taro believes the bell is cursed", "What of the bell?", "The bell is cursed, if you ask me."),
    Pair("gave up sailing after an accident", "You used to sail?", "I gave it up after the accident."),
    Pair("is looking for a new apprentice", "Busy?", "Very. I am looking for an apprentice again."),
    Pair("dislikes the mayor", "What do you think of the mayor?", "I can't stand the man."),
    Pair("has four cats", "Do you live alone?", "With four cats, if that counts as alone."),
]
HELD_OUT_EN_FALSE = [
    Pair("Taro's father was a smuggler", "And your father?", "My father was a fisherman, as was his."),
    Pair("believes in dragons", "What of the bell?", "The bell is cursed, if you ask me."),
    Pair("has four dogs and a horse", "Do you live alone?", "With four cats, if that counts as alone."),
    Pair("sleeps well", "You look pale.", "I haven't slept well since the storm."),
    Pair("is looking for a wife", "Busy?", "Very. I am looking for an apprentice again."),
    Pair("has two houses in the capital", "You have two houses in the capital, I hear.", "Ha! I have one oven."),
    Pair("Taro killed a man", "Did you kill a man?", "Not a soul."),
    Pair("is in love with Fumi", "Are you in love with Fumi?", "Fumi keeps the inn, and I bake. That is all."),
    Pair("worked for 30 years as a spy", "How long have you worked?", "Thirty years, always at this oven."),
    Pair("was born in the capital", "Were you born in the capital?", "I was born here."),
]
HELD_OUT_JA_TRUE = [
    Pair("海のそばで育った", "ご出身は?", "海のそばで育ったよ。台所まで潮が来るような家でね。"),
    Pair("コーヒーよりお茶が好きだ", "コーヒーはいかがですか?", "コーヒーよりお茶がいいな。"),
    Pair("父親は漁師だった", "お父さんは?", "父も祖父も漁師だった。"),
    Pair("夜に一人で働いている", "手伝いの人は?", "いないよ。みんなが寝ている夜に、一人で働くんだ。"),
    Pair("嵐の日からよく眠れていない", "顔色が悪いですね。", "嵐の日からどうも眠れなくてね。"),
    Pair("鐘は呪われていると信じている", "鐘のことは?", "あの鐘は呪われているのさ。"),
    Pair("事故のあと船に乗るのをやめた", "昔は船に?", "乗っていたさ。事故があって、やめたんだ。"),
    Pair("新しい弟子を探している", "お忙しいですか?", "忙しいよ。また弟子を探しているところさ。"),
    Pair("村長を嫌っている", "村長さんをどう思いますか?", "虫が好かんね。"),
    Pair("猫を四匹飼っている", "一人暮らしですか?", "猫が四匹いるよ。それを一人と言うならね。"),
]
HELD_OUT_JA_FALSE = [
    Pair("父親は密輸をしていた", "お父さんは?", "父も祖父も漁師だった。"),
    Pair("竜を信じている", "鐘のことは?", "あの鐘は呪われているのさ。"),
    Pair("犬を四匹と馬を飼っている", "一人暮らしですか?", "猫が四匹いるよ。それを一人と言うならね。"),
    Pair("よく眠れている", "顔色が悪いですね。", "嵐の日からどうも眠れなくてね。"),
    Pair("嫁を探している", "お忙しいですか?", "忙しいよ。また弟子を探しているところさ。"),
    Pair("都に家が二軒ある", "都に家が二軒あるそうですね。", "はは。あるのは窯一つさ。"),
    Pair("人を殺したことがある", "人を殺したことがありますか?", "まさか。"),
    Pair("ふみに惚れている", "ふみさんに惚れているんですか?", "ふみさんは宿、わしはパン。それだけだ。"),
    Pair("間者として三十年働いた", "長く働いているんですか?", "三十年だよ。ずっとこの窯の前だ。"),
    Pair("都で生まれた", "都で生まれたんですか?", "生まれたのはこの村さ。"),
]
