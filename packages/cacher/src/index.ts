export { Cacher, type CacherOptions } from './cacher.ts';
export type { CacherCounters, CacherInspection } from './cacher-inspection.ts';
export {
  cacherMetrics,
  formatMetrics,
  type InspectedResource,
  type MetricFamily,
  type MetricSample,
} from './cacher-metrics.ts';
export type { HistogramCounts } from './duration-histogram.ts';
