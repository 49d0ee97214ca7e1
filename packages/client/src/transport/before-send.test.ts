import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type KubernetesObject, resource } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testAuthority } from '../testing/certificates.ts';
import { json, ScriptedServer } from '../testing/scripted-server.ts';
import { WireClient as Client } from '../testing/wire-client.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const target = { name: 'a' };
const pod = { name: 'a', namespace: 'b' };

type Call = (client: Client, beforeAttempt: () => void) => Promise<unknown>;

const calls: readonly (readonly [string, Call])[] = [
  ['a create', (client, beforeAttempt) => client.create(Node, { metadata: target }, { beforeAttempt })],
  ['a get', (client, beforeAttempt) => client.get(Node, target, { beforeAttempt })],
  ['a raw request', (client, beforeAttempt) => client.raw({ method: 'POST', path: '/x', beforeAttempt })],
  ['a raw stream', (client, beforeAttempt) => client.rawStream({ method: 'POST', path: '/x', beforeAttempt })],
  ['a log', (client, beforeAttempt) => client.podLog(pod, { beforeAttempt })],
  ['a command', (client, beforeAttempt) => client.exec(pod, { command: ['x'], beforeAttempt })],
  ['an attachment', (client, beforeAttempt) => client.attach(pod, { beforeAttempt })],
  ['a port', (client, beforeAttempt) => client.dialPort(pod, 80, { beforeAttempt })],
  ['forwarded ports', (client, beforeAttempt) => client.portForward(pod, { ports: [80], beforeAttempt })],
  ['metadata', (client, beforeAttempt) => client.metadata.get(Node, target, { beforeAttempt })],
];

describe('the look before an attempt', () => {
  let server: ScriptedServer;
  let relay: Server;
  let client: Client;
  /** Lets the next connection through to the server, once a client has dialled. */
  let dialled: Promise<() => void>;
  const sockets = new Set<Socket>();
  beforeEach(async () => {
    const authority = await testAuthority();
    server = await ScriptedServer.start(await authority.issue('server', ['127.0.0.1']));
    server.always(json({ kind: 'Node', apiVersion: 'v1', metadata: target }));
    const { port } = new URL(server.url);
    let tell: (open: () => void) => void = () => undefined;
    dialled = new Promise((resolve) => (tell = resolve));
    relay = createServer((outer) => {
      const inner = connect(Number(port), '127.0.0.1');
      for (const socket of [outer, inner]) {
        sockets.add(socket);
        socket.on('error', () => undefined);
      }
      outer.on('close', () => inner.destroy());
      const open = (): void => void outer.pipe(inner).pipe(outer);
      if (sockets.size > 2) open();
      else tell(open);
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(relay.address() as AddressInfo).port}`;
    client = new Client({ server: url, tls: { ca: authority.ca } });
  });
  afterEach(async () => {
    await client.close();
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await new Promise((resolve) => relay.close(resolve));
    await server[Symbol.asyncDispose]();
  });

  it.each(calls)(
    'of %s comes when its connection stands: what ceased to be allowed meanwhile is not sent',
    async (_, call) => {
      let isAllowed = true;
      const refusal = Object.assign(new Error('leads no more'), { code: 'ECONNRESET' });
      const outcome = call(client, () => {
        if (!isAllowed) throw refusal;
      }).catch((error: unknown) => error);
      const open = await dialled;
      isAllowed = false;
      open();
      expect(await outcome).toBe(refusal);
      await client.get(Node, { name: 'next' });
      expect(server.requests.map(({ path }) => path)).toEqual(['/api/v1/nodes/next']);
    },
  );

  it('leaves the connection to the next call when it refuses, whatever it throws', async () => {
    const refused = client.get(Node, target, {
      beforeAttempt: () => {
        // biome-ignore lint/style/useThrowOnlyError: whoever is asked may throw whatever they like
        throw undefined;
      },
    });
    const outcome = refused.then(
      () => 'answered',
      (error: unknown) => error,
    );
    (await dialled)();
    expect(await outcome).toBeUndefined();
    await client.get(Node, target);
    expect([server.connections, server.requests.length]).toEqual([1, 1]);
  });
});
