import { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FlowControlServer, openFlowControlServer } from '../testing/flow-control-fixture.ts';
import { ensureFlowConfiguration } from './configuration-ensurer.ts';

const autoUpdate = 'apf.kubernetes.io/autoupdate-spec';
let server: FlowControlServer;

beforeEach(async () => {
  server = await openFlowControlServer(openLmdbEngine);
});
afterEach(() => server.close());

/** Runs one round, like the server every minute. */
async function ensure(): Promise<void> {
  await server.read();
  await ensureFlowConfiguration(server.client, server.objects);
  await server.read();
}
const versions = (): string[] =>
  [...server.objects.schemas, ...server.objects.levels].map(
    ({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`,
  );
const flag = (object: FlowSchema | PriorityLevelConfiguration): string | undefined =>
  object.metadata?.annotations?.[autoUpdate];
const getSchema = (name: string): Promise<FlowSchema> => server.client.get(FlowSchema, { name });
const getLevel = (name: string): Promise<PriorityLevelConfiguration> =>
  server.client.get(PriorityLevelConfiguration, { name });

describe('the bootstrap flow schemas and priority levels', () => {
  it('are all there after the first round, and untouched by the next', async () => {
    await ensure();
    expect(versions()).toHaveLength(19);
    const probes = await getSchema('probes');
    expect([flag(probes), probes.spec?.matchingPrecedence]).toEqual(['true', 2]);
    expect(probes.metadata?.managedFields?.[0]?.manager).toBe('api-priority-and-fairness-config-producer-v1');
    const before = versions();
    await ensure();
    expect(versions()).toEqual(before);
  });

  it('are made again when they are deleted', async () => {
    await ensure();
    const before = await getSchema('probes');
    await server.client.delete(FlowSchema, { name: 'probes' });
    await server.client.delete(PriorityLevelConfiguration, { name: 'catch-all' });
    await ensure();
    expect((await getSchema('probes')).metadata?.uid).not.toBe(before.metadata?.uid);
    expect((await getLevel('catch-all')).spec?.type).toBe('Limited');
  });

  it('get their spec back while the annotation says so', async () => {
    await ensure();
    const schema = await getSchema('probes');
    await server.client.update(FlowSchema, {
      ...schema,
      spec: { ...schema.spec, matchingPrecedence: 77, priorityLevelConfiguration: { name: 'exempt' } },
    });
    await ensure();
    expect((await getSchema('probes')).spec?.matchingPrecedence).toBe(2);
  });

  it('keep a changed spec where somebody took the annotation away, and say so from then on', async () => {
    await ensure();
    const schema = await getSchema('probes');
    const changed = {
      ...schema,
      metadata: { ...schema.metadata, annotations: {} },
      spec: { ...schema.spec, matchingPrecedence: 77, priorityLevelConfiguration: { name: 'exempt' } },
    };
    await server.client.update(FlowSchema, changed);
    await ensure();
    const kept = await getSchema('probes');
    expect([kept.spec?.matchingPrecedence, flag(kept)]).toEqual([77, 'false']);
    await ensure();
    expect((await getSchema('probes')).metadata?.resourceVersion).toBe(kept.metadata?.resourceVersion);
  });

  it('get the annotation back where only it was taken away', async () => {
    await ensure();
    const schema = await getSchema('probes');
    await server.client.update(FlowSchema, {
      ...schema,
      metadata: { ...schema.metadata, annotations: { [autoUpdate]: 'maybe' } },
    });
    await ensure();
    expect(flag(await getSchema('probes'))).toBe('true');
  });

  it('of the exempt level leave the shares to the cluster', async () => {
    await ensure();
    const level = await getLevel('exempt');
    await server.client.update(PriorityLevelConfiguration, {
      ...level,
      spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 9, lendablePercent: 50 } },
    });
    await ensure();
    expect((await getLevel('exempt')).spec?.exempt).toEqual({ nominalConcurrencyShares: 9, lendablePercent: 50 });
    const flagged = await getLevel('exempt');
    await server.client.update(PriorityLevelConfiguration, {
      ...flagged,
      metadata: { ...flagged.metadata, annotations: { [autoUpdate]: 'false' } },
    });
    await ensure();
    // A mandatory object always follows the server.
    expect(flag(await getLevel('exempt'))).toBe('true');
  });

  it('of an older server are removed, and others are not', async () => {
    const own = (name: string, annotations: Record<string, string>): FlowSchema => ({
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name, annotations },
      spec: { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 5 },
    });
    await server.client.create(FlowSchema, own('old', { [autoUpdate]: 'true' }));
    await server.client.create(FlowSchema, own('kept', { [autoUpdate]: 'false' }));
    await server.client.create(FlowSchema, own('mine', {}));
    await ensure();
    const names = [...server.objects.schemas].map(({ metadata }) => metadata?.name);
    expect(names.filter((name) => ['old', 'kept', 'mine'].includes(name ?? ''))).toEqual(['kept', 'mine']);
  });

  it('that another server creates or changes meanwhile are left to it', async () => {
    await server.read();
    // The read result is empty, so each creation finds its object already present.
    await ensureFlowConfiguration(server.client, server.objects);
    await ensureFlowConfiguration(server.client, server.objects);
    await server.read();
    const schema = await getSchema('probes');
    await server.client.update(FlowSchema, {
      ...schema,
      spec: { ...schema.spec, matchingPrecedence: 77, priorityLevelConfiguration: { name: 'exempt' } },
    });
    await server.read();
    await server.client.update(FlowSchema, {
      ...(await getSchema('probes')),
      metadata: { ...(await getSchema('probes')).metadata, labels: { a: 'b' } },
    });
    await ensureFlowConfiguration(server.client, server.objects);
    expect((await getSchema('probes')).spec?.matchingPrecedence).toBe(77);
  });
});
