import { readFileSync } from 'node:fs';
import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import { fieldErrorCause } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import type { ResourceDefinition } from '@kapstan/apiserver';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { builtinResources } from '../../builtin-resources.ts';

interface Recorded {
  readonly spec: object;
  /** Errors as `field: message`, in any order. */
  readonly causes: readonly string[];
}

// Answers of a kube-apiserver 1.36.3.
const recorded: Readonly<Record<string, Recorded>> = JSON.parse(
  readFileSync(new URL('../../../fixtures/resource-slices.json', import.meta.url), 'utf8'),
);
const clock = new VirtualClock({ startMs: Date.parse('2026-03-01T12:00:00Z') });
const definition = builtinResources({ clock }).find(
  ({ resource }) => resource === 'resourceslices',
) as ResourceDefinition;
const context = testContext({ namespace: '' });
const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
const base = { driver: 'd.example.com', pool, nodeName: 'n' };

function slice(spec: object): UnstructuredObject {
  const object = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: 's' },
    spec: deepCopy(spec),
  } as UnstructuredObject;
  definition.applyDefaults(object);
  return object;
}

const textsOf = (errors: readonly FieldError[]): string[] =>
  errors
    .map(fieldErrorCause)
    .map(({ field, message }) => `${field}: ${message}`)
    .sort();

function created(spec: object): { readonly object: UnstructuredObject; readonly errors: readonly string[] } {
  const object = slice(spec);
  definition.strategy.prepareForCreate(object, context);
  return { object, errors: textsOf(definition.strategy.validateCreate(object, context)) };
}

function updated(next: object, old: UnstructuredObject) {
  const object = slice(next);
  definition.strategy.prepareForUpdate(object, old, context);
  return { object, errors: textsOf(definition.strategy.validateUpdate(object, old, context)) };
}

describe('a resource slice', () => {
  it.each(Object.keys(recorded))('is refused as by kube-apiserver: %s', (name) => {
    const { spec, causes } = recorded[name] as Recorded;
    expect(created(spec).errors).toEqual([...causes].sort());
  });

  it.each([
    ['too many devices', { devices: Array.from({ length: 129 }, (_, i) => ({ name: `d${i}` })) }, 128],
    ['too many of which one has a taint', taintedDevices(65), 64],
  ])('has a limit of devices: %s', (_what, more, max) => {
    const count = (more as { devices: unknown[] }).devices.length;
    expect(created({ ...base, ...more }).errors).toEqual([
      `spec.devices: Too many: ${count}: must have at most ${max} items`,
    ]);
  });

  it('may be all that one may be', () => {
    const devices = [
      {
        name: 'a',
        attributes: { model: { string: 'x' }, 'a.b/c': { int: 1 }, ok: { bool: true }, v: { version: '1.2.3-a.1+b' } },
        capacity: {
          c: { value: '10', requestPolicy: { default: '2', validRange: { min: '2', max: '8', step: '3' } } },
        },
        allowMultipleAllocations: true,
        bindingConditions: ['a.b/c'],
        bindingFailureConditions: ['d'],
        consumesCounters: [{ counterSet: 's', counters: { m: { value: '1' } } }],
      },
    ];
    expect(created({ ...base, devices }).errors).toEqual([]);
    expect(created({ ...base, sharedCounters: [{ name: 's', counters: { m: { value: '1' } } }] }).errors).toEqual([]);
  });

  it('is of the first generation, and of the next one when its content changes', () => {
    const { object: first } = created(base);
    expect(first.metadata?.generation).toBe(1);
    expect(updated(base, first).object.metadata?.generation).toBe(1);
    expect(updated({ ...base, pool: { ...pool, generation: 2 } }, first).object.metadata?.generation).toBe(2);
  });

  it.each([
    [{ driver: 'e.example.com' }, 'spec.driver: Invalid value: "e.example.com": field is immutable'],
    [{ nodeName: 'm' }, 'spec.nodeName: Invalid value: "m": field is immutable'],
    [{ pool: { ...pool, name: 'q' } }, 'spec.pool.name: Invalid value: "q": field is immutable'],
    [{ nodeName: undefined, allNodes: true }, 'spec.nodeName: Invalid value: null: field is immutable'],
  ])('keeps its driver, its pool and its node: %j', (change, text) => {
    expect(updated({ ...base, ...change }, created(base).object).errors).toEqual([text]);
  });

  it('has taints from when they are first seen, and those that it has may stay as they are', () => {
    const tainted = (key: string): object => ({
      ...base,
      devices: [{ name: 'a', taints: [{ key, effect: 'NoSchedule' }] }],
    });
    const { object } = created(tainted('k'));
    expect(object).toMatchObject({
      spec: { devices: [{ taints: [{ key: 'k', timeAdded: '2026-03-01T12:00:00Z' }] }] },
    });
    const old = slice(tainted('a b'));
    expect(updated(tainted('a b'), old).errors).toEqual([]);
    expect(updated(tainted('b c'), old).errors).toHaveLength(1);
  });

  it('loses what is behind gates that are off, unless it had such before', () => {
    const spec = (attribute: object): object => ({
      ...base,
      devices: [
        { name: 'a', attributes: { a: attribute }, nodeAllocatableResourceMappings: { cpu: { capacityKey: 'c' } } },
      ],
    });
    const { object, errors } = created(spec({ ints: [1] }));
    expect(errors).toEqual(['spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified']);
    expect(JSON.stringify(object.spec)).not.toMatch(/ints|Mappings/);
    const old = slice(spec({ ints: [1] }));
    expect(updated(spec({ strings: ['x'] }), old)).toMatchObject({
      errors: [],
      object: { spec: { devices: [{ attributes: { a: { strings: ['x'] } }, nodeAllocatableResourceMappings: {} }] } },
    });
  });
});

function taintedDevices(count: number): { devices: object[] } {
  const devices: object[] = Array.from({ length: count }, (_, i) => ({ name: `d${i}` }));
  devices[0] = { name: 'd0', taints: [{ key: 'k', effect: 'NoSchedule' }] };
  return { devices };
}
