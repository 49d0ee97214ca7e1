// The parts of prom-client that this package uses, each imported from its own file, because the main entry point also loads summaries,
// process metrics and the push gateway. They are the same classes, so a program's own registry fits. These files are not a public
// interface; prometheus.test.ts detects that they moved. Their types are in prometheus-parts.d.ts.
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
