export { Cacher, type CacherOptions } from './cacher.ts';
export type { CacherCounters, CacherInspection } from './cacher-inspection.ts';
export { cacherMetrics, type InspectedResource } from './cacher-metrics.ts';
