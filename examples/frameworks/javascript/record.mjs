// Record what a JavaScript agent traces, as OTLP/JSON: one request, written by `write()`.
import { writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";

const exporter = new InMemorySpanExporter();

/** What keeps every span that has ended: for a framework that makes its own provider. */
export const recorder = new SimpleSpanProcessor(exporter);

/** Make the provider that is recorded. */
export function record() {
  new NodeTracerProvider({ spanProcessors: [recorder] }).register();
}

/** Write what has ended, without what is of one machine. */
export function write(file) {
  const bytes = JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans());
  const text = new TextDecoder()
    .decode(bytes)
    .replaceAll(`file://${process.cwd()}/`, "")
    .replaceAll(`${process.cwd()}/`, "")
    .replace(new RegExp(`\\b${hostname()}\\b`, "g"), "host-1");
  writeFileSync(file, `${text}\n`);
}
