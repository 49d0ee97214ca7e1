// Bodies that fit no kind: the answer is always an object or a Status, and never a crash.

import { isStatusError, type UnstructuredObject } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createApplier } from '../fieldmanager/apply-request.ts';
import { FieldManager } from '../fieldmanager/field-manager.ts';
import type { RequestContext } from '../registry/definition/request-context.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { factTypes } from '../testing/fact-types.ts';
import { applyPatch, decodeObject } from '../testing/whole-work.ts';
import type { PatchType } from './apply-patch.ts';
import { applyJsonPatch } from './json-patch.ts';

const gvk = { group: 'apps', version: 'v1', kind: 'Deployment' };
const schema = factTypes.schemaOfKind('apps/v1', 'Deployment') as SchemaNode;
const definition = { ...gvk, schema, strategy: {}, subresources: [] } as unknown as ResourceDefinition;
const names = [
  'apiVersion',
  'kind',
  'metadata',
  'name',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'managedFields',
  'creationTimestamp',
  'spec',
  'replicas',
  'selector',
  'template',
  'containers',
  'env',
  'ports',
  'containerPort',
  'resources',
  'limits',
  'cpu',
  'status',
  'conditions',
  '$patch',
  '$retainKeys',
  '$setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers',
  '__proto__',
  'constructor',
  'unknown',
];
const leaves = fc.constantFrom<unknown>(
  null,
  true,
  1,
  -1,
  1.5,
  9e99,
  '',
  'a',
  'Deployment',
  'apps/v1',
  'delete',
  'replace',
  '1',
  '2024-01-02T03:04:05Z',
);
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    leaves,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { noNullPrototype: true, maxKeys: 4 }),
  ),
})).value;
/** Correct down to some place, and random below it. */
const nearly = fc
  .tuple(
    fc.constantFrom(
      [],
      ['metadata'],
      ['metadata', 'labels'],
      ['spec'],
      ['spec', 'template', 'spec', 'containers'],
      ['spec', 'template', 'spec', 'containers', '0', 'env'],
      ['status'],
    ),
    json,
  )
  .map(([path, value]) =>
    path.reduceRight<unknown>((inner, name) => (name === '0' ? [inner] : { [name]: inner }), value),
  )
  .map((value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { apiVersion: 'apps/v1', kind: 'Deployment', ...value }
      : value,
  );

function outcome(run: () => UnstructuredObject): UnstructuredObject | undefined {
  try {
    return run();
  } catch (error) {
    if (isStatusError(error)) return undefined;
    throw error;
  }
}

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const options = { gvk, schema, fieldValidation: 'Warn', warn: () => undefined } as const;
const context = { fieldManager: 'm', ...options } as unknown as RequestContext;

it.each(['application/json', 'application/yaml'] as const)('decoding %s', (mediaType) => {
  fc.assert(
    fc.property(nearly, (body) => {
      const object = outcome(() => decodeObject(encode(body), { ...options, mediaType }));
      if (object !== undefined) expect(object).toMatchObject({ apiVersion: 'apps/v1', kind: 'Deployment' });
    }),
    { numRuns: 500 },
  );
});

it.each<PatchType>(['merge', 'strategic', 'json'])('a %s patch', (type) => {
  const operation = fc.record(
    {
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
      path: fc.constantFrom(
        '',
        '/',
        '/metadata/labels',
        '/spec/template/spec/containers/0',
        '/spec/template/spec/containers/-',
        '/__proto__/x',
        '/spec',
      ),
      from: fc.constantFrom('', '/metadata', '/spec/template', '/none'),
      value: json,
    },
    { requiredKeys: ['op', 'path'] },
  );
  const body = type === 'json' ? fc.oneof(json, fc.array(operation, { maxLength: 4 })) : nearly;
  fc.assert(
    fc.property(nearly, body, (start, patch) => {
      const present = outcome(() => decodeObject(encode(start), { ...options, mediaType: 'application/json' }));
      if (present === undefined) return;
      const patched = outcome(() => applyPatch(present, { type, body: encode(patch) }, options));
      if (patched !== undefined)
        expect(outcome(() => decodeObject(encode(patched), { ...options, mediaType: 'application/json' }))).toEqual(
          patched,
        );
    }),
    { numRuns: 500 },
  );
});

it('an apply, and the tracking of what came before', async () => {
  const manager = new FieldManager();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('apply', 'merge'), fc.constantFrom('a', 'b'), nearly), { maxLength: 5 }),
      async (steps) => {
        let present: UnstructuredObject | undefined;
        for (const [step, fieldManager, body] of steps) {
          const call = { context: { ...context, fieldManager }, definition, subresource: '', force: true };
          const before = present;
          const isApply = step === 'apply' || before === undefined;
          const next = outcome(() =>
            isApply
              ? runWhole(createApplier(manager, encode(body), call)(before))
              : applyPatch(before, { type: 'merge', body: encode(body) }, options),
          );
          if (!isApply && next !== undefined) await manager.onUpdate(next, before, call);
          present = next ?? before;
        }
      },
    ),
    { numRuns: 500 },
  );
});

it('a JSON patch that shifts a long list with each operation is refused before it takes minutes', () => {
  const list = Array.from({ length: 400_000 }, () => 0);
  const front = (count: number, op: string) => Array.from({ length: count }, () => ({ op, path: '/list/0', value: 1 }));
  expect(() => runWhole(applyJsonPatch({ list: [...list] }, front(9_000, 'add')))).toThrow('error in our request');
  expect(() => runWhole(applyJsonPatch({ list: [...list] }, front(9_000, 'remove')))).toThrow('error in our request');
  const patched = runWhole(applyJsonPatch({ list }, front(200, 'add'))) as { list: number[] };
  expect([patched.list.length, patched.list[0], patched.list[200]]).toEqual([400_200, 1, 0]);
});
