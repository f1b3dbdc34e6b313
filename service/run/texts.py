"""Owns the words of a run in the terminal, in both languages, one row a text."""

from collections.abc import Mapping

from world.time import Language

TEXTS: Mapping[str, Mapping[Language, str]] = {
    # before it begins
    "rehearsal": {
        "en": "Rehearsal: no language model speaks or decides here. The lines are the author's own, chosen by rule.\n"
        "With OPENAI_API_KEY, or KATARIBE_LLM__BASE_URL alone, the same run uses a real model.",
        "ja": "稽古: ここでは言語モデルは話も判断もしていません。作者の書いた台詞を規則で選んでいます。\n"
        "OPENAI_API_KEY か KATARIBE_LLM__BASE_URL を設定すると、同じコマンドが本物のモデルで動きます。",
    },
    "model": {"en": "Models: {models}", "ja": "モデル: {models}"},
    "offer": {
        "en": "Found on this machine: {name}. To use it: KATARIBE_LLM__BASE_URL={url} kataribe run",
        "ja": "このマシンで見つかりました: {name}。使うには: KATARIBE_LLM__BASE_URL={url} kataribe run",
    },
    "begins": {
        "en": "{world} lives from {since} to {until}. Deciding by model: {deciding}; by routine: {rest}.",
        "ja": "「{world}」が {since} から {until} まで動きます。モデルで判断: {deciding}。日課どおり: {rest}。",
    },
    "fewer": {
        "en": "There are {there} characters, not {asked}: all of them decide by model.",
        "ja": "キャラクターは {asked} 人ではなく {there} 人です。全員がモデルで判断します。",
    },
    "crowd": {
        "en": "Of {there} characters the feed shows those who decide by model, and whom they talk to.",
        "ja": "{there} 人のうち、モデルで判断する人とその話し相手だけを表示します。",
    },
    "nobody": {"en": "nobody", "ja": "なし"},
    # the status line
    "status": {
        "en": "{label}  {percent}% of {days} day(s)  calls in flight {in_flight}, made {calls}  tokens {tokens}",
        "ja": "{label}  {days}日間の {percent}%  呼び出し中 {in_flight}、済み {calls}  トークン {tokens}",
    },
    "money": {"en": "  cost {money}", "ja": "  費用 {money}"},
    "making": {"en": "{name}: {text}", "ja": "{name}「{text}"},
    # the feed
    "day_began": {"en": "— {label} —", "ja": "― {label} ―"},
    "decided": {"en": "{name} decides: {what}", "ja": "{name}は決めた: {what}"},
    "thought": {"en": " — {thought}", "ja": "――{thought}"},
    "fallback": {
        "en": " (by routine, for the model failed: {failure})",
        "ja": "(モデルが失敗したため日課どおり: {failure})",
    },
    "planned": {"en": "{name} plans the day: {blocks}", "ja": "{name}が一日の予定を立てた: {blocks}"},
    "departed": {"en": "{name} walks to {place} ({minutes} min)", "ja": "{name}は{place}へ歩き出した({minutes}分)"},
    "arrived": {"en": "{name} arrives: {place}", "ja": "{name}が着いた: {place}"},
    "activity_started": {"en": "{name}: {what}, until {until}", "ja": "{name}: {what}({until} まで)"},
    "activity_ended": {"en": "{name} stops: {what} ({because})", "ja": "{name}は中断した: {what}({because})"},
    "action_failed": {"en": "{name} could not: {failed}", "ja": "{name}: {failed}"},
    "slept": {
        "en": "{name} falls asleep; conversations of the day put away: {cleared}",
        "ja": "{name}は眠りについた。片づけたその日の会話: {cleared} 件",
    },
    "conversation_started": {
        "en": "{name} speaks to {partner}, {place}",
        "ja": "{name}が{partner}に話しかけた。{place}",
    },
    "conversation_ended": {"en": "{name} and {partner} have talked{goal}", "ja": "{name}と{partner}が話した{goal}"},
    "goal": {"en": "; the goal: {goal}", "ja": "。目的: {goal}"},
    "turn": {"en": "       {name}: {text}", "ja": "       {name}「{text}」"},
    "over": {"en": "       ({reason})", "ja": "       ({reason})"},
    "conversation_closed": {"en": "{name} remembers: {summary}", "ja": "{name}は覚えた: {summary}"},
    "closing_failed": {
        "en": "What {name} and {partner} said could not be remembered: {error}",
        "ja": "{name}と{partner}の会話を記憶できませんでした: {error}",
    },
    "fact_rejected": {
        "en": "Not kept of {name}: {statement} ({reason})",
        "ja": "{name}について不採用: {statement}({reason})",
    },
    "memory_expired": {"en": "{name} lets go of: {content}", "ja": "{name}はもう気にしない: {content}"},
    "announced": {"en": "Announced: {text}", "ja": "お知らせ: {text}"},
    "weather": {"en": "Weather: {weather}", "ja": "天気: {weather}"},
    "other": {"en": "{name}: {kind}", "ja": "{name}: {kind}"},
    "world": {"en": "The world", "ja": "世界"},
    # at the end
    "summary": {"en": "== What came of it: {since} to {until} ==", "ja": "== まとめ: {since} から {until} まで =="},
    "person": {"en": "{name} ({how})", "ja": "{name}({how})"},
    "by_model": {"en": "by model", "ja": "モデル"},
    "by_routine": {"en": "by routine", "ja": "日課"},
    "did": {"en": "    did: {value}", "ja": "    過ごし方: {value}"},
    "hours": {"en": "{what} {hours} h", "ja": "{what} {hours}時間"},
    "talked": {"en": "    talked {at} with {partner}: {summary}", "ja": "    会話 {at} {partner}と: {summary}"},
    "learned": {"en": "    learned: {value}", "ja": "    知った: {value}"},
    "mid_term": {"en": "    keeps in mind: {value}", "ja": "    心に留めた: {value}"},
    "needs": {"en": "  at the end: {value}", "ja": "  終わりの状態: {value}"},
    "cost": {"en": "Cost", "ja": "費用"},
    "role": {
        "en": "  {role}: {calls} calls, {prompt} prompt and {completion} completion tokens; "
        "per character and day {calls_each} calls, {prompt_each} prompt tokens",
        "ja": "  {role}: 呼び出し {calls} 回、入力 {prompt}・出力 {completion} トークン。"
        "1人1日あたり {calls_each} 回、入力 {prompt_each} トークン",
    },
    "failures": {"en": ", {failures} failed", "ja": "、失敗 {failures} 回"},
    "total": {"en": "all", "ja": "合計"},
    "estimated": {
        "en": "  (the server, or the rehearsal, does not count tokens: they are estimated)",
        "ja": "  (サーバーまたは稽古がトークンを数えないため、推定値です)",
    },
    "paid": {"en": "  money: {money}", "ja": "  金額: {money}"},
    "seconds": {
        "en": "  machine time: {seconds} s for {days} world day(s)",
        "ja": "  実時間: {days}日間で {seconds} 秒",
    },
    # when it is stopped
    "stopped": {"en": "Stopped at {now}.", "ja": "{now} で止めました。"},
    "go_on": {
        "en": "What happened until then is kept. To go on: kataribe run --data {data}{more}",
        "ja": "そこまでの出来事は残っています。続けるには: kataribe run --data {data}{more}",
    },
    "gone": {
        "en": "The world was made for the occasion and is gone. To keep one: kataribe run --data DIR",
        "ja": "この世界は一時的なもので、もうありません。残すには: kataribe run --data DIR",
    },
    "kept": {
        "en": "The world is kept in {data}. Look at it: kataribe serve --data {data}",
        "ja": "世界は {data} に残っています。見るには: kataribe serve --data {data}",
    },
}

BECAUSE: Mapping[str, Mapping[Language, str]] = {
    "cut": {"en": "spoken to", "ja": "話しかけられた"},
    "need": {"en": "a need is critical", "ja": "限界が近い"},
    "alarm": {"en": "time for the next part of the day", "ja": "次の予定の時間"},
    "roused": {"en": "interrupted", "ja": "中断させられた"},
}

ENDS: Mapping[str, Mapping[Language, str]] = {
    "goal_achieved": {"en": "the goal is achieved", "ja": "目的を達成した"},
    "turn_limit": {"en": "the turn limit is reached", "ja": "ターンの上限に達した"},
    "wants_to_end": {"en": "one of them took their leave", "ja": "一方が別れを告げた"},
    "stalled": {"en": "it went in circles", "ja": "同じ話の繰り返しになった"},
    "ended_by_client": {"en": "the client ended it", "ja": "クライアントが終わらせた"},
    "budget_exhausted": {"en": "the day's budget of model calls is used up", "ja": "今日のモデル呼び出しの予算切れ"},
    "content_changed": {"en": "the author changed the content", "ja": "作者が内容を変えた"},
    "model_failure": {"en": "the model failed", "ja": "モデルが失敗した"},
}

ROLES: Mapping[str, Mapping[Language, str]] = {
    "character": {"en": "speaking as a character", "ja": "キャラクターの発言"},
    "npc": {"en": "speaking as an NPC", "ja": "NPCの発言"},
    "closing": {"en": "remembering", "ja": "記憶"},
    "decision": {"en": "deciding", "ja": "判断"},
}


def say(text: str, language: Language, /, **values: object) -> str:
    """The text with its values."""
    return TEXTS[text][language].format(**values)


def one_line(text: str) -> str:
    """What a model or an author wrote, without line breaks and without anything a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
