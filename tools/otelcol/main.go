// Otelcol is an OpenTelemetry Collector for tests, put together from released modules: OTLP comes in over gRPC and
// HTTP, and goes on over OTLP/HTTP or to stderr. Each --config is a file, or yaml: and the text itself; the last counts.
package main

import (
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), yamlprovider.NewFactory()},
			DefaultScheme:     "file",
		}},
	}
	if otelcol.NewCommand(settings).Execute() != nil { // it has said why
		os.Exit(1)
	}
}

func factories() (otelcol.Factories, error) {
	in, out, debug := otlpreceiver.NewFactory(), otlphttpexporter.NewFactory(), debugexporter.NewFactory()
	return otelcol.Factories{
		Receivers: map[component.Type]receiver.Factory{in.Type(): in},
		Exporters: map[component.Type]exporter.Factory{out.Type(): out, debug.Type(): debug},
		Telemetry: otelconftelemetry.NewFactory(),
	}, nil
}
