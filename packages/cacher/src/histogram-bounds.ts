// The buckets of a cacher's histograms. The cacher's parts fill them, inspect() shows them.

/** Bucket bounds in seconds. Source: k8s.io/apiserver cacher/metrics. */
export const readWaitBounds: readonly number[] = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3];
export const initializationBounds: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
export const dispatchBounds: readonly number[] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
