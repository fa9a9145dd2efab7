// VoltAgent: node voltagent.mjs ok|fail FILE
import { Agent, createTool, VoltAgentObservability } from "@voltagent/core";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";
import { recorder, write } from "./record.mjs";

const [scenario, file] = process.argv.slice(2);
const usage = { inputTokens: { total: 9 }, outputTokens: { total: 9 } };
const call = {
  type: "tool-call", toolCallId: "call_1", toolName: "lookup_order",
  input: JSON.stringify({ order_id: "A-1", include_items: true }),
};
const text = { type: "text", text: "Order A-1 was shipped yesterday." };
let asked = 0;
const model = new MockLanguageModelV3({
  doGenerate: async () => {
    const first = asked++ === 0;
    const reason = first ? "tool-calls" : "stop";
    return { content: [first ? call : text], finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
  },
});
const lookup = createTool({
  name: "lookup_order",
  description: "Look up an order.",
  parameters: z.object({ order_id: z.string(), include_items: z.boolean() }),
  execute: async ({ order_id }) => {
    if (scenario === "fail") throw new Error(`no order ${order_id}`);
    return "shipped: 2 cups";
  },
});
const observability = new VoltAgentObservability({ spanProcessors: [recorder] });
const agent = new Agent({ name: "order_agent", instructions: "You know the orders.", model, tools: [lookup], observability });
console.log((await agent.generateText("Where is order A-1?")).text);
await observability.forceFlush?.();
write(file);
process.exit(0);
