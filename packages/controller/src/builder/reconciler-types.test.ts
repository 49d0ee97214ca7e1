// Checks the static types of a reconciled object and of the status for `ctx.status`.
import { defineResource, type Resource, resource, type UnstructuredObject } from '@kapstan/api';
import { ConfigMap, Namespace, Pod } from '@kapstan/kinds/core/v1';
import { expectTypeOf, it } from 'vitest';
import { controller } from './controller-builder.ts';
import type { StatusOf } from './reconciler-context.ts';

const text = { type: 'string' } as const;
const parts = {
  group: 'demo.dev',
  version: 'v1',
  spec: { type: 'object', properties: { text } },
  status: {
    type: 'object',
    properties: { phase: text, error: text, counts: { type: 'object', additionalProperties: { type: 'integer' } } },
    required: ['phase'],
  },
} as const;
const Site = defineResource({ ...parts, kind: 'Site' });
const Zone = defineResource({ ...parts, kind: 'Zone', scope: 'Cluster' });

it('a reconciled object has a name, and a namespace where its kind is namespaced', () => {
  controller(Site).reconcile(async ({ metadata }) => {
    expectTypeOf(metadata.name).toEqualTypeOf<string>();
    expectTypeOf(metadata.namespace).toEqualTypeOf<string>();
  });
  controller(ConfigMap)
    .finalize('demo.dev/x', async ({ metadata }) => expectTypeOf(metadata.namespace).toEqualTypeOf<string>() as never)
    .reconcile(async ({ metadata, data }) => {
      expectTypeOf(metadata.namespace).toEqualTypeOf<string>();
      expectTypeOf(data?.x).toEqualTypeOf<string | undefined>();
    });
  controller(resource({ group: 'x.dev', version: 'v1', kind: 'X' })).reconcile(async ({ metadata, spec }) => {
    expectTypeOf(metadata.namespace).toEqualTypeOf<string>();
    expectTypeOf(spec).toEqualTypeOf<unknown>();
  });
  for (const cluster of [controller(Namespace), controller(Zone)] as const)
    cluster.reconcile(async ({ metadata }) => {
      expectTypeOf(metadata.name).toEqualTypeOf<string>();
      expectTypeOf(metadata.namespace).toEqualTypeOf<string | undefined>();
    });
});

it('a status may leave out fields and remove those that need not be there', () => {
  controller(Site).reconcile(async (_site, { status }) => {
    await status({ phase: 'Ready', error: null, counts: { old: null, now: 1 } });
    await status({ counts: null });
    // @ts-expect-error: it is required
    await status({ phase: null });
    // @ts-expect-error: it is a text
    await status({ error: 1 });
    // @ts-expect-error: there is no such field
    await status({ eror: null });
  });
  controller(Pod).reconcile(async (_pod, { status }) => {
    await status({ message: null, conditions: [{ type: 'x.dev/ready', status: 'True' }] });
  });
  expectTypeOf<StatusOf<ConfigMap>>().toEqualTypeOf<never>();
});

it('a status of a kind whose fields nobody knows may be any object', () => {
  const dynamic: Resource = ConfigMap;
  controller(dynamic).reconcile(async (_object, { status }) => {
    await status({ phase: 'Ready', error: null });
  });
  controller(resource({ group: 'x.dev', version: 'v1', kind: 'X' })).reconcile(async (_object, { status }) => {
    await status({ phase: 'Ready', error: null });
    // @ts-expect-error: it is no object
    await status('Ready');
  });
  expectTypeOf<StatusOf<UnstructuredObject>>().toEqualTypeOf<object>();
});
