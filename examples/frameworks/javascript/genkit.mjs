// Genkit: node genkit.mjs ok|fail FILE
import { genkit, z } from "genkit";
import { record, write } from "./record.mjs";

const [scenario, file] = process.argv.slice(2);
record();

const ai = genkit({});
const order = z.object({ order_id: z.string(), include_items: z.boolean() });
const lookup = ai.defineTool(
  { name: "lookup_order", description: "Look up an order.", inputSchema: order, outputSchema: z.string() },
  async ({ order_id }) => {
    if (scenario === "fail") throw new Error(`no order ${order_id}`);
    return "shipped: 2 cups";
  },
);
const model = ai.defineModel({ name: "scripted", supports: { tools: true } }, async (request) => {
  const answered = request.messages.some((message) => message.role === "tool");
  const call = { toolRequest: { name: "lookup_order", ref: "call_1", input: { order_id: "A-1", include_items: true } } };
  const content = [answered ? { text: "Order A-1 was shipped yesterday." } : call];
  return { finishReason: "stop", message: { role: "model", content } };
});
const orderAgent = ai.defineFlow({ name: "order_agent" }, async () => {
  return (await ai.generate({ model, prompt: "Where is order A-1?", tools: [lookup] })).text;
});
try {
  console.log(await orderAgent());
} catch (error) {
  console.log(`the run failed: ${error.message}`);
}
write(file);
