// An agent with the JavaScript SDK: one trace for each argument after the first, which names an exporter (proto or
// http). An argument is the rule that its trace breaks, or "good". Prints a line for each: the trace id, the argument.
const { SpanStatusCode, context, trace } = require('@opentelemetry/api');
const { NodeTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-node');

const [kind, ...rules] = process.argv.slice(2);
const { OTLPTraceExporter } = require(`@opentelemetry/exporter-trace-otlp-${kind}`);
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
const tracer = provider.getTracer('agent');

function run(rule) {
  const root = tracer.startSpan('agent.run', { attributes: rule === 'G301' ? {} : { 'run.id': 'run-js' } });
  const { traceId } = root.spanContext();
  const stranger = { traceId, spanId: '00000000000000aa', traceFlags: 1 };
  const parent =
    rule === 'G103' ? trace.setSpanContext(context.active(), stranger) : trace.setSpan(context.active(), root);
  const tool = tracer.startSpan('tool.search', {}, parent);
  if (rule !== 'G302') tool.setAttribute('tool.name', 'search');
  if (rule !== 'G303') tool.setAttribute('input.sha256', 'ab'.repeat(32));
  tool.setStatus({ code: rule === 'G304' ? SpanStatusCode.ERROR : SpanStatusCode.OK });
  tool.end();
  root.end();
  console.log(`${traceId} ${rule}`);
}

rules.forEach(run);
provider.shutdown().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
