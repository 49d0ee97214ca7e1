// Cases of every type of patch, on small and large objects.
import { configMap, configMaps, type GrowthCase, members, pod, pods, times } from '../growth-case.ts';

const json = 'application/json-patch+json';
const merge = 'application/merge-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const apply = 'application/apply-patch+yaml';
const growing = `${configMaps}/growth`;
const growingPod = `${pods}/growth`;

const largeConfigMap = (n: number) =>
  ({ method: 'POST', path: configMaps, body: configMap({ data: members(n, () => 'x') }) }) as const;

export const patchCases: readonly GrowthCase[] = [
  {
    name: 'merge patch of one key on a large ConfigMap',
    full: 60_000,
    prepare: (n) => [largeConfigMap(n)],
    request: () => ({ method: 'PATCH', path: growing, contentType: merge, body: { data: { one: 'y' } } }),
    made: [growing],
  },
  {
    name: 'JSON patch of many additions',
    full: 8_000,
    prepare: () => [largeConfigMap(1)],
    request: (n) => ({
      ...{ method: 'PATCH', path: growing, contentType: json },
      body: times(n, (i) => ({ op: 'add', path: `/data/a${i}`, value: 'x' })),
    }),
    made: [growing],
  },
  {
    name: 'merge patch of many keys',
    full: 60_000,
    prepare: () => [largeConfigMap(1)],
    request: (n) => ({
      ...{ method: 'PATCH', path: growing, contentType: merge },
      body: { data: members(n, () => 'y') },
    }),
    made: [growing],
  },
  {
    name: 'strategic patch of $deleteFromPrimitiveList on many finalizers',
    full: 40_000,
    prepare: (n) => [
      {
        method: 'POST',
        path: configMaps,
        body: configMap({}, { finalizers: times(n, (i) => `a.io/f${i}`) }),
      },
    ],
    request: (n) => ({
      ...{ method: 'PATCH', path: `${growing}?dryRun=All`, contentType: strategic },
      body: { metadata: { '$deleteFromPrimitiveList/finalizers': times(n / 2, (i) => `a.io/f${i * 2}`) } },
    }),
    codes: [200],
    made: [growing],
  },
  {
    name: 'apply of many keys',
    full: 60_000,
    request: (n) => ({
      ...{ method: 'PATCH', path: `${growing}?fieldManager=m&force=true`, contentType: apply },
      body: configMap({ data: members(n, () => 'y') }),
    }),
    made: [growing],
  },
  {
    name: 'strategic patch of $setElementOrder on many env',
    full: 20_000,
    prepare: (n) => [
      {
        ...{ method: 'POST', path: pods },
        body: pod({ containers: [{ name: 'c', image: 'i', env: times(n, (i) => ({ name: `E${i}` })) }] }),
      },
    ],
    request: (n) => ({
      ...{ method: 'PATCH', path: growingPod, contentType: strategic },
      body: {
        spec: {
          containers: [{ name: 'c', '$setElementOrder/env': times(n, (i) => ({ name: `E${n - 1 - i}` })), env: [] }],
        },
      },
    }),
    made: [growingPod],
  },
];
