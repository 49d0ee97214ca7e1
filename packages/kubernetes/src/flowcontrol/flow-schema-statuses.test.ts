import { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FlowControlServer, openFlowControlServer } from '../testing/flow-control-fixture.ts';
import { FlowSchemaStatuses } from './flow-schema-statuses.ts';

let server: FlowControlServer;
let statuses: FlowSchemaStatuses;

beforeEach(async () => {
  server = await openFlowControlServer(openLmdbEngine);
  statuses = new FlowSchemaStatuses({ ...server, random: () => 0.5 });
});
afterEach(() => server.close());

const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
const spec = { priorityLevelConfiguration: { name: 'p' }, matchingPrecedence: 5 };
const level: PriorityLevelConfiguration = {
  apiVersion,
  kind: 'PriorityLevelConfiguration',
  metadata: { name: 'p' },
  spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
};
const createSchema = (): Promise<FlowSchema> =>
  server.client.create(FlowSchema, { apiVersion, kind: 'FlowSchema', metadata: { name: 'f' }, spec });
async function sync(): Promise<number | undefined> {
  await server.read();
  return statuses.sync();
}
const conditions = async () => (await server.client.get(FlowSchema, { name: 'f' })).status?.conditions;

describe('the condition of a flow schema', () => {
  it('says whether its level exists, and is written when that changes', async () => {
    await createSchema();
    expect(await sync()).toBeUndefined();
    expect(await conditions()).toEqual([
      {
        type: 'Dangling',
        status: 'True',
        reason: 'NotFound',
        message:
          'This FlowSchema references the PriorityLevelConfiguration object named "p" but there is no such object',
        lastTransitionTime: expect.any(String),
      },
    ]);
    await server.client.create(PriorityLevelConfiguration, level);
    await sync();
    const [found] = (await conditions()) ?? [];
    expect(found).toMatchObject({
      status: 'False',
      reason: 'Found',
      message: 'This FlowSchema references the PriorityLevelConfiguration object named "p" and it exists',
    });
    const { metadata } = await server.client.get(FlowSchema, { name: 'f' });
    expect(metadata?.managedFields?.map(({ manager, subresource }) => [manager, subresource])).toContainEqual([
      'api-priority-and-fairness-config-consumer-v1',
      'status',
    ]);
    await sync();
    expect((await server.client.get(FlowSchema, { name: 'f' })).metadata?.resourceVersion).toBe(
      metadata?.resourceVersion,
    );
  });

  it('is written at most six times a minute, and later again', async () => {
    await createSchema();
    const pauses: (number | undefined)[] = [];
    for (let round = 0; round < 8; round++) {
      pauses.push(await sync());
      // Another server disagrees.
      const schema = await server.client.get(FlowSchema, { name: 'f' });
      await server.client.update(
        FlowSchema,
        { ...schema, status: { conditions: [{ type: 'Dangling', status: 'Maybe' }] } },
        { subresource: 'status' },
      );
    }
    expect(pauses).toEqual([...Array(6).fill(undefined), 52_000, 52_000]);
    await server.clock.advance(60_001);
    expect(await sync()).toBeUndefined();
    expect((await conditions())?.[0]?.status).toBe('True');
  });

  it('of a schema that was deleted meanwhile is nobody trouble', async () => {
    await createSchema();
    await server.read();
    await server.client.delete(FlowSchema, { name: 'f' });
    expect(await statuses.sync()).toBeUndefined();
  });
});
