import { isInvalid, isMethodNotSupported, type UnstructuredObject } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import type { RequestContext, UserInfo, VirtualStoreOptions } from '@kapstan/apiserver';
import { type AuthorizationAttributes, type Authorizer, alwaysAllow, unionAuthorizer } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { defaultAuthorizer } from '../testing/rbac-fixture.ts';
import { accessReviews } from './access-reviews.ts';

const alice: UserInfo = { name: 'alice', groups: ['system:authenticated'] };

function contextOf(user: UserInfo, namespace = ''): RequestContext {
  return { user, namespace, dryRun: false, fieldManager: 'test', fieldValidation: 'Strict', warn: () => undefined };
}

interface Asked {
  readonly resource?: string;
  readonly user?: UserInfo;
  readonly namespace?: string;
  readonly metadata?: UnstructuredObject['metadata'];
  readonly options?: VirtualStoreOptions;
}

/** Creates a review and returns the answer's object. */
async function review(authorizer: Authorizer, spec: unknown, asked: Asked = {}): Promise<UnstructuredObject> {
  const { resource = 'subjectaccessreviews', user = alice, namespace = '', metadata = {} } = asked;
  const served = accessReviews(authorizer, asked.options).find(({ definition }) => definition.resource === resource);
  const object = { apiVersion: 'authorization.k8s.io/v1', kind: served?.definition.kind ?? '', metadata, spec };
  const stored = await served?.store.create(contextOf(user, namespace), object as UnstructuredObject);
  return structuredClone(stored?.object) as UnstructuredObject;
}

/** Records the questions, and allows reads. */
function listening(asked: AuthorizationAttributes[], otherwise: 'deny' | 'noOpinion' = 'noOpinion'): Authorizer {
  return {
    authorize: (attributes) => {
      asked.push(attributes);
      return { decision: attributes.verb === 'get' ? 'allow' : otherwise, reason: `because of ${attributes.verb}` };
    },
  };
}

const pods = { namespace: 'a', verb: 'get', resource: 'pods' };

describe('a review of access', () => {
  it('asks about the user that it names, with every version when it names none', async () => {
    const asked: AuthorizationAttributes[] = [];
    const spec = { user: 'bob', uid: '7', groups: ['dev'], extra: { k: ['v'] }, resourceAttributes: pods };
    const answer = await review(listening(asked), spec);
    expect(answer).toMatchObject({ spec, status: { allowed: true, reason: 'because of get' } });
    const user = { name: 'bob', uid: '7', groups: ['dev'], extra: { k: ['v'] } };
    const empty = { group: '', subresource: '', name: '' };
    expect(asked).toEqual([{ type: 'resource', user, ...pods, ...empty, version: '*' }]);
  });

  it('distinguishes a denial from no opinion', async () => {
    const spec = { user: 'bob', resourceAttributes: { ...pods, verb: 'delete' } };
    const reason = 'because of delete';
    expect((await review(listening([]), spec)).status).toEqual({ allowed: false, reason });
    expect((await review(listening([], 'deny'), spec)).status).toEqual({ allowed: false, denied: true, reason });
  });

  it('asks about paths', async () => {
    const asked: AuthorizationAttributes[] = [];
    await review(listening(asked), { groups: ['g'], nonResourceAttributes: { path: '/x', verb: 'get' } });
    expect(asked).toEqual([{ type: 'path', user: { name: '', groups: ['g'] }, verb: 'get', path: '/x' }]);
  });

  it('of oneself asks about who asks', async () => {
    const asked: AuthorizationAttributes[] = [];
    await review(listening(asked), { resourceAttributes: pods }, { resource: 'selfsubjectaccessreviews' });
    expect(asked[0]?.user).toBe(alice);
  });

  const target = { user: 'u', resourceAttributes: pods };
  const path = { path: '/x', verb: 'get' };
  it.each<[string, unknown, Asked, string]>([
    [
      'with path and resource',
      { ...target, nonResourceAttributes: path },
      {},
      'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [
      'with neither',
      { user: 'u' },
      {},
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      'with neither, of oneself',
      {},
      { resource: 'selfsubjectaccessreviews' },
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      'without a user',
      { resourceAttributes: pods },
      {},
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    ['with a name', target, { metadata: { name: 'x' } }, 'metadata: Invalid value: {"name":"x"}: must be empty'],
    [
      'of another namespace',
      target,
      { resource: 'localsubjectaccessreviews', namespace: 'b' },
      'spec.resourceAttributes.namespace: Invalid value: "a": must match metadata.namespace',
    ],
    [
      'of a path in a namespace',
      { user: 'u', nonResourceAttributes: path },
      { resource: 'localsubjectaccessreviews', namespace: 'b' },
      'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
    ],
    [
      'with two selectors',
      {
        user: 'u',
        resourceAttributes: {
          fieldSelector: { rawSelector: 'a=b', requirements: [{ key: 'a', operator: 'Exists' }] },
        },
      },
      {},
      'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
    ],
    [
      'with an empty selector',
      { user: 'u', resourceAttributes: { labelSelector: {} } },
      {},
      'spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required',
    ],
    [
      'with a selector that lacks values',
      { user: 'u', resourceAttributes: { labelSelector: { requirements: [{ key: 'a', operator: 'In' }] } } },
      {},
      "spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    [
      'with a field that has neither key nor values',
      { user: 'u', resourceAttributes: { fieldSelector: { requirements: [{ key: '', operator: 'In' }] } } },
      {},
      "[spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified, spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn']",
    ],
    [
      'with a bad label',
      {
        user: 'u',
        resourceAttributes: { labelSelector: { requirements: [{ key: 'a', operator: 'In', values: ['!!'] }] } },
      },
      {},
      "spec.resourceAttributes.labelSelector.requirements[0].values[0]: Invalid value: \"!!\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  ])('%s is refused', async (_name, spec, asked, text) => {
    const error: unknown = await review(alwaysAllow, spec, asked).catch((reason: unknown) => reason);
    expect(isInvalid(error)).toBe(true);
    expect((error as Error).message).toBe(`.authorization.k8s.io "" is invalid: ${text}`);
  });

  const term = (operator: string, ...values: string[]) => ({ key: 'a', operator, values });
  const equal = { field: 'a', operator: '=', value: 'b' };
  const exists = { key: 'a', operator: 'exists', values: [] };
  it.each<[string, 'fieldSelector' | 'labelSelector', object, unknown, string?]>([
    [
      'fields as text',
      'fieldSelector',
      { rawSelector: 'a=b,c!=d' },
      [equal, { ...equal, field: 'c', operator: '!=', value: 'd' }],
    ],
    ['fields as bad text', 'fieldSelector', { rawSelector: 'a' }, [], 'ignored'],
    ['a field of one value', 'fieldSelector', { requirements: [term('NotIn', 'b')] }, [{ ...equal, operator: '!=' }]],
    ['a field of two values', 'fieldSelector', { requirements: [term('In', 'b', 'c')] }, [], 'ignored'],
    ['a field that exists', 'fieldSelector', { requirements: [term('Exists')] }, [], 'ignored'],
    [
      'a field of one value, and one that exists',
      'fieldSelector',
      { requirements: [term('In', 'b'), term('Exists')] },
      [equal],
      'partially ignored',
    ],
    ['labels as text', 'labelSelector', { rawSelector: 'a' }, [exists]],
    ['labels as text that selects everything', 'labelSelector', { rawSelector: ' ' }, undefined],
    [
      'labels of two values',
      'labelSelector',
      { requirements: [term('In', 'b', 'c')] },
      [{ key: 'a', operator: 'in', values: ['b', 'c'] }],
    ],
    ['labels as bad text', 'labelSelector', { rawSelector: 'a in (b' }, [], 'ignored'],
    [
      'labels that exist, and an operator from the future',
      'labelSelector',
      { requirements: [term('Exists'), term('Like', 'b')] },
      [exists],
      'partially ignored',
    ],
  ])(
    'by %s tells the authorizer what it understood, and says what not',
    async (_name, kind, selector, terms, fault) => {
      const asked: AuthorizationAttributes[] = [];
      const { status } = await review(listening(asked), {
        user: 'u',
        resourceAttributes: { ...pods, [kind]: selector },
      });
      const expected =
        fault === undefined ? {} : { evaluationError: `spec.resourceAttributes.${kind} ${fault} due to parse error` };
      expect(status).toEqual({ allowed: true, reason: 'because of get', ...expected });
      const told = (asked[0] as AuthorizationAttributes & { type: 'resource' })[kind];
      expect(told?.requirements).toEqual(terms);
      expect(told?.error !== undefined).toBe(fault !== undefined);
    },
  );

  it('by both selectors says it of both', async () => {
    const selectors = { fieldSelector: { rawSelector: 'a' }, labelSelector: { rawSelector: '=' } };
    const { status } = await review(listening([]), { user: 'u', resourceAttributes: { ...pods, ...selectors } });
    expect(status).toMatchObject({
      evaluationError:
        'spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error',
    });
  });

  it('is tracked and admitted like any creation, and kept nowhere', async () => {
    const steps: string[] = [];
    const options: VirtualStoreOptions = {
      managedFields: {
        onCreate: () => void steps.push('fields'),
        onUpdate: () => undefined,
        afterAdmission: () => undefined,
      },
      admission: {
        admit: async ({ operation, namespace }) => void steps.push(`admit ${operation} in ${namespace}`),
        validates: () => true,
        validate: async () => {
          steps.push('validate');
          throw forbidden({ group: '', resource: 'x' }, '', 'no');
        },
      },
    };
    const asked = { resource: 'localsubjectaccessreviews', namespace: 'a', options };
    await expect(review(alwaysAllow, target, asked)).rejects.toThrow('forbidden');
    expect(steps).toEqual(['fields', 'admit CREATE in a', 'validate']);
    const [served] = accessReviews(alwaysAllow);
    for (const verb of ['get', 'list', 'update', 'delete', 'deleteCollection'] as const) {
      const call = served?.store[verb] as () => Promise<unknown>;
      const error: unknown = await call.call(served?.store).catch((reason: unknown) => reason);
      expect(isMethodNotSupported(error), verb).toBe(true);
    }
  });
});

describe("a review of one's rules", () => {
  const rules = (
    authorizer: Authorizer,
    user: UserInfo,
    spec: unknown = { namespace: 'a' },
  ): Promise<UnstructuredObject> => review(authorizer, spec, { resource: 'selfsubjectrulesreviews', user });

  it('needs a namespace', async () => {
    await expect(rules(alwaysAllow, alice, {})).rejects.toThrow('no namespace on request');
  });

  it('lists what the default roles allow', async () => {
    const { status } = await rules(defaultAuthorizer(), alice);
    expect(status).toMatchObject({ incomplete: false });
    const { nonResourceRules, resourceRules } = status as Record<string, readonly unknown[]>;
    expect(nonResourceRules).toHaveLength(2);
    expect(resourceRules).toContainEqual({
      verbs: ['create'],
      apiGroups: ['authentication.k8s.io'],
      resources: ['selfsubjectreviews'],
    });
    const all = { resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] };
    const masters = { name: 'm', groups: ['system:masters'] };
    expect((await rules(defaultAuthorizer(), masters)).status).toMatchObject(all);
  });

  it('says that it is incomplete where an authorizer cannot tell', async () => {
    expect((await rules(listening([]), alice)).status).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
    });
    const union = unionAuthorizer([listening([]), defaultAuthorizer()]);
    expect((await rules(union, alice)).status).toMatchObject({ incomplete: true, resourceRules: [{}, {}] });
  });
});
