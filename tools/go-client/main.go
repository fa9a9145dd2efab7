// Go-client is an agent with the Go SDK: one trace for each argument after the first, which names an exporter (grpc or
// http). An argument is the rule that its trace breaks, or "good". Prints a line for each: the trace id, the argument.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func main() {
	ctx := context.Background()
	client := otlptracehttp.NewClient()
	if os.Args[1] == "grpc" {
		client = otlptracegrpc.NewClient()
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	tracer := provider.Tracer("agent")
	for _, rule := range os.Args[2:] {
		run(ctx, tracer, rule)
	}
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, tracer trace.Tracer, rule string) {
	ctx, root := tracer.Start(ctx, "agent.run")
	if rule != "G301" {
		root.SetAttributes(attribute.String("run.id", "run-go"))
	}
	if rule == "G103" {
		stranger := root.SpanContext().WithSpanID(trace.SpanID{0, 0, 0, 0, 0, 0, 0, 0xaa})
		ctx = trace.ContextWithSpanContext(ctx, stranger)
	}
	_, tool := tracer.Start(ctx, "tool.search")
	if rule != "G302" {
		tool.SetAttributes(attribute.String("tool.name", "search"))
	}
	if rule != "G303" {
		tool.SetAttributes(attribute.String("input.sha256", strings.Repeat("ab", 32)))
	}
	if rule == "G304" {
		tool.SetStatus(codes.Error, "")
	}
	tool.End()
	root.End()
	fmt.Println(root.SpanContext().TraceID(), rule)
}
