// Requests that kube-apiserver 1.36 refused, with their causes, recorded for the kinds of core, apps and batch. A rule
// that is lost or reworded here fails its requests.
import { readFileSync } from 'node:fs';
import { deepCopy, StatusError, type UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import { fieldErrorCause } from '@kapstan/api/internal';
import type { RequestContext, ResourceDefinition, ResourceStore } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { builtinResources } from './builtin-resources.ts';

type Cause = readonly [reason: string, field: string, message: string];
interface Refusal {
  /** "apps/v1/deployments", "v1/pods". */
  readonly resource: string;
  readonly request: UnstructuredObject;
  readonly causes: readonly Cause[];
}
interface RefusedUpdate extends Refusal {
  readonly old: UnstructuredObject;
}

const { creates, updates } = JSON.parse(
  readFileSync(new URL('../fixtures/refusals.json', import.meta.url), 'utf8'),
) as { readonly creates: readonly Refusal[]; readonly updates: readonly RefusedUpdate[] };

const clock = {
  now: () => Date.parse('2026-01-01T00:00:00Z'),
  monotonicNow: () => 0,
  setTimer: () => () => undefined,
  setBackgroundTimer: () => () => undefined,
};
const server = {
  clock,
  findStore: () => undefined,
  serviceClusterIpRange: '10.96.0.0/16',
  serviceNodePortRange: { first: 30_000, last: 32_767 },
  eventTtlSeconds: 3600,
};
const context: RequestContext = {
  user: { name: 'u', groups: [] },
  namespace: 'fuzz1',
  dryRun: true,
  fieldManager: 'm',
  fieldValidation: 'Strict',
  warn: () => undefined,
};
const emptyStore = {
  list: () => Promise.resolve({ resourceVersion: '1', items: [], continue: '' }),
} as unknown as ResourceStore;

/** Returns a fresh definition for each request, because services take numbers. */
function definitionOf(id: string): ResourceDefinition {
  const found = builtinResources(server).find(
    ({ group, version, resource }) => `${group === '' ? '' : `${group}/`}${version}/${resource}` === id,
  );
  if (found === undefined) throw new Error(`no resource ${id}`);
  return found;
}

/** Returns a request's object as the generic store passes it to the strategy. */
function taken(definition: ResourceDefinition, request: UnstructuredObject): UnstructuredObject {
  const object = deepCopy(request);
  definition.applyDefaults(object);
  object.metadata = { ...object.metadata, uid: object.metadata?.uid ?? 'the-uid-of-the-object' };
  if (definition.namespaced) object.metadata.namespace = 'fuzz1';
  return object;
}

const causesOf = (errors: readonly FieldError[]): readonly Cause[] =>
  errors.map(fieldErrorCause).map(({ reason, field, message }) => [reason ?? '', field ?? '', message ?? '']);

/** Returns the errors of the strategy, or of an allocation, which comes first. */
async function refused(run: () => Promise<readonly FieldError[]>): Promise<readonly Cause[]> {
  try {
    return causesOf(await run());
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const causes = error.status.details?.causes ?? [];
    return causes.map(({ reason, field, message }) => [reason ?? '', field ?? '', message ?? '']);
  }
}

const sorted = (causes: readonly Cause[]): readonly string[] => causes.map((cause) => cause.join(' | ')).sort();
const title = ({ resource, causes }: Refusal): string =>
  `${resource}: ${causes.map(([, field, message]) => `${field}: ${message}`).join('; ')}`.slice(0, 240);

describe('creates that Kubernetes refuses', () => {
  it.each(creates.map((refusal) => [title(refusal), refusal] as const))('%s', async (_title, refusal) => {
    const definition = definitionOf(refusal.resource);
    const object = taken(definition, refusal.request);
    const causes = await refused(async () => {
      await definition.allocation?.create(emptyStore, context, object);
      definition.strategy.prepareForCreate(object, context);
      return definition.strategy.validateCreate(object, context);
    });
    expect(sorted(causes)).toEqual(sorted(refusal.causes));
  });
});

describe('updates that Kubernetes refuses', () => {
  it.each(updates.map((refusal) => [title(refusal), refusal] as const))('%s', async (_title, refusal) => {
    const definition = definitionOf(refusal.resource);
    const next = taken(definition, refusal.request);
    const old = taken(definition, refusal.old);
    const causes = await refused(async () => {
      await definition.allocation?.update(emptyStore, context, { next, old });
      definition.strategy.prepareForUpdate(next, old, context);
      return definition.strategy.validateUpdate(next, old, context);
    });
    expect(sorted(causes)).toEqual(sorted(refusal.causes));
  });
});
