// What a program does with OpenAI's official JavaScript client: lists whom one can talk to, talks, and streams.
import OpenAI from "openai";

const [baseURL, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });

const people = [];
for await (const one of client.models.list()) people.push(one.id);

const history = [{ role: "user", content: "Good morning. How is the rye?" }];
const whole = await client.chat.completions.create({ model, messages: history });
history.push(whole.choices[0].message, { role: "user", content: "And the wheat?" });

const stream = await client.chat.completions.create({
  model,
  messages: history,
  stream: true,
  stream_options: { include_usage: true },
});
let text = "";
let usage = null;
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}

const refused = await client.chat.completions.create({ model: "npc:nobody", messages: history }).catch((error) => error);
const error = { status: refused.status, code: refused.code, param: refused.param, type: refused.type };
console.log(JSON.stringify({ people, whole: whole.choices[0].message.content, text, usage, error }));
