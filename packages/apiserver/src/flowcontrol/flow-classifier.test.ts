import { runWhole } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FlowClassifier } from './flow-classifier.ts';
import type { FlowRule, FlowSchema, FlowSubject, FlowTarget, PathFlowRule, ResourceFlowRule } from './flow-schema.ts';

const all = ['*'];
const everything: ResourceFlowRule = { verbs: all, groups: all, resources: all, namespaces: all, clusterScope: true };
const schema = (name: string, ...rules: readonly Partial<FlowRule>[]): FlowSchema => ({
  name,
  uid: name,
  precedence: 1,
  levelName: 'l',
  distinguisher: 'none',
  rules: rules.map((rule) => ({ subjects: [], resourceRules: [], pathRules: [], ...rule })),
});
const user = (name: string): FlowSubject => ({ type: 'user', name });
const group = (name: string): FlowSubject => ({ type: 'group', name });
const account = (namespace: string, name: string): FlowSubject => ({ type: 'serviceAccount', namespace, name });

const classifierOf = (...schemas: readonly FlowSchema[]): FlowClassifier => runWhole(FlowClassifier.build(schemas));
const widgets = { type: 'resource', verb: 'get', path: '', group: 'g', version: 'v1', namespace: 'n' } as const;
const target = (change: Partial<Extract<FlowTarget, { type: 'resource' }>> = {}): FlowTarget => ({
  ...widgets,
  resource: 'widgets',
  subresource: '',
  name: 'a',
  ...change,
});

describe('subjects of flow schemas', () => {
  it.each<readonly [of: string, subject: FlowSubject, name: string, groups: readonly string[], matches: boolean]>([
    ['a user', user('ann'), 'ann', [], true],
    ['another user', user('ann'), 'bob', [], false],
    ['any user', user('*'), 'bob', [], true],
    ['a group', group('dev'), 'ann', ['ops', 'dev'], true],
    ['another group', group('dev'), 'ann', ['ops'], false],
    ['any group, also without one', group('*'), 'ann', [], true],
    ['a service account', account('n', 'a'), 'system:serviceaccount:n:a', [], true],
    ['another one', account('n', 'a'), 'system:serviceaccount:n:b', [], false],
    ['any of a namespace', account('n', '*'), 'system:serviceaccount:n:b', [], true],
    ['of a namespace that begins alike', account('n', '*'), 'system:serviceaccount:nn:b', [], false],
    ['a name that is cut off', account('n', '*'), 'system:serviceaccount:n', [], false],
    ['a user who is called so', account('n', '*'), 'n', [], false],
  ])('%s', (_, subject, name, groups, matches) => {
    const classifier = classifierOf(schema('s', { subjects: [subject], resourceRules: [everything] }));
    expect(classifier.find({ name, groups }, target())).toBe(matches ? 0 : -1);
  });
});

describe('rules of flow schemas', () => {
  it.each<readonly [of: string, rule: Partial<ResourceFlowRule>, asked: FlowTarget, matches: boolean]>([
    ['the verb', { verbs: ['get', 'list'] }, target({ verb: 'list' }), true],
    ['another verb', { verbs: ['get'] }, target({ verb: 'list' }), false],
    ['the group', { groups: ['g'] }, target(), true],
    ['another group', { groups: ['h'] }, target(), false],
    ['the resource', { resources: ['widgets'] }, target(), true],
    ['a resource for its subresource', { resources: ['widgets'] }, target({ subresource: 'status' }), false],
    ['the subresource', { resources: ['widgets/status'] }, target({ subresource: 'status' }), true],
    ['the namespace', { namespaces: ['m', 'n'] }, target(), true],
    ['another namespace', { namespaces: ['m'] }, target(), false],
    ['no namespace', { namespaces: ['m'], clusterScope: true }, target({ namespace: '' }), true],
    ['all namespaces, for none', { clusterScope: false }, target({ namespace: '' }), false],
    ['a star beside others, which is no wildcard', { verbs: ['*', 'list'] }, target(), false],
  ])('look at %s', (_, rule, asked, matches) => {
    const classifier = classifierOf(
      schema('s', { subjects: [user('ann')], resourceRules: [{ ...everything, ...rule }] }),
    );
    expect(classifier.find({ name: 'ann', groups: [] }, asked)).toBe(matches ? 0 : -1);
  });

  it.each<readonly [rule: string, path: string, matches: boolean]>([
    ['*', '/anything', true],
    ['/healthz', '/healthz', true],
    ['/healthz', '/healthz/ping', true],
    ['/healthz', '/healthzz', false],
    ['/healthz/', '/healthz', false],
    ['/healthz/', '/healthz/', true],
    ['/healthz/*', '/healthz/a/b', true],
    ['/healthz/*', '/healthz', false],
    ['/', '/anything', true],
    ['/a/b', '/a', false],
    ['/a/b', '/a/b/c/d', true],
  ])('for the path %s and the request %s: %s', (rule, path, matches) => {
    const pathRules: PathFlowRule[] = [{ verbs: ['get'], paths: [rule] }];
    const classifier = classifierOf(schema('s', { subjects: [user('ann')], pathRules }));
    const find = (verb: string): number => classifier.find({ name: 'ann', groups: [] }, { type: 'path', verb, path });
    expect([find('get'), find('post')]).toEqual([matches ? 0 : -1, -1]);
  });
});

/** Looks at all schemas and rules in order, as Kubernetes does. */
function findByScan(
  schemas: readonly FlowSchema[],
  who: { name: string; groups: readonly string[] },
  asked: FlowTarget,
): number {
  const has = (list: readonly string[], value: string): boolean =>
    (list.length === 1 && list[0] === '*') || list.includes(value);
  const isOf = (subject: FlowSubject): boolean => {
    if (subject.type === 'user') return subject.name === '*' || subject.name === who.name;
    if (subject.type === 'group') return subject.name === '*' || who.groups.includes(subject.name);
    const { namespace } = subject as Extract<FlowSubject, { type: 'serviceAccount' }>;
    const prefix = `system:serviceaccount:${namespace}:`;
    return subject.name === '*' ? who.name.startsWith(prefix) : who.name === `${prefix}${subject.name}`;
  };
  const covers = (rule: FlowRule): boolean => {
    if (asked.type === 'path') {
      return rule.pathRules.some(
        ({ verbs, paths }) =>
          has(verbs, asked.verb) &&
          paths.some(
            (path) =>
              path === '*' ||
              path === asked.path ||
              asked.path.startsWith(`${path.replace(/\*$/, '').replace(/\/$/, '')}/`),
          ),
      );
    }
    const resource = asked.subresource === '' ? asked.resource : `${asked.resource}/${asked.subresource}`;
    return rule.resourceRules.some(
      (each) =>
        has(each.verbs, asked.verb) &&
        has(each.resources, resource) &&
        has(each.groups, asked.group) &&
        (asked.namespace === '' ? each.clusterScope : has(each.namespaces, asked.namespace)),
    );
  };
  return schemas.findIndex(({ rules }) => rules.some((rule) => rule.subjects.some(isOf) && covers(rule)));
}

const names = fc.constantFrom('*', 'a', 'b', 'c');
const list = fc.oneof(fc.constant(['*']), fc.subarray(['a', 'b', 'c'], { minLength: 1 }));
const anySubject: fc.Arbitrary<FlowSubject> = fc.oneof(
  fc.record({ type: fc.constantFrom('user' as const, 'group' as const), name: names }),
  fc.record({ type: fc.constant('serviceAccount' as const), namespace: fc.constantFrom('a', 'b'), name: names }),
);
const anyRule: fc.Arbitrary<FlowRule> = fc.record({
  subjects: fc.array(anySubject, { minLength: 1, maxLength: 3 }),
  resourceRules: fc.array(
    fc.record({
      verbs: list,
      groups: list,
      resources: fc.oneof(fc.constant(['*']), fc.subarray(['a', 'b', 'a/b', 'c'], { minLength: 1 })),
      namespaces: list,
      clusterScope: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  pathRules: fc.array(fc.record({ verbs: list, paths: fc.subarray(['/a', '/a/*', '/b/', '/a/b'], { minLength: 1 }) }), {
    maxLength: 2,
  }),
});
const anySchemas = fc.array(fc.array(anyRule, { maxLength: 3 }), { maxLength: 8 });
const word = fc.constantFrom('a', 'b', 'c');
const anyTarget: fc.Arbitrary<FlowTarget> = fc.oneof(
  fc.record({
    type: fc.constant('resource' as const),
    verb: word,
    path: fc.constant(''),
    group: word,
    version: fc.constant('v1'),
    namespace: fc.constantFrom('', 'a', 'b'),
    resource: word,
    subresource: fc.constantFrom('', 'b'),
    name: fc.constant(''),
  }),
  fc.record({
    type: fc.constant('path' as const),
    verb: word,
    path: fc.constantFrom('/a', '/a/', '/a/b', '/a/b/c', '/b', '/b/', '/b/x', '/ab', '/'),
  }),
);
const anyUser = fc.record({
  name: fc.constantFrom('a', 'b', 'system:serviceaccount:a:a', 'system:serviceaccount:b:c', 'system:serviceaccount:a'),
  groups: fc.subarray(['a', 'b', 'c']),
});

describe('the index of flow schemas', () => {
  it('finds the schema that a scan in order of precedence finds', () => {
    fc.assert(
      fc.property(
        anySchemas,
        fc.array(fc.tuple(anyUser, anyTarget), { minLength: 5, maxLength: 20 }),
        (rules, asked) => {
          const schemas = rules.map((each, index) => schema(`s${index}`, ...each));
          const classifier = classifierOf(...schemas);
          for (const [who, what] of asked) expect(classifier.find(who, what)).toBe(findByScan(schemas, who, what));
        },
      ),
      { seed: 20_261_123, numRuns: 400 },
    );
  });

  it('looks at few of ten thousand schemas, of ten thousand rules and of ten thousand subjects', () => {
    const count = 10_000;
    const numbers = Array.from({ length: count }, (_, i) => i);
    const many = numbers.map((i) =>
      schema(`own-${i}`, { subjects: [group('all')], resourceRules: [{ ...everything, resources: [`r${i}`] }] }),
    );
    const longRules = schema('rules', {
      subjects: [group('all')],
      resourceRules: numbers.map((i) => ({ ...everything, resources: [`q${i}`] })),
    });
    const longSubjects = schema('subjects', {
      subjects: numbers.map((i) => user(`u${i}`)),
      resourceRules: [everything],
    });
    const classifier = classifierOf(...many, longRules, longSubjects);
    const find = (name: string, resource: string): number =>
      classifier.find({ name, groups: ['all'] }, target({ resource }));
    expect([find('x', 'r9999'), find('x', 'q9999'), find('u9999', 'other'), find('x', 'other')]).toEqual([
      9999, 10_000, 10_001, -1,
    ]);
  });

  it('does not slice a path of the client that is longer than any rule', () => {
    const classifier = classifierOf(
      schema('s', { subjects: [user('*')], pathRules: [{ verbs: all, paths: ['/a/b'] }] }),
    );
    const path = '/'.repeat(16_000);
    expect(classifier.find({ name: 'ann', groups: [] }, { type: 'path', verb: 'get', path })).toBe(-1);
  });
});
