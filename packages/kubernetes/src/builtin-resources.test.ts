import { readFileSync } from 'node:fs';
import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import { fieldErrorCause } from '@kapstan/api/internal';
import type { RequestContext, ResourceDefinition, ResourceStore } from '@kapstan/apiserver';
import { validateObjectMeta } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { builtinResources } from './builtin-resources.ts';

const fixtures = new URL('../fixtures/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'));

interface Case {
  readonly path: string;
  readonly request: UnstructuredObject;
  readonly stored: UnstructuredObject;
  readonly withoutAdmission?: UnstructuredObject;
}
interface Variant {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
  readonly code: number;
  readonly reason?: string;
  readonly causes?: readonly (readonly [reason: string, field: string, message: string])[];
}

const { cases } = read('defaults.json') as { readonly cases: Record<string, Case> };
interface Variants {
  readonly create: Record<string, Variant>;
  readonly update: Record<string, Variant>;
}
const variantsOf = (name: string): Variants => read(name) as Variants;
const [facts, recorded] = [variantsOf('validation.json'), variantsOf('validation-recorded.json')];
const create = { ...facts.create, ...recorded.create };
const update = { ...facts.update, ...recorded.update };
const notCovered = read('validation-not-covered.json') as {
  readonly create: Record<string, string>;
  readonly update: Record<string, string>;
};

// This uid is valid as a label; the placeholder of the fixtures is not.
const uid = 'the-uid-of-the-object';
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const clock = {
  now: () => nowMs,
  monotonicNow: () => 0,
  setTimer: () => () => undefined,
  setBackgroundTimer: () => () => undefined,
};
/** A store in which services find nothing taken, and in which they record their addresses and ports. */
const emptyStore = {
  list: () => Promise.resolve({ resourceVersion: '1', items: [], continue: '' }),
  create: () => Promise.resolve({}),
} as unknown as ResourceStore;
const server = { clock, serviceClusterIpRange: '10.96.0.0/16', findStore: () => emptyStore };
const definitions = new Map(builtinResources(server).map((definition) => [idOf(definition), definition]));

function idOf({ group, version, resource }: ResourceDefinition): string {
  return group === '' ? `${version}/${resource}` : `${group}/${version}/${resource}`;
}

function definitionOf({ path }: Case): ResourceDefinition | undefined {
  return definitions.get(path.replace(/^\/apis?\//, '').replace('namespaces/facts/', ''));
}

const context: RequestContext = {
  user: { name: 'u', groups: [] },
  namespace: 'facts',
  dryRun: false,
  fieldManager: 'm',
  fieldValidation: 'Strict',
  warn: () => undefined,
};

/** Prepares a create like the generic store, without admission. */
async function prepare(definition: ResourceDefinition, request: UnstructuredObject): Promise<UnstructuredObject> {
  const object = deepCopy(request);
  definition.applyDefaults(object);
  const metadata = object.metadata ?? {};
  if (definition.namespaced) metadata.namespace = 'facts';
  metadata.uid = uid;
  metadata.creationTimestamp = '<time>';
  if (!metadata.name && metadata.generateName) metadata.name = `${metadata.generateName}<suffix>`;
  object.metadata = metadata;
  await definition.allocation?.create(emptyStore, context, object);
  definition.strategy.prepareForCreate(object, context);
  return object;
}

/** Hides values that change from run to run, as in the fixtures. */
function masked(object: UnstructuredObject): unknown {
  const text = JSON.stringify(object)
    .replaceAll(/"10\.96\.\d+\.\d+"/g, '"<clusterIP>"')
    .replaceAll(/"nodePort":\d+/g, '"nodePort":"<nodePort>"')
    .replaceAll('"2026-01-01T00:00:00Z"', '"<time>"')
    .replaceAll(uid, '<uid>');
  return JSON.parse(text);
}

describe('defaults of the built-in kinds', () => {
  const served = Object.entries(cases).filter(([, entry]) => definitionOf(entry) !== undefined);

  it('all kinds of the facts are served but custom resource definitions', () => {
    expect(Object.keys(cases).filter((name) => !served.some(([other]) => other === name))).toEqual([
      'CustomResourceDefinition',
    ]);
  });

  it.each(served)('%s is stored as Kubernetes stores it', async (name, entry) => {
    const definition = definitionOf(entry)!;
    const object = await prepare(definition, entry.request);
    definition.strategy.canonicalize?.(object);
    // The default admission plug-ins add these fields.
    const expected =
      name === 'PersistentVolumeClaim' || name === 'PersistentVolume'
        ? withoutAdmission(entry)
        : (entry.withoutAdmission ?? entry.stored);
    const actual = masked(object) as UnstructuredObject;
    if (name === 'PersistentVolumeClaim' || name === 'PersistentVolume') delete actual.metadata?.finalizers;
    expect(actual).toEqual(expected);
  });

  it.each(served)('%s is defaulted once: a second time changes nothing', async (_name, entry) => {
    const definition = definitionOf(entry)!;
    const object = await prepare(definition, entry.request);
    definition.strategy.canonicalize?.(object);
    const again = deepCopy(object);
    definition.applyDefaults(again);
    expect(again).toEqual(object);
  });
});

function withoutAdmission(entry: Case): UnstructuredObject {
  const object = deepCopy(entry.withoutAdmission ?? entry.stored);
  delete object.metadata?.finalizers;
  return object;
}

type Json = Record<string, unknown>;

function change(object: UnstructuredObject, variant: Variant): UnstructuredObject {
  const copy = deepCopy(object);
  for (const [pointer, value] of Object.entries(variant.set ?? {}))
    at(copy, pointer, (parent, key) => Object.assign(parent, { [key]: expand(value) }));
  for (const pointer of variant.unset ?? []) at(copy, pointer, (parent, key) => delete parent[key]);
  return copy;
}

function at(object: UnstructuredObject, pointer: string, act: (parent: Json, key: string) => void): void {
  const keys = pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop()!;
  let parent = object as Json;
  for (const key of keys) {
    parent[key] ??= {};
    parent = parent[key] as Json;
  }
  act(parent, last);
}

function expand(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('repeat' in value)) return value;
  const [text, times] = value.repeat as readonly [string, number];
  return text.repeat(times);
}

type Cause = readonly [reason: string, field: string, message: string];

function causesOf(errors: readonly FieldError[]): Cause[] {
  return errors.map((error) => {
    const { reason, field, message } = fieldErrorCause(error);
    return [reason ?? '', field ?? '', message ?? ''];
  });
}

const byText = (causes: readonly Cause[]): Cause[] =>
  [...causes].sort((a, b) => (a.join('\n') < b.join('\n') ? -1 : 1));
/** Kubernetes' messages show its internal structs, ours the JSON of the API. */
const withoutStructs = (message: string): string => message.replace(/value: \{.*\}/, 'value: {…}');
const shorten = (causes: readonly Cause[]): Cause[] =>
  causes.map(([reason, field, message]) => [
    reason,
    field,
    withoutStructs(message)
      .replaceAll(/a{20,}/g, (text) => `<a*${text.length}>`)
      .replaceAll(uid, '<uid>'),
  ]);

async function createErrors(definition: ResourceDefinition, request: UnstructuredObject): Promise<Cause[]> {
  const object = deepCopy(request);
  try {
    const prepared = await prepare(definition, object);
    const rules = {
      namespaced: definition.namespaced,
      finalizerNames: definition.strategy.finalizerNames ?? ('Kubernetes' as const),
      ...(definition.strategy.validateName === undefined ? {} : { nameRule: definition.strategy.validateName }),
    };
    return causesOf([
      ...validateObjectMeta(prepared.metadata ?? {}, rules),
      ...definition.strategy.validateCreate(prepared, context),
    ]);
  } catch (error) {
    const causes = (
      error as { readonly details?: { readonly causes?: { reason?: string; field?: string; message?: string }[] } }
    ).details?.causes;
    if (causes === undefined) throw error;
    return causes.map((cause) => [cause.reason ?? '', cause.field ?? '', cause.message ?? '']);
  }
}

/** Decoding, admission and the store answer the other variants. */
const isValidation = (variant: Variant): boolean =>
  variant.reason === 'Invalid' || (variant.code < 300 && variant.reason === undefined);
const isServed = (name: string): boolean => cases[name] !== undefined && definitionOf(cases[name]) !== undefined;

describe('validation of creates', () => {
  const variants = Object.entries(create).filter(
    ([id, variant]) => isServed(id.split('/')[0]!) && isValidation(variant),
  );
  const covered = variants.filter(([id]) => notCovered.create[id] === undefined);

  it.each(covered)('%s', async (id, variant) => {
    const entry = cases[id.split('/')[0]!]!;
    const causes = await createErrors(definitionOf(entry)!, change(entry.request, variant));
    expect(shorten(byText(causes))).toEqual(shorten(byText(variant.causes ?? [])));
  });

  it('what is not covered is named with its reason, and is less than a tenth', () => {
    expect(Object.keys(notCovered.create).filter((id) => !variants.some(([other]) => other === id))).toEqual([]);
    expect(covered.length / variants.length).toBeGreaterThan(0.9);
  });
});

describe('validation of updates', () => {
  const variants = Object.entries(update).filter(
    ([id, variant]) =>
      isServed(id.split('/')[0]!) &&
      (variant.code === 200 || (variant.reason === 'Invalid' && !id.endsWith('no-version-refused'))),
  );
  const covered = variants.filter(([id]) => notCovered.update[id] === undefined);

  it.each(covered)('%s', async (id, variant) => {
    const entry = cases[id.split('/')[0]!]!;
    const definition = definitionOf(entry)!;
    const old = await prepare(definition, entry.request);
    const next = change(old, variant);
    definition.applyDefaults(next);
    await definition.allocation?.update(emptyStore, context, { next, old });
    definition.strategy.prepareForUpdate(next, old, context);
    expect(shorten(byText(causesOf(definition.strategy.validateUpdate(next, old, context))))).toEqual(
      shorten(byText(variant.causes ?? [])),
    );
  });

  it('what is not covered is named with its reason', () => {
    expect(Object.keys(notCovered.update).filter((id) => !variants.some(([other]) => other === id))).toEqual([]);
  });
});

describe('events', () => {
  it.each(['v1/events', 'events.k8s.io/v1/events'])('%s live as long as the server says', (id) => {
    const named = new Map(
      builtinResources({ eventTtlSeconds: 90 }).map((definition) => [idOf(definition), definition]),
    );
    const event = { metadata: { name: 'a' } };
    expect(named.get(id)?.strategy.ttlSeconds?.(event, false)).toBe(90);
    expect(definitions.get(id)?.strategy.ttlSeconds?.(event, true)).toBe(3600);
  });
});
