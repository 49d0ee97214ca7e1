// Cases of admission policies: large policies that are written, and requests under policies that are large or many.
import { configMaps, type GrowthCase, type GrowthRequest, members, newPattern, times } from '../growth-case.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const policies = `${group}/validatingadmissionpolicies`;
const bindings = `${group}/validatingadmissionpolicybindings`;
const mutating = `${group}/mutatingadmissionpolicies`;
const mutatingBindings = `${group}/mutatingadmissionpolicybindings`;
const object = '/api/v1/namespaces/default/configmaps/growth';

/** Matches only objects of these cases. */
const matchConstraints = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
  objectSelector: { matchLabels: { growth: 'policies' } },
};

const policy = (spec: object, name = 'growth') => ({ metadata: { name }, spec: { matchConstraints, ...spec } });
const install = (path: string, body: object): GrowthRequest => ({ method: 'POST', path, body });
const bound = (spec: object = {}, name = 'growth'): GrowthRequest =>
  install(bindings, {
    metadata: { name },
    spec: { policyName: 'growth', validationActions: ['Deny'], ...spec },
  });
const configMap = (data: object): GrowthRequest =>
  install(configMaps, { metadata: { name: 'growth', labels: { growth: 'policies' } }, data });
const made = [object, `${policies}/growth`, `${bindings}/growth`, `${mutating}/growth`, `${mutatingBindings}/growth`];
const always = [{ expression: 'true' }];

const matching = (pattern: string): object =>
  policy({ validations: [{ expression: `object.data.a.matches(${pattern})` }] });
const ofClasses = (n: number): object => matching(`'${newPattern(n)}'`);

export const policyCases: readonly GrowthCase[] = [
  {
    name: 'a policy of many validations',
    full: 20_000,
    request: (n) =>
      install(policies, policy({ validations: times(n, (i) => ({ expression: `object.data.a != '${i}'` })) })),
    made,
  },
  // An expression has at most 100,000 code points.
  ...['1==1', '[1].all(x, x>0)', 'object.data.a == ""'].map(
    (part): GrowthCase => ({
      name: `a policy of one expression of many parts like ${part}`,
      full: Math.floor(99_900 / (part.length + 1)),
      request: (n) => {
        const expression = `[${times(n, () => part).join(',')}].all(x, x)`;
        return install(policies, policy({ validations: [{ expression }] }));
      },
      made,
    }),
  ),
  {
    name: 'a policy with a pattern of classes',
    full: 50_000,
    request: (n) => install(policies, ofClasses(n)),
    made,
  },
  {
    name: 'an object under a policy with a pattern of classes',
    full: 50_000,
    prepare: (n) => [install(policies, ofClasses(n)), bound()],
    request: () => configMap({ a: 'abc' }),
    made,
  },
  {
    name: 'an object with a pattern for a policy',
    full: 400_000,
    prepare: () => [install(policies, matching('object.data.b')), bound()],
    request: (n) => configMap({ a: 'abc', b: newPattern(n) }),
    made,
  },
  {
    name: 'an object with a text for a large pattern of a policy',
    full: 200_000,
    prepare: () => [install(policies, matching("'(a|b)*a(a|b){100}c[ab]'")), bound()],
    request: (n) => configMap({ a: 'aabab'.repeat(n / 5) }),
    made,
  },
  {
    name: 'an object with a text in which a policy finds much',
    full: 4_000,
    prepare: () => [
      install(policies, policy({ validations: [{ expression: "object.data.a.findAll('a.*b|a').size() > 0" }] })),
      bound(),
    ],
    request: (n) => configMap({ a: 'a'.repeat(n) }),
    made,
  },
  {
    name: 'a policy of many variables that name each other',
    full: 10_000,
    request: (n) => {
      const variables = times(n, (i) => ({ name: `v${i}`, expression: i === 0 ? '1' : `variables.v${i - 1} + 1` }));
      return install(policies, policy({ variables, validations: always }));
    },
    made,
  },
  {
    name: 'an object under a policy of many variables',
    full: 2_000,
    prepare: (n) => {
      const variables = times(n, (i) => ({ name: `v${i}`, expression: `size(object.data.a) + ${i}` }));
      const validations = variables.map(({ name }) => ({ expression: `variables.${name} > 0` }));
      return [install(policies, policy({ variables, validations })), bound()];
    },
    request: () => configMap({ a: 'b' }),
    made,
  },
  {
    name: 'an object under a policy with many bindings',
    full: 300,
    prepare: (n) => [
      install(policies, policy({ validations: always })),
      ...times(n, (i) => bound({ matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } } }, `growth-${i}`)),
      bound(),
    ],
    request: () => configMap({ a: 'b' }),
    made: [...made, ...times(300, (i) => `${bindings}/growth-${i}`)],
  },
  {
    name: 'an object under a policy with many parameters',
    full: 300,
    prepare: (n) => [
      ...times(n, (i) =>
        install(configMaps, {
          metadata: { name: `growth-${i}`, labels: { role: 'growth' } },
          data: { max: '1000000' },
        }),
      ),
      install(
        policies,
        policy({
          paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
          validations: [{ expression: 'size(object.data) <= int(params.data.max)' }],
        }),
      ),
      bound({
        paramRef: {
          selector: { matchLabels: { role: 'growth' } },
          namespace: 'default',
          parameterNotFoundAction: 'Deny',
        },
      }),
    ],
    request: () => configMap({ a: 'b' }),
    made: [...made, ...times(300, (i) => `${configMaps}/growth-${i}`)],
  },
  {
    name: 'an object of many keys under a policy',
    full: 60_000,
    prepare: () => [
      install(policies, policy({ validations: [{ expression: "object.data.all(k, object.data[k] != 'no')" }] })),
      bound(),
    ],
    request: (n) => configMap(members(n, () => 'v')),
    made,
  },
  {
    name: 'an object of many keys that a mutating policy copies',
    full: 60_000,
    prepare: () => [
      install(
        mutating,
        policy({
          reinvocationPolicy: 'Never',
          mutations: [
            { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{data: object.data}' } },
          ],
        }),
      ),
      install(mutatingBindings, { metadata: { name: 'growth' }, spec: { policyName: 'growth' } }),
    ],
    request: (n) => configMap(members(n, () => 'v')),
    made,
  },
];
