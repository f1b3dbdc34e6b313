"""Every sentence about content files, in English and Japanese, by its kind."""

from world.actions import BUILT_IN
from world.ids import SLUG_MAX

_BUILT_IN = ", ".join(sorted(BUILT_IN))

SENTENCES: dict[str, tuple[str, str]] = {
    # Files as a whole
    "no_directory": ("there is no such directory", "このフォルダはありません"),
    "not_listed": (
        "cannot be listed: {reason}; expected a directory",
        "フォルダとして開けません({reason})",
    ),
    "too_many_files": (
        "there are more than {most} files in this folder, the most that is read",
        "このフォルダのファイルが多すぎます。読み込めるのは {most} 個までです",
    ),
    "missing_file": ("the file is missing", "ファイルがありません"),
    "not_read": ("cannot be read: {reason}", "読み込めません({reason})"),
    "no_file": (
        "cannot be read: it is no file (but a folder, a pipe, a socket or a device)",
        "ファイルではないため読み込めません(フォルダ、パイプ、ソケット、デバイスのどれかです)",
    ),
    "too_large": (
        "the file is larger than {megabytes} MB, the most that is read",
        "ファイルが大きすぎます。読み込めるのは {megabytes} MB までです",
    ),
    "no_utf8": (
        "line {line}: found the byte {byte}, which is not UTF-8; save the file as UTF-8",
        "{line}行目: UTF-8ではないバイト {byte} があります。UTF-8で保存してください",
    ),
    "nested_too_deeply": ("lists or mappings are nested too deeply", "リストやマッピングの入れ子が深すぎます"),
    "too_many_digits": ("found a number with too many digits", "桁数の多すぎる数があります"),
    "broken": (
        "line {line}, column {column}: no valid {form}: {reason}",
        "{line}行{column}列: {form}として読めません({reason})",
    ),
    "key_twice": (
        "the key {name} is written twice in one mapping; expected once",
        "1つのマッピングの中にキー {name} が2度書かれています。1度だけ書いてください",
    ),
    "key_twice_at": (
        "line {line}, column {column}: the key {name} is written twice in one mapping; expected once",
        "{line}行{column}列: 1つのマッピングの中にキー {name} が2度書かれています。1度だけ書いてください",
    ),
    "bad_scalar_at": (
        "line {line}, column {column}: found {text}, which is no date or number; put a text in quotes",
        "{line}行{column}列: {text} は日付や数として読めません。文章なら引用符で囲んでください",
    ),
    # The form of a file
    "missing": ("the key is missing; expected {name} here", "キーがありません。{name} を書いてください"),
    "unknown_key": (
        "unknown key {name}; expected one of {known}{hint}",
        "キー {name} は使えません。使えるのは {known} です{hint}",
    ),
    "mismatch": ("found {found}; expected {expected}", "{found} が書かれています。{expected}を書いてください"),
    "hint": (" (did you mean {guess}?)", "({guess} ではありませんか?)"),
    # What was found
    "null": ("nothing (null)", "空の値(null)"),
    "truth": ("the truth value {shown}", "真偽値 {shown}"),
    "number": ("the number {shown}", "数 {shown}"),
    "long_number": ("a number of too many digits", "桁数の多すぎる数"),
    "mapping": ("a mapping", "マッピング"),
    "list": ("a list", "リスト"),
    "empty_list": ("an empty list", "空のリスト"),
    # What was expected: pydantic's types of errors, and those of `fields.refusal`
    "bool_type": ("true or false", "true か false "),
    "built_in": (f"an id of its own, for {_BUILT_IN} are built in", f"組み込みの名前({_BUILT_IN})ではないid"),
    "clock": (
        'a time in quotes from "00:00" to "23:59", such as "07:30"',
        '"00:00" から "23:59" までの "07:30" のような、引用符で囲んだ時刻',
    ),
    "dict_type": ("a mapping", "マッピング"),
    "empty": ("a text that is not empty", "空でない文章"),
    "enum": ("{choices}", "{choices}"),
    "finite_number": ("a finite number", "有限の数"),
    "float_type": ("a number such as 12.5", "12.5 のような数"),
    "greater_than_equal": ("{ge:.0f} or more", "{ge:.0f} 以上の数"),
    "hours": (
        'opening hours such as "06:00-22:00", past midnight "18:00-02:00", or all day "00:00-24:00"',
        '"06:00-22:00" のような営業時間(夜を越すなら "18:00-02:00"、終日なら "00:00-24:00")',
    ),
    "int_type": ("a whole number such as 3", "3 のような整数"),
    "less_than_equal": ("{le:.0f} or less", "{le:.0f} 以下の数"),
    "literal_error": ("{choices}", "{choices}"),
    "model_type": ("a mapping", "マッピング"),
    "no_bounds": ('"atLeast", "atMost" or both', '"atLeast" か "atMost" か、その両方'),
    "slug": (
        f"an id: letters a-z, A-Z and digits, with single - or _ between them, at most {SLUG_MAX} characters, in quotes "
        "if it is all digits",
        f"id(英字と数字、間に - か _ を1つずつ、{SLUG_MAX} 文字以内。数字だけなら引用符で囲む)",
    ),
    "string_type": ("a text in quotes", "引用符で囲んだ文章"),
    "string_unicode": ("whole characters, not half of a surrogate pair", "片方だけのサロゲートを含まない文章"),
    "text": ('a text in quotes, or a mapping with "en" or "ja"', '引用符で囲んだ文章か "en" "ja" のマッピング'),
    "too_short": ("a list of at least 1", "1個以上のリスト"),
    "tuple_type": ("a list", "リスト"),
    "unquoted_clock": (
        'a time in quotes such as "07:30": put it in quotes, for YAML reads 7:30 without them as the number 450',
        '引用符で囲んだ "07:30" のような時刻(引用符のない 7:30 をYAMLは数 450 と読みます)',
    ),
    "world_time": (
        'a world time without a time zone, such as "2026-04-01T07:00"',
        '"2026-04-01T07:00" のような、時間帯を付けない世界の日時',
    ),
    # Ids
    "id_taken": (
        "the id {id} is already taken by {there}; expected an id of its own",
        "id {id} は {there} で使われています。別のidを付けてください",
    ),
    "unknown_node_here": (
        "unknown node {id}; expected one of the map's node ids{hint}",
        "ノード {id} はありません。このマップのノードidを書いてください{hint}",
    ),
    "unknown_node_elsewhere": (
        "unknown node {id}; expected a node id of another map{hint}",
        "ノード {id} はありません。別のマップのノードidを書いてください{hint}",
    ),
    "unknown_node": (
        "unknown node {id}; expected a node id of maps.json{hint}",
        "ノード {id} はありません。maps.json のノードidを書いてください{hint}",
    ),
    "unknown_facility": (
        "unknown facility {id}; expected a facility id of maps.json{hint}",
        "施設 {id} はありません。maps.json の施設idを書いてください{hint}",
    ),
    "unknown_npc": (
        "unknown NPC {id}; expected the id of a file in npcs/{hint}",
        "NPC {id} はいません。npcs/ にあるファイルのidを書いてください{hint}",
    ),
    "unknown_person": (
        "unknown person {id}; expected the id of a file in npcs/ or characters/{hint}",
        "人物 {id} はいません。npcs/ か characters/ にあるファイルのidを書いてください{hint}",
    ),
    "unknown_action": (
        "unknown action {id}; expected an action id of actions.json{hint}",
        "行動 {id} はありません。actions.json の行動idを書いてください{hint}",
    ),
    "unknown_need": (
        "unknown need {id}; expected a need id of actions.json{hint}",
        "欲求 {id} はありません。actions.json の欲求idを書いてください{hint}",
    ),
    # Maps
    "edge_to_itself": (
        "the edge leads from {node} to itself; expected two different nodes",
        "{node} から自分自身への道です。異なる2つのノードを書いてください",
    ),
    "node_on_other_map": (
        'node {node} is on the map {other}; expected one of this map\'s node ids (ways to other maps go under "exits")',
        "ノード {node} はマップ {other} にあります。"
        'このマップのノードidを書いてください(別のマップへの道は "exits" に書きます)',
    ),
    "node_on_this_map": (
        'node {node} is on this map; an exit is expected to lead to another map (ways within a map go under "edges")',
        "ノード {node} はこのマップにあります。exits には別のマップのノードidを書いてください"
        '(マップの中の道は "edges" に書きます)',
    ),
    "two_posts": (
        "NPC {npc} already has its post at {there}; expected one post for each NPC",
        "NPC {npc} の立ち位置は {there} にもあります。1人に1つだけ書いてください",
    ),
    "two_npcs_on_node": (
        "NPC {npc} already stands on node {node}; expected a node for each NPC alone",
        "ノード {node} には NPC {npc} が立っています。NPCごとに別のノードを書いてください",
    ),
    "post_of_character": (
        "{npc} is a character; expected the id of an NPC, for characters have no post",
        "{npc} はキャラクターです。立ち位置を持つのはNPCだけなので、NPCのidを書いてください",
    ),
    "no_post": (
        'NPC {npc} has no post; expected an entry {{"npcId": {npc}, "spawnNodeId": …}} under "npcs" of a map in maps.json',
        "NPC {npc} の立ち位置がありません。maps.json のどれかのマップの npcs に "
        '{{"npcId": {npc}, "spawnNodeId": …}} を書いてください',
    ),
    "unconnected": (
        "no edge or exit leads from {nodes} to the rest of the world; expected all maps to be connected",
        "{nodes} から世界の他の場所へ続く道がありません。edges か exits でつないでください",
    ),
    "walled_in": (
        "{nodes} cannot be reached: enclosed by the posts {walls} of the NPCs {npcs}; expected a way that no NPC "
        "stands on",
        "{nodes} に行けません。NPC {npcs} の立ち位置 {walls} にふさがれています。NPCの立っていない道をつないでください",
    ),
    "lonely_npc": (
        "nobody could talk to NPC {npc}: node {node} has no open neighbour; expected an edge to a node without an NPC",
        "NPC {npc} に話しかけられる場所がありません。ノード {node} を、NPCの立っていないノードと edges でつないでください",
    ),
    "locked_facility": (
        "nobody can enter {facility}: {nodes} closed or cut off by NPCs; expected at least one node walkers can reach",
        "施設 {facility} に誰も入れません。{nodes} はNPCにふさがれています。歩いて行けるノードを1つ以上書いてください",
    ),
    # Characters
    "knows_itself": (
        "found {id}, its own id; expected the ids of others",
        "自分自身のid {id} があります。ほかの人物のidを書いてください",
    ),
    "known_twice": (
        "found {id}, as at {there}; expected everybody once",
        "{there} と同じ {id} があります。同じ人物は一度だけ書いてください",
    ),
    "home_closed": (
        "node {node} is closed, for NPC {npc} stands on it; expected an open node",
        "ノード {node} には NPC {npc} が立っていて入れません。空いているノードを書いてください",
    ),
    "routine_order": (
        "found {found} after {earlier} at {there}; expected a later time, for a routine goes through the day in order",
        "{there} の {earlier} の後に {found} と書かれています。1日の順に、より遅い時刻を書いてください",
    ),
    "not_possible_there": (
        "{action} cannot be done in {facility}; possible there: {possible}",
        "施設 {facility} では {action} はできません。そこでできる行動: {possible}",
    ),
    "not_possible_at_home": (
        "{action} cannot be done at home; possible there: {possible}",
        "家では {action} はできません。そこでできる行動: {possible}",
    ),
    "none": ("nothing", "なし"),
    # Needs and actions
    "highest_below_lowest": (
        "the need lies between lowest {low} and highest {high}; expected a highest above the lowest",
        "lowest が {low}、highest が {high} です。highest は lowest より大きくしてください",
    ),
    "out_of_bounds": (
        "found {level}; expected a number from lowest {low} to highest {high} of the need {need}",
        "{level} が書かれています。欲求 {need} の lowest {low} から highest {high} までの数を書いてください",
    ),
    "out_of_reach": (
        "nobody could ever do this: the need {need} goes from {low} to {high}; expected a level that can be reached",
        "誰にもできない行動になります。欲求 {need} は {low} から {high} までです。届く値を書いてください",
    ),
    "no_tags": (
        'an action done in a facility has no tags; expected the tags of its facilities, or "where": "home" or "anywhere"',
        '施設でする行動なのに tags がありません。施設の tags を書くか、"where" を "home" か "anywhere" にしてください',
    ),
    "tags_of_no_facility": (
        "nobody could ever do this: no facility of maps.json has a tag {tags}; expected one of {known}{hint}",
        "誰にもできない行動になります。tags に {tags} を持つ施設が maps.json にありません。"
        "使われている tags は {known} です{hint}",
    ),
    "not_in_facility": (
        '{name} belong to a facility, but "where" is {where}; expected no {name} here, or "where": "facility"',
        '"where" が {where} なので {name} は使えません。{name} を消すか、"where" を "facility" にしてください',
    ),
    "no_night": (
        'no action is the night\'s sleep; expected one with "endsDay": true, best with "where": "home"',
        '夜の眠りにあたる行動がありません。どれか1つに "endsDay": true を(できれば "where": "home" と一緒に)書いてください',
    ),
}
