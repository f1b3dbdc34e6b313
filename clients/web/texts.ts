// Owns what the page says, in both languages.

const TEXTS = {
  en: {
    name: "Your name",
    begin: "Begin",
    say: "Say",
    you: "You",
    map: "The map. Arrow keys walk.",
    nobody: "Nobody is beside you: walk with the arrow keys",
    talk: "Talk with {name}",
    sit: "Sit down with {name}",
    ask: "Ask {name} to sit down",
    table: "You talk with {names}",
    aloud: "Aloud: all hear it",
    whisper: "Whispered: only {name} hears it",
    ears: "Who hears it",
    whispered: "(whispered)",
    interrupt: "Interrupt (Esc)",
    end: "Goodbye (Esc)",
    beside: "{place} — beside you: {names}",
    asked: "{name} does: {action} {args}",
    likes: "{name}'s affinity towards you: {before} → {after}",
    comma: ", ",
    over: "The conversation is over.",
    remembered: "{name} will remember it.",
    away: "The service cannot be reached.",
  },
  ja: {
    name: "あなたの名前",
    begin: "はじめる",
    say: "話す",
    you: "あなた",
    map: "地図。矢印キーで歩きます。",
    nobody: "そばに誰もいません。矢印キーで歩いてください",
    talk: "{name}と話す",
    sit: "{name}の席に加わる",
    ask: "{name}を席に呼ぶ",
    table: "話している相手: {names}",
    aloud: "声に出す(全員に聞こえる)",
    whisper: "ささやく({name}だけに聞こえる)",
    ears: "誰に聞こえるか",
    whispered: "(ささやき)",
    interrupt: "さえぎる(Esc)",
    end: "別れる(Esc)",
    beside: "{place} — そばにいる人: {names}",
    asked: "{name}の行動: {action} {args}",
    likes: "{name}のあなたへの好感度: {before} → {after}",
    comma: "、",
    over: "会話が終わりました。",
    remembered: "{name}はこのことを覚えています。",
    away: "サービスにつながりません。",
  },
};

export type Language = keyof typeof TEXTS;

const asked = new URLSearchParams(location.search).get("lang") ?? navigator.language;
export const language: Language = asked.startsWith("ja") ? "ja" : "en";

/** A text of the page's language, its {names} filled in. */
export function t(key: keyof (typeof TEXTS)["en"], facts: Record<string, unknown> = {}): string {
  return TEXTS[language][key].replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name]));
}
