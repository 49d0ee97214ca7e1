import { describe, expect, it } from 'vitest';
import {
  articleOf,
  camelCase,
  type NamedOperation,
  operationId,
  operationTag,
  operationText,
} from './operation-names.ts';

const pods = {
  of: { group: '', version: 'v1' },
  kind: 'Pod',
  namespaced: true,
  subresource: '',
  forAllNamespaces: false,
  method: 'get',
  withPath: false,
  saysWatch: true,
};
const roles = {
  ...pods,
  of: { group: 'rbac.authorization.k8s.io', version: 'v1' },
  kind: 'ClusterRole',
  namespaced: false,
};
const custom = { ...pods, of: { group: 'stable.example.com', version: 'v1beta1' }, kind: 'CronTab' };

describe('the id of an operation', () => {
  it.each<[string, NamedOperation]>([
    ['listCoreV1NamespacedPod', { ...pods, verb: 'list' }],
    ['listCoreV1PodForAllNamespaces', { ...pods, verb: 'list', forAllNamespaces: true }],
    ['createCoreV1NamespacedPod', { ...pods, verb: 'create' }],
    ['readCoreV1NamespacedPod', { ...pods, verb: 'get' }],
    ['replaceCoreV1NamespacedPodStatus', { ...pods, verb: 'update', subresource: 'status' }],
    ['deleteCoreV1CollectionNamespacedPod', { ...pods, verb: 'deletecollection' }],
    ['patchRbacAuthorizationV1ClusterRole', { ...roles, verb: 'patch' }],
    ['deleteStableExampleComV1beta1NamespacedCronTab', { ...custom, verb: 'delete' }],
    ['watchCoreV1PodListForAllNamespaces', { ...pods, verb: 'watchlist', forAllNamespaces: true }],
    ['watchCoreV1NamespacedPod', { ...pods, verb: 'watch' }],
    ['connectCoreV1PostNamespacedPodExec', { ...pods, verb: 'connect', method: 'post', subresource: 'exec' }],
    ['connectCoreV1GetNamespacedPodProxyWithPath', { ...pods, verb: 'connect', subresource: 'proxy', withPath: true }],
  ])('is %s', (id, operation) => {
    expect(operationId(operation)).toBe(id);
  });

  it.each([
    ['core_v1', pods.of],
    ['rbacAuthorization_v1', roles.of],
    ['stableExampleCom_v1beta1', custom.of],
  ])('has the tag %s', (tag, of) => {
    expect(operationTag(of)).toBe(tag);
  });

  it.each([
    ['test_operation', 'Upper', 'Test_operation'],
    ['test operation& test', 'Upper', 'TestOperationTest'],
    ['test78operation', 'lower', 'test78operation'],
  ] as const)('is a word: "%s" (%s) becomes %s', (text, first, word) => {
    expect(camelCase(text, first)).toBe(word);
  });
});

describe('the text of an operation', () => {
  it.each<[string, NamedOperation]>([
    ['create a Pod', { ...pods, verb: 'create' }],
    ['delete an Ingress', { ...pods, kind: 'Ingress', verb: 'delete' }],
    ['create eviction of a Pod', { ...pods, verb: 'create', subresource: 'eviction' }],
    ['list or watch objects of kind Pod', { ...pods, verb: 'list' }],
    ['list objects of kind CronTab', { ...custom, verb: 'list', saysWatch: false }],
    ['connect GET requests to exec of Pod', { ...pods, verb: 'connect', subresource: 'exec' }],
    ['read the specified Pod', { ...pods, verb: 'get' }],
    ['replace status of the specified Pod', { ...pods, verb: 'update', subresource: 'status' }],
    ['partially update the specified Pod', { ...pods, verb: 'patch' }],
    ['delete collection of Pod', { ...pods, verb: 'deletecollection' }],
  ])('is "%s"', (text, operation) => {
    expect(operationText(operation)).toBe(text);
  });

  it.each([
    ['Frog', 'a'],
    ['apple', 'an'],
    ['Ingress', 'an'],
    ['Class', 'a'],
    ['', 'a'],
  ])('names %s with "%s"', (kind, article) => {
    expect(articleOf(kind)).toBe(article);
  });
});
