// Programs about server-side apply.
import { isConflict } from '@kapstan/api';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { expect } from 'vitest';
import { deployment, failure } from './client-programs.ts';
import type { Programs } from './scene.ts';

export const applyPrograms: Programs = {
  'applies: creates, changes, gives fields up, and writes nothing twice': async ({ client, namespace }) => {
    const metadata = { namespace, name: 'a' };
    const options = { fieldManager: 'one' };
    const made = await client.apply(ConfigMap, { metadata, data: { k: '1', l: '1' } }, options);
    expect(made.metadata?.managedFields).toMatchObject([
      { manager: 'one', operation: 'Apply', fieldsType: 'FieldsV1' },
    ]);
    expect(made.metadata?.managedFields?.[0]?.fieldsV1).toEqual({ 'f:data': { 'f:k': {}, 'f:l': {} } });
    const same = await client.apply(ConfigMap, { metadata, data: { k: '1', l: '1' } }, options);
    expect(same.metadata?.resourceVersion).toBe(made.metadata?.resourceVersion);
    const less = await client.apply(ConfigMap, { metadata, data: { k: '2' } }, options);
    expect(less.data).toEqual({ k: '2' });
  },

  'conflicts with another applier, by field, until it forces or shares': async ({ client, namespace }) => {
    const metadata = { namespace, name: 'a' };
    await client.apply(ConfigMap, { metadata, data: { k: '1', l: '1' } }, { fieldManager: 'one' });
    const refused = await failure(
      client.apply(ConfigMap, { metadata, data: { k: '2', l: '2' } }, { fieldManager: 'two' }),
    );
    expect([isConflict(refused), refused.message]).toEqual([
      true,
      'Apply failed with 2 conflicts: conflicts with "one":\n- .data.k\n- .data.l',
    ]);
    expect(refused.details?.causes).toEqual([
      { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.k' },
      { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.l' },
    ]);
    const forced = await client.apply(ConfigMap, { metadata, data: { k: '2' } }, { fieldManager: 'two', force: true });
    expect(forced.data).toEqual({ k: '2', l: '1' });
    const owners = forced.metadata?.managedFields?.map(({ manager, fieldsV1 }) => [manager, fieldsV1]);
    expect(owners).toEqual([
      ['one', { 'f:data': { 'f:l': {} } }],
      ['two', { 'f:data': { 'f:k': {} } }],
    ]);
    const shared = await client.apply(ConfigMap, { metadata, data: { k: '2', l: '1' } }, { fieldManager: 'one' });
    expect(shared.metadata?.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual([
      { 'f:data': { 'f:k': {}, 'f:l': {} } },
      { 'f:data': { 'f:k': {} } },
    ]);
  },

  'conflicts with who updated, and leaves what others added': async ({ client, namespace }) => {
    const at = { namespace, name: 'web' };
    const applied = { ...deployment(at), spec: { ...deployment(at).spec, replicas: 2 } } as Deployment;
    await client.apply(Deployment, applied, { fieldManager: 'gitops' });
    await client.mergePatch(Deployment, at, { spec: { replicas: 5 } }, { fieldManager: 'scaler' });
    const containers = [{ name: 'sidecar', image: 's' }];
    await client.strategicPatch(Deployment, at, { spec: { template: { spec: { containers } } } });
    const refused = await failure(client.apply(Deployment, applied, { fieldManager: 'gitops' }));
    expect(refused.message).toBe('Apply failed with 1 conflict: conflict with "scaler" using apps/v1: .spec.replicas');
    const forced = await client.apply(Deployment, applied, { fieldManager: 'gitops', force: true });
    expect(forced.spec?.replicas).toBe(2);
    expect(forced.spec?.template.spec?.containers.map(({ name }) => name).sort()).toEqual(['c', 'sidecar']);
  },

  'applies a status by a manager of its own': async ({ client, namespace }) => {
    const at = { namespace, name: 'web' };
    await client.apply(Deployment, deployment(at), { fieldManager: 'spec' });
    const options = { fieldManager: 'state', subresource: 'status' };
    const written = { metadata: at, status: { replicas: 3 } } as Deployment;
    const { status, metadata } = await client.apply(Deployment, written, options);
    expect(status).toEqual({ replicas: 3 });
    expect(metadata?.managedFields?.find(({ manager }) => manager === 'state')).toMatchObject({
      operation: 'Apply',
      subresource: 'status',
      fieldsV1: { 'f:status': { 'f:replicas': {} } },
    });
  },
};
