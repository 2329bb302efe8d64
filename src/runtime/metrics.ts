import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  Registry,
} from "prom-client";
import { latchkeyVersion } from "./latchkey-version.ts";
import { metricTable } from "./metric-table.ts";

type Table = typeof metricTable;

type NamesOf<Type extends string> = {
  [Name in keyof Table]: Table[Name] extends { readonly type: Type } ? Name : never;
}[keyof Table];

/** A value for each label of a metric; those of Latchkey's metrics are from closed sets. */
type LabelsOf<Name extends keyof Table> = Readonly<Record<Table[Name]["labels"][number], string>>;

/**
 * The metrics of a process by their names in the table. A series exists once it is asked for;
 * asking again gives the same one.
 */
export interface Metrics {
  /** A series that begins with 0. */
  counter<Name extends NamesOf<"counter">>(name: Name, labels: LabelsOf<Name>): CounterSeries;
  /** Counts a value of a closed set of labels, whose series begin with 0. */
  counterOf<Name extends NamesOf<"counter">, Value extends string>(
    name: Name,
    values: readonly Value[],
    labelsOf: (value: Value) => LabelsOf<Name>,
  ): (value: Value) => void;
  gauge<Name extends NamesOf<"gauge">>(name: Name, labels: LabelsOf<Name>): GaugeSeries;
  /** Removes the series of a gauge. */
  reset(name: NamesOf<"gauge">): void;
  /** A series that begins with 0 in every bucket. */
  histogram<Name extends NamesOf<"histogram">>(name: Name, labels: LabelsOf<Name>): HistogramSeries;
  /** Sets a callback for each scrape, by what it reads. */
  onScrape(what: string, read: () => void): void;
  /** All metrics in Prometheus' text format, and its media type. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

interface CounterSeries {
  inc(by?: number): void;
}

interface GaugeSeries {
  inc(): void;
  dec(): void;
  set(value: number): void;
}

interface HistogramSeries {
  observe(seconds: number): void;
}

/**
 * Sampling interval of the event loop delay in milliseconds: at 10, prom-client's default, sampling
 * takes 0.5% of a core.
 */
const eventLoopMonitoringPrecision = 20;

/** Gauges named like counters, and a size of the address space named like one of the heap. */
const misleading = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
  "process_heap_bytes",
];

/** Creates the metrics, with those of the process (CPU, memory, event loop). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  for (const name of misleading) registry.removeSingleMetric(name);
  const metrics = new TableMetrics(registry);
  metrics.gauge("latchkey_build_info", { version: latchkeyVersion }).set(1);
  return metrics;
}

type Labels = Readonly<Record<string, string>>;

class TableMetrics implements Metrics {
  readonly #registry: Registry;
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #counterSeries = new Map<string, CounterSeries>();
  readonly #histogramSeries = new Map<string, HistogramSeries>();
  readonly #readings = new Map<string, () => void>();

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    for (const [name, declared] of Object.entries(metricTable)) {
      const { type, help, labels: labelNames } = declared;
      const metric = { name, help, labelNames, registers };
      if (type === "counter") this.#counters.set(name, new Counter(metric));
      else if (type === "gauge") this.#gauges.set(name, newGauge(metric));
      else this.#histograms.set(name, new Histogram({ ...metric, buckets: declared.buckets }));
    }
  }

  counter(name: NamesOf<"counter">, labels: Labels): CounterSeries {
    const values = valuesOf(name, labels);
    return remembered(this.#counterSeries, [name, ...values], () => {
      const series = found(this.#counters, name).labels(...values);
      series.inc(0);
      return series;
    });
  }

  counterOf<Value extends string>(
    name: NamesOf<"counter">,
    values: readonly Value[],
    labelsOf: (value: Value) => Labels,
  ): (value: Value) => void {
    const series = new Map(values.map((value) => [value, this.counter(name, labelsOf(value))]));
    return (value) => series.get(value)?.inc();
  }

  gauge(name: NamesOf<"gauge">, labels: Labels): GaugeSeries {
    return found(this.#gauges, name).labels(...valuesOf(name, labels));
  }

  reset(name: NamesOf<"gauge">): void {
    found(this.#gauges, name).reset();
  }

  histogram(name: NamesOf<"histogram">, labels: Labels): HistogramSeries {
    const values = valuesOf(name, labels);
    return remembered(this.#histogramSeries, [name, ...values], () => {
      const histogram = found(this.#histograms, name);
      histogram.zero(labels);
      return histogram.labels(...values);
    });
  }

  onScrape(what: string, read: () => void): void {
    this.#readings.set(what, read);
  }

  async render(): Promise<{ readonly contentType: string; readonly text: string }> {
    for (const read of this.#readings.values()) read();
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}

/** A gauge that only processes have that set it: 0 has a meaning. */
function newGauge(metric: GaugeConfiguration<string>): Gauge {
  const gauge = new Gauge(metric);
  if (metric.labelNames?.length === 0) gauge.remove();
  return gauge;
}

function valuesOf(name: keyof Table, labels: Labels): string[] {
  return metricTable[name].labels.map((label) => labels[label] ?? "");
}

function remembered<T>(known: Map<string, T>, words: readonly string[], create: () => T): T {
  const key = words.join("\n");
  const series = known.get(key) ?? create();
  known.set(key, series);
  return series;
}

function found<T>(instruments: ReadonlyMap<string, T>, name: string): T {
  const instrument = instruments.get(name);
  if (instrument === undefined) throw new RangeError(`no metric ${name} of this type`);
  return instrument;
}
