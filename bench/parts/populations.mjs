// The two populations of pods for which each figure of the SDK is given: pods that are all alike, of 2.3 KB (pod.mjs),
// and pods like those of a real cluster, of 5 KB (cluster-population.mjs names its sources).
// KAPSTAN_BENCH_POPULATIONS=alike,cluster chooses.
const all = [
  { population: 'alike', replicas: 0, of: 'pods that are all alike' },
  { population: 'cluster', replicas: 'cluster', of: "a cluster's pods" },
];
const chosen = process.env.KAPSTAN_BENCH_POPULATIONS?.split(',') ?? all.map(({ population }) => population);

export const populations = all.filter(({ population }) => chosen.includes(population));
