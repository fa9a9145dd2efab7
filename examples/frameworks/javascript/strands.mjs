// Strands TypeScript: node strands.mjs ok|fail|abandoned FILE
import { Agent, tool } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { z } from "zod";
import { record, write } from "./record.mjs";

const [scenario, file] = process.argv.slice(2);
record();

const call = { name: "lookup_order", arguments: JSON.stringify({ order_id: "A-1", include_items: true }) };
let asked = 0;
/** Answer in place of a model: the first request gets a call, every further one a text. */
async function scripted() {
  const first = asked++ === 0;
  const delta = first
    ? { role: "assistant", tool_calls: [{ index: 0, id: "call_1", type: "function", function: call }] }
    : { role: "assistant", content: "Order A-1 was shipped yesterday." };
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1700000000, model: "scripted" };
  const ends = { index: 0, delta: {}, finish_reason: first ? "tool_calls" : "stop" };
  const events = [{ index: 0, delta, finish_reason: null }, ends].map((choice) => ({ ...head, choices: [choice] }));
  const body = [...events.map((event) => JSON.stringify(event)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const lookup = tool({
  name: "lookup_order",
  description: "Look up an order.",
  inputSchema: z.object({ order_id: z.string(), include_items: z.boolean() }),
  callback: ({ order_id }) => {
    if (scenario === "fail") throw new Error(`no order ${order_id}`);
    return "shipped: 2 cups";
  },
});
const model = new OpenAIModel({ api: "chat", modelId: "scripted", apiKey: "none", clientConfig: { fetch: scripted } });
const agent = new Agent({ name: "order_agent", model, tools: [lookup], printer: false });
if (scenario === "abandoned") {
  for await (const _ of agent.stream("Where is order A-1?")) break;
} else {
  console.log(String(await agent.invoke("Where is order A-1?")));
}
write(file);
