import type { KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectSubresource, ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { schemaResource } from '../../registry/definition/schema-resource.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { type KubeletStandIn, startKubelet } from '../../testing/kubelet-stand-in.ts';
import { requestUpgrade } from '../../testing/upgrade-client.ts';

const robots = '/apis/robots.example.com/v1/namespaces/default/robots';
const group = 'robots.example.com';
let server: TestServer | undefined;
let peer: KubeletStandIn | undefined;
afterEach(async () => {
  await server?.close();
  await peer?.close();
});

/** Returns a kind whose subresource "console" leads to the peer. */
function robotWithConsole(port: number): ResourceDefinition {
  const robot = schemaResource<KubernetesObject>({
    ...{ group, version: 'v1', kind: 'Robot', plural: 'robots' },
    schema: { type: 'object' },
  });
  const to = {
    scheme: 'http',
    host: '127.0.0.1',
    port,
    path: '/console',
    peer: 'anyone',
    upgrade: 'required',
  } as const;
  const console: ObjectSubresource<UnstructuredObject> = {
    ...{ type: 'object', name: 'console', kind: { group, version: 'v1', kind: 'RobotConsole' }, verbs: ['get'] },
    connect: { methods: ['GET'], queryOptions: {}, takesPath: false, connect: async () => to },
  };
  return { ...robot, subresources: [...robot.subresources, console] };
}

describe('a subresource that connects, of a kind of one’s own', () => {
  it.each(['SPDY/3.1', 'websocket', 'robot-protocol'])('may be upgraded to %s, for as long as it takes', async (to) => {
    peer = await startKubelet();
    const clock = new VirtualClock();
    server = await startTestServer(openLmdbEngine, { definitions: [robotWithConsole(peer.port)], clock });
    const client = await requestUpgrade(server.url, `${robots}/r/console`, {
      headers: ['Connection: Upgrade', `Upgrade: ${to}`],
    });
    expect(client.head).toContain(`101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\n`);
    // Requests that are not long-running end after a minute.
    await clock.advance(120_000);
    client.socket.write('later');
    await client.until('later');
    client.socket.end();
    expect(await client.closed).toBe('hello later');
  });

  it('is the only path of its kind at which an offer of another protocol counts', async () => {
    peer = await startKubelet();
    server = await startTestServer(openLmdbEngine, { definitions: [robotWithConsole(peer.port)] });
    for (const path of [`${robots}/r/exec`, `${robots}/r`, '/apis/robots.example.com/v1/watch']) {
      const client = await requestUpgrade(server.url, path);
      expect(client.head).toMatch(/^HTTP\/1\.1 (?:404|500) /);
      client.socket.destroy();
    }
    expect(peer.seen).toEqual([]);
  });
});
