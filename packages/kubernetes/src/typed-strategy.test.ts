// Tests that a strategy has the same effect on a large object in slices as in one step.

import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import type { RequestContext } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { builtinResources } from './builtin-resources.ts';

const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`k${index}`, 'x']));
const env = Array.from({ length: 2_000 }, (_, index) => ({ name: `E${index}`, value: '' }));
const pod = { containers: [{ name: 'c', env }], volumes: [], nodeSelector: many };
const context = { namespace: 'default', user: { name: 'a', groups: [] }, warn: () => undefined } as unknown;

const objects: readonly UnstructuredObject[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels: many, finalizers: [] }, data: { ...many } },
  {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a', annotations: many } },
    spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: many }, spec: pod } },
    status: { replicas: 0, conditions: env },
  },
];

function strategyOf({ apiVersion, kind }: UnstructuredObject) {
  const definitions = builtinResources();
  const found = definitions.find(
    (definition) =>
      definition.kind === kind && apiVersion === [definition.group, definition.version].filter(Boolean).join('/'),
  );
  if (found === undefined) throw new Error(`no kind ${kind}`);
  return found.strategy;
}

/** Runs the work to the end and returns how many times it yielded. */
function steps(work: SlicedWork<void> | undefined): number {
  let count = 0;
  while (work !== undefined && work.next().done !== true) count++;
  return count;
}

describe('a large object is prepared in slices as at once', () => {
  it.each(objects)('for its creation: $kind', (object) => {
    const strategy = strategyOf(object);
    const [whole, inSlices] = [deepCopy(object), deepCopy(object)] as UnstructuredObject[];
    strategy.prepareForCreate(whole as UnstructuredObject, context as RequestContext);
    const work = strategy.prepareForCreateInSlices?.(inSlices as UnstructuredObject, context as RequestContext);
    expect(steps(work)).toBeGreaterThan(10);
    expect(inSlices).toEqual(whole);
  });

  it.each(
    objects.flatMap((object) => [
      { kind: object.kind, object, changed: {} },
      {
        kind: `changed ${object.kind}`,
        object,
        changed: { data: many, spec: { paused: true, template: { spec: pod } } },
      },
    ]),
  )('for its update: $kind', ({ object, changed }) => {
    const strategy = strategyOf(object);
    const old = { ...deepCopy(object), metadata: { ...object.metadata, generation: 4 } } as UnstructuredObject;
    strategy.prepareForUpdate(old, deepCopy(old) as UnstructuredObject, context as RequestContext);
    const next = () => deepCopy({ ...old, ...changed }) as UnstructuredObject;
    const [whole, inSlices] = [next(), next()];
    strategy.prepareForUpdate(whole, old, context as RequestContext);
    expect(steps(strategy.prepareForUpdateInSlices?.(inSlices, old, context as RequestContext))).toBeGreaterThan(10);
    expect(inSlices).toEqual(whole);
  });
});
