// The parts of prom-client that this package uses, each from its own file: the front door loads summaries, process metrics and the push
// gateway too. They are the same classes as the front door's, so a registry of the program's own fits. These files are no public interface;
// prometheus.test.ts notices when they move. Their types are in prometheus-parts.d.ts.
/// <reference path="./prometheus-parts.d.ts" />
import type * as prometheus from 'prom-client';
import CounterClass from 'prom-client/lib/counter.js';
import GaugeClass from 'prom-client/lib/gauge.js';
import HistogramClass from 'prom-client/lib/histogram.js';
import RegistryClass from 'prom-client/lib/registry.js';

export type Counter<T extends string = string> = prometheus.Counter<T>;
export type Gauge<T extends string = string> = prometheus.Gauge<T>;
export type Histogram<T extends string = string> = prometheus.Histogram<T>;
export type Registry = prometheus.Registry;

export const Counter: typeof prometheus.Counter = CounterClass;
export const Gauge: typeof prometheus.Gauge = GaugeClass;
export const Histogram: typeof prometheus.Histogram = HistogramClass;
export const Registry: typeof prometheus.Registry = RegistryClass;
