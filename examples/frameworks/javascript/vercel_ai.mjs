// Vercel AI SDK 6: node vercel_ai.mjs ok|fail|abandoned FILE
import { generateText, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { z } from "zod";
import { record, write } from "./record.mjs";

const [scenario, file] = process.argv.slice(2);
record();

const usage = { inputTokens: { total: 9 }, outputTokens: { total: 9 } };
const call = {
  type: "tool-call", toolCallId: "call_1", toolName: "lookup_order",
  input: JSON.stringify({ order_id: "A-1", include_items: true }),
};
const text = { type: "text", text: "Order A-1 was shipped yesterday." };
const finish = (reason) => ({ unified: reason, raw: reason });
let asked = 0;
const model = new MockLanguageModelV3({
  doGenerate: async () => {
    const first = asked++ === 0;
    return { content: [first ? call : text], finishReason: finish(first ? "tool-calls" : "stop"), usage, warnings: [] };
  },
  doStream: async () => {
    const first = asked++ === 0;
    const chunks = first
      ? [{ type: "stream-start", warnings: [] }, call, { type: "finish", finishReason: finish("tool-calls"), usage }]
      : [
          { type: "stream-start", warnings: [] }, { type: "text-start", id: "1" },
          ...text.text.split(" ").map((delta) => ({ type: "text-delta", id: "1", delta: `${delta} ` })),
          { type: "text-end", id: "1" }, { type: "finish", finishReason: finish("stop"), usage },
        ];
    return { stream: simulateReadableStream({ chunks }) };
  },
});
const asking = {
  model, prompt: "Where is order A-1?", stopWhen: stepCountIs(3),
  tools: {
    lookup_order: tool({
      description: "Look up an order.",
      inputSchema: z.object({ order_id: z.string(), include_items: z.boolean() }),
      execute: async ({ order_id }) => {
        if (scenario === "fail") throw new Error(`no order ${order_id}`);
        return "shipped: 2 cups";
      },
    }),
  },
  experimental_telemetry: { isEnabled: true, functionId: "order_agent", metadata: { shop: "cups" } },
};
if (scenario === "abandoned") {
  for await (const _ of streamText(asking).textStream) break;
} else {
  console.log((await generateText(asking)).text);
}
write(file);
