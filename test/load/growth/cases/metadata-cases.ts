// Cases of labels, annotations, finalizers, owners, managed fields, and the plain size of an object.
import { configMap, configMaps, creates, type GrowthCase, members, mostMembers, times } from '../growth-case.ts';

const ofConfigMap = { path: configMaps, codes: [201, 413, 422] } as const;

export const metadataCases: readonly GrowthCase[] = [
  creates('create of a ConfigMap of many keys', {
    ...ofConfigMap,
    full: 80_000,
    body: (n) => configMap({ data: members(n, () => 'x') }),
  }),
  creates('create of a ConfigMap with one long text', {
    ...ofConfigMap,
    full: 2_900_000,
    body: (n) => configMap({ data: { text: 'x'.repeat(n) } }),
  }),
  creates('create of a ConfigMap with a text of escapes', {
    ...ofConfigMap,
    full: 480_000,
    body: (n) => configMap({ data: { text: '\u0001'.repeat(n) } }),
  }),
  creates('create with many labels', {
    ...ofConfigMap,
    full: mostMembers,
    body: (n) => configMap({}, { labels: members(n, () => 'x') }),
  }),
  creates('create with many bad labels', {
    ...ofConfigMap,
    full: mostMembers,
    body: (n) => configMap({}, { labels: members(n, () => '-', 'a/b/') }),
  }),
  creates('create with many annotations', {
    ...ofConfigMap,
    full: mostMembers,
    body: (n) => configMap({}, { annotations: members(n, () => 'x') }),
  }),
  creates('create with many finalizers', {
    ...ofConfigMap,
    full: 130_000,
    body: (n) => configMap({}, { finalizers: times(n, (i) => `a.io/f${i}`) }),
  }),
  creates('create with many bad finalizers', {
    ...ofConfigMap,
    full: 200_000,
    body: (n) => configMap({}, { finalizers: times(n, (i) => `-${i}`) }),
  }),
  creates('create with many owners', {
    ...ofConfigMap,
    full: 35_000,
    body: (n) =>
      configMap(
        {},
        { ownerReferences: times(n, (i) => ({ apiVersion: 'v1', kind: 'Pod', name: `p${i}`, uid: `u${i}` })) },
      ),
  }),
  creates('create with many unknown fields', {
    ...ofConfigMap,
    full: mostMembers,
    body: (n) => configMap(members(n, () => 1, 'u')),
  }),
];
