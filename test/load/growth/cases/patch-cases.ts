// Cases of every type of patch, on small and large objects.
import {
  configMap,
  configMaps,
  type GrowthCase,
  type GrowthRequest,
  members,
  podOfEnv,
  pods,
  times,
} from '../growth-case.ts';

const json = 'application/json-patch+json';
const merge = 'application/merge-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const apply = 'application/apply-patch+yaml';
const growing = `${configMaps}/growth`;
const growingPod = `${pods}/growth`;

const largeConfigMap = (n: number) =>
  ({ method: 'POST', path: configMaps, body: configMap({ data: members(n, () => 'x') }) }) as const;

const createdPod = (n: number): GrowthRequest => ({ method: 'POST', path: pods, body: podOfEnv(n) });
/** Env of a pod cannot change, so the answer is an error. */
const envPatch = (container: object): GrowthRequest => ({
  ...{ method: 'PATCH', path: growingPod, contentType: strategic },
  body: { spec: { containers: [{ name: 'c', ...container }] } },
});
const applied = (manager: string, force: boolean, more: object): GrowthRequest => ({
  ...{ method: 'PATCH', path: `${growing}?fieldManager=${manager}&force=${force}`, contentType: apply },
  body: configMap(more),
});

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
    prepare: (n) => [createdPod(n)],
    request: (n) => envPatch({ '$setElementOrder/env': times(n, (i) => ({ name: `E${n - 1 - i}` })), env: [] }),
    made: [growingPod],
  },
  ...jsonPatches(),
  {
    name: 'strategic patch of many $patch: delete',
    full: 12_000,
    prepare: (n) => [createdPod(n)],
    request: (n) => envPatch({ env: times(n, (i) => ({ name: `E${i}`, $patch: 'delete' })) }),
    made: [growingPod],
  },
  {
    name: 'strategic patch that replaces many env',
    full: 20_000,
    prepare: (n) => [createdPod(n)],
    request: (n) => envPatch({ env: [{ $patch: 'replace' }, ...times(n, (i) => ({ name: `F${i}` }))] }),
    made: [growingPod],
  },
  {
    name: 'strategic patch of many $retainKeys',
    full: 50_000,
    prepare: () => [createdPod(1)],
    request: (n) => ({
      ...{ method: 'PATCH', path: growingPod, contentType: strategic },
      body: { spec: { volumes: [{ name: 'v', emptyDir: {}, $retainKeys: ['name', ...times(n, (i) => `k${i}`)] }] } },
    }),
    made: [growingPod],
  },
  ...liveApplies(),
  ...managers(),
];

function jsonPatches(): GrowthCase[] {
  const operations: Readonly<Record<string, (i: number) => object>> = {
    removals: (i) => ({ op: 'remove', path: `/data/k${i}` }),
    replacements: (i) => ({ op: 'replace', path: `/data/k${i}`, value: 'y' }),
    moves: (i) => ({ op: 'move', from: `/data/k${i}`, path: `/data/m${i}` }),
    copies: (i) => ({ op: 'copy', from: `/data/k${i}`, path: `/data/c${i}` }),
    tests: (i) => ({ op: 'test', path: `/data/k${i}`, value: 'x' }),
  };
  return Object.entries(operations).map(([name, operation]) => ({
    name: `JSON patch of many ${name}`,
    full: 10_000,
    prepare: (n) => [largeConfigMap(n)],
    request: (n) => ({ method: 'PATCH', path: growing, contentType: json, body: times(n, operation) }),
    // A patch has at most 10,000 operations, and an object is copied at most as often as 1.5 MiB allow.
    codes: [200, 413],
    made: [growing],
  }));
}

/** Applies to an object that has its values from another manager. */
function liveApplies(): GrowthCase[] {
  const of = (name: string, force: boolean, value: string): GrowthCase => ({
    name: `apply of many keys that ${name}`,
    full: 25_000,
    prepare: (n) => [largeConfigMap(n)],
    request: (n) => applied('second', force, { data: members(n, () => value) }),
    codes: force || value === 'x' ? [200] : [409],
    made: [growing],
  });
  return [
    of('another manager has, with the same values', false, 'x'),
    of('another manager has, with conflicts', false, 'y'),
    of('another manager has, by force', true, 'y'),
    {
      name: 'apply of no key after one of many keys',
      full: 25_000,
      prepare: (n) => [applied('first', true, { data: members(n, () => 'x') })],
      request: () => applied('first', true, {}),
      made: [growing],
    },
  ];
}

/** Cases of objects with many managers of both kinds, each of which has fields of its own. */
function managers(): GrowthCase[] {
  const body = (n: number) => configMap({ data: { k: 'v' } }, { managedFields: times(n, managedFields) });
  const prepare = (n: number): readonly GrowthRequest[] => [{ method: 'POST', path: configMaps, body: body(n) }];
  const full = 1_500;
  return [
    {
      name: 'create with many managers of fields',
      full,
      request: (n) => ({ method: 'POST', path: configMaps, body: body(n) }),
      made: [growing],
    },
    {
      name: 'merge patch of an object with many managers of fields',
      ...{ full, prepare },
      request: () => ({ method: 'PATCH', path: growing, contentType: merge, body: { data: { one: 'y' } } }),
      made: [growing],
    },
    {
      name: 'apply to an object with many managers of fields',
      ...{ full, prepare },
      request: () => applied('second', true, { data: members(20, () => 'y', 'm0-') }),
      made: [growing],
    },
  ];
}

function managedFields(manager: number): object {
  return {
    ...{ manager: `m${manager}`, operation: manager % 2 === 0 ? 'Update' : 'Apply', apiVersion: 'v1' },
    ...{ time: '2026-01-01T00:00:00Z', fieldsType: 'FieldsV1' },
    fieldsV1: { 'f:data': members(20, () => ({}), `f:m${manager}-`) },
  };
}
