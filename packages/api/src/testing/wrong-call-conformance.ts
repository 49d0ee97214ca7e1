// A test suite of wrong calls: every ResourceClient refuses each of them with the same TypeError before it does
// anything. Such calls come from JavaScript and from `any`. See also list-watch-conformance.ts.

import type { ResourceClient } from '../client/resource-client.ts';
import type { KubernetesObject } from '../objects/kubernetes-object.ts';
import { testConfigMaps } from './builders.ts';

/** One client under test. It needs no server, because no call reaches one. */
export interface WrongCallFixture {
  readonly client: ResourceClient;
  /** Number of calls that reached a server, a store or another client. */
  readonly passedOn: () => number;
  close(): Promise<void>;
}

/** A client whose arguments may be anything. */
type Untyped = {
  readonly [V in keyof ResourceClient]: (
    ...call: readonly unknown[]
  ) => V extends 'listerWatcher' ? ReturnType<ResourceClient[V]> : PromiseLike<unknown>;
};
type WrongCall = readonly [name: string, message: string, call: (client: Untyped) => unknown];

const resource = testConfigMaps;
const target = { namespace: 'n', name: 'a' };
const object: KubernetesObject = { metadata: target };
const patch = { type: 'merge', body: {} };
const part = { ...target, subresource: 'x' };
const aTarget = 'a target, such as { namespace, name }, must be an object, not';
const nowhere = 'configmaps "a": an empty namespace may not be set';

/** Each verb with the arguments of a valid call; given ones replace the first, second and last argument. */
const verbs: readonly (readonly [verb: Exclude<keyof ResourceClient, 'listerWatcher'>, ...call: readonly unknown[]])[] =
  [
    ['get', resource, target, {}],
    ['list', resource, {}],
    ['listPage', resource, {}],
    ['create', resource, object, {}],
    ['update', resource, object, {}],
    ['patch', resource, target, patch, {}],
    ['apply', resource, object, { fieldManager: 'm' }],
    ['delete', resource, target, {}],
    ['deleteCollection', resource, {}],
    ['createSubresource', resource, part, { body: object }],
  ];

/** Each verb with changed options: `change` gets the options of a valid call. */
function withOptions(name: string, message: string, change: (options: object) => unknown): WrongCall[] {
  return verbs.map(([verb, ...call]): WrongCall => {
    const who = verb === 'listPage' ? 'list' : verb;
    const last = change(call.at(-1) as object);
    return [`${verb}: ${name}`, message.replace('VERB', who), (client) => client[verb](...call.slice(0, -1), last)];
  });
}

const wrongTokens: readonly WrongCall[] = ['pods', undefined, null, {}, class Pod {}].flatMap((wrong) =>
  verbs.map(([verb, , ...rest]): WrongCall => {
    const text = typeof wrong === 'function' ? 'a class' : JSON.stringify(wrong);
    return [
      `${verb}: ${text} for a resource`,
      'a call takes a resource, such as',
      (client) => client[verb](wrong, ...rest),
    ];
  }),
);

const wrongTargets: readonly WrongCall[] = (['get', 'patch', 'delete', 'createSubresource'] as const).flatMap(
  (verb) => {
    const last = { patch, createSubresource: { body: object }, get: {}, delete: {} }[verb];
    const refused = (name: string, message: string, wrong: unknown): WrongCall => [
      `${verb}: ${name}`,
      message,
      (client) => client[verb](resource, wrong, last),
    ];
    return [
      refused('a name alone', `${aTarget} "a"`, 'a'),
      refused('no target', `${aTarget} undefined`, undefined),
      refused('no name', 'resource name may not be empty', { namespace: 'n', name: undefined }),
      refused('an empty name', 'resource name may not be empty', { ...part, name: '' }),
      refused('a name that is a number', 'resource name must be a string, not 5', { ...part, name: 5 }),
      refused('a name with a slash', `invalid resource name "a/b": [may not contain '/']`, { ...part, name: 'a/b' }),
      refused('a name that leads up', `invalid resource name "..": [may not be '..']`, { ...part, name: '..' }),
      refused('a namespace that is a number', 'namespace must be a string, not 5', { ...part, namespace: 5 }),
      refused('no namespace', `${nowhere} when a resource name is provided`, { name: 'a', subresource: 'x' }),
    ];
  },
);

const wrongObjects: readonly WrongCall[] = (['create', 'update', 'apply'] as const).flatMap((verb) => {
  const options = verb === 'apply' ? { fieldManager: 'm' } : {};
  const refused = (name: string, message: string, wrong: unknown): WrongCall => [
    `${verb}: ${name}`,
    message,
    (client) => client[verb](resource, wrong, options),
  ];
  const notNamed = { create: undefined, update: 'name is required', apply: 'metadata.name must be provided to apply' }[
    verb
  ];
  return [
    refused('no object', 'what is written must be an object, not undefined', undefined),
    refused('a text', 'what is written must be an object, not "a"', 'a'),
    refused('metadata that is a text', 'metadata must be an object, not "a"', { metadata: 'a' }),
    refused('an object of another kind', 'configmaps "a": the object is a Pod of v1', { ...object, kind: 'Pod' }),
    refused('an object in no namespace', `${nowhere} `, { metadata: { name: 'a' } }),
    ...(notNamed === undefined ? [] : [refused('no name', notNamed, { metadata: { namespace: 'n' } })]),
  ];
});

const within = 'a patch is { type, body }: "dryRun" belongs to the options, the argument after it';
const wrongPatches: readonly WrongCall[] = (
  [
    ['no patch', 'a patch must be an object, not undefined', undefined],
    [
      'an unknown type',
      `a patch is { type: 'merge' | 'json' | 'strategic', body }, not one of the type "x"`,
      { type: 'x' },
    ],
    ['the type of an inherited member', 'not one of the type "constructor"', { ...patch, type: 'constructor' }],
    ['no body', 'a patch needs a body in addition to its type', { type: 'merge' }],
    [
      'an object of operations',
      'the body of a JSON patch is a list of operations, not an object',
      { ...patch, type: 'json' },
    ],
    ['options in it', within, { ...patch, dryRun: true }],
    ['an inherited option', within, Object.assign(Object.create({ dryRun: true }), patch)],
    ['options that are none', 'options, such as { dryRun }, must be an object, not true', patch, true],
  ] as const
).map(([name, message, ...rest]) => [`patch: ${name}`, message, (client) => client.patch(resource, target, ...rest)]);

const selections: readonly WrongCall[] = (['list', 'listPage', 'deleteCollection'] as const).flatMap((verb) => {
  const refused = (name: string, message: string, options: object): WrongCall => [
    `${verb}: ${name}`,
    message,
    (client) => client[verb](resource, options),
  ];
  return [
    refused('a selector that is an object', 'labelSelector must be a string, not an object', { labelSelector: {} }),
    refused('a limit in words', 'limit must be a number of at least 0, not "5"', { limit: '5' }),
    refused('a version that is a number', 'resourceVersion must be a string, not 5', { resourceVersion: 5 }),
    refused('a namespace that is null', 'namespace must be a string, not null', { namespace: null }),
    refused('a namespace with a slash', `invalid namespace "a/b": [may not contain '/']`, { namespace: 'a/b' }),
  ];
});

const singles: readonly WrongCall[] = [
  [
    'get: a version that is a number',
    'resourceVersion must be a string, not 5',
    (client) => client.get(resource, target, { resourceVersion: 5 }),
  ],
  [
    'get: a subresource that leads up',
    'invalid subresource ".."',
    (client) => client.get(resource, target, { subresource: '../x' }),
  ],
  [
    'update: a dry run in words',
    'dryRun must be true or false, not "All"',
    (client) => client.update(resource, object, { dryRun: 'All' }),
  ],
  [
    'create: a part',
    'create: unknown option "subresource"; it takes ',
    (client) => client.create(resource, object, { subresource: 'status' }),
  ],
  [
    'create: a misspelt dry run',
    'create: unknown option "dryrun"; did you mean "dryRun"?',
    (client) => client.create(resource, object, { dryrun: true }),
  ],
  [
    'list: a misspelt selector',
    'list: unknown option "labelselector"; did you mean "labelSelector"?',
    (client) => client.list(resource, { labelselector: 'a=b' }),
  ],
  [
    'patch: to force it',
    'patch: unknown option "force"; it takes ',
    (client) => client.patch(resource, target, patch, { force: true }),
  ],
  [
    'delete: a selector',
    'delete: unknown option "labelSelector"; it takes ',
    (client) => client.delete(resource, target, { labelSelector: 'a=b' }),
  ],
  [
    'delete: a grace period in words',
    'gracePeriodSeconds must be a number, not "5"',
    (client) => client.delete(resource, target, { gracePeriodSeconds: '5' }),
  ],
  ['apply: nobody', 'apply needs a fieldManager', (client) => client.apply(resource, object, {})],
  [
    'apply: no options',
    'options, such as { fieldManager }, must be an object, not undefined',
    (client) => client.apply(resource, object),
  ],
  [
    'apply: managed fields',
    'cannot apply an object with managed fields',
    (client) => client.apply(resource, { metadata: { ...target, managedFields: [] } }, { fieldManager: 'm' }),
  ],
  [
    'createSubresource: no part',
    'subresource must be a string, not undefined',
    (client) => client.createSubresource(resource, target, { body: object }),
  ],
  [
    'createSubresource: an empty part',
    'invalid subresource ""',
    (client) => client.createSubresource(resource, { ...part, subresource: '' }, { body: object }),
  ],
  [
    'createSubresource: no body',
    'the body of a call must be an object, not undefined',
    (client) => client.createSubresource(resource, part, {}),
  ],
];

const wrongCalls: readonly WrongCall[] = [
  ...wrongTokens,
  ...wrongTargets,
  ...wrongObjects,
  ...wrongPatches,
  ...selections,
  ...singles,
  ...withOptions('an option that nobody knows', 'VERB: unknown option "frobnicate"; it takes ', (options) => ({
    ...options,
    frobnicate: 1,
  })),
  ...withOptions('an inherited one', 'VERB: unknown option "timeoutms"; did you mean "timeoutMs"?', (options) =>
    Object.assign(Object.create({ timeoutms: 5 }), options),
  ),
  ...withOptions('a time below 0', 'timeoutMs must be a number of at least 0, not -1', (options) => ({
    ...options,
    timeoutMs: -1,
  })),
  ...withOptions('a time in words', 'timeoutMs must be a number of at least 0, not "5"', (options) => ({
    ...options,
    timeoutMs: '5',
  })),
  ...withOptions('a controller for a signal', 'signal takes an AbortSignal', (options) => ({
    ...options,
    signal: new AbortController(),
  })),
  ...withOptions('something to call that is none', 'beforeAttempt must be a function, not 5', (options) => ({
    ...options,
    beforeAttempt: 5,
  })),
  ...withOptions('null for options', 'must be an object, not null', () => null),
  ...withOptions('a text for options', 'must be an object, not "a=b"', () => 'a=b'),
];

const wrongWatches: readonly (readonly [name: string, message: string, options: unknown])[] = [
  ['null for options', 'options, such as { namespace }, must be an object, not null', null],
  ['a text for options', 'options, such as { namespace }, must be an object, not "a=b"', 'a=b'],
  [
    'a misspelt selector',
    'watch: unknown option "labelSelektor"; did you mean "labelSelector"?',
    { labelSelektor: 'a' },
  ],
  ['an option of lists', 'watch: unknown option "limit"; it takes ', { limit: 5 }],
  ['a selector that is a number', 'fieldSelector must be a string, not 5', { fieldSelector: 5 }],
  ['a time in words', 'timeoutSeconds must be a number of at least 0, not "60"', { timeoutSeconds: '60' }],
  ['a signal that is none', 'signal takes an AbortSignal', { signal: {} }],
  ['a bookmark in words', 'allowWatchBookmarks must be true or false, not "yes"', { allowWatchBookmarks: 'yes' }],
];

/** Registers the suite with vitest. Await it at the top level of a test file. */
export async function wrongCallConformance(name: string, open: () => Promise<WrongCallFixture>): Promise<void> {
  // vitest is imported here, so that the rest of this kit works without vitest.
  const { afterAll, beforeAll, describe, expect, it } = await import('vitest');
  describe(`a wrong call: ${name}`, () => {
    let fixture: WrongCallFixture;
    // No call changes anything, so one fixture serves all.
    beforeAll(async () => {
      fixture = await open();
    });
    afterAll(() => fixture.close());
    const client = (): Untyped => fixture.client as unknown as Untyped;

    it.each(wrongCalls)('%s', async (_, message, call) => {
      const before = fixture.passedOn();
      const error = await Promise.resolve(call(client())).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as TypeError).message).toContain(message);
      expect(fixture.passedOn() - before).toBe(0);
    });

    it.each(wrongWatches)('watch: %s', (_, message, options) => {
      const before = fixture.passedOn();
      const source = fixture.client.listerWatcher(resource);
      const watch = (): unknown => source.watch(options as never);
      expect(watch).toThrow(TypeError);
      expect(watch).toThrow(message);
      expect(fixture.passedOn() - before).toBe(0);
    });
  });
}
