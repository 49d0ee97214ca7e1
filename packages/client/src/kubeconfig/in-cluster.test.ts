import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubernetesObject, type LogFields, resource, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import { type TestAuthority, testAuthority } from '../testing/certificates.ts';
import { inClusterConfig } from './in-cluster.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const target = { name: 'a' };

describe("a client by a pod's service account", () => {
  let directory: string;
  let server: Server;
  const heard: (string | undefined)[] = [];
  const mount = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text);
  const certificateBy = (authority: TestAuthority) => authority.issue('server', ['127.0.0.1']);
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-in-cluster-'));
    heard.length = 0;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true });
  });

  it('follows the tokens and authorities that are mounted, without a restart', async () => {
    const [first, second] = [await testAuthority(), await testAuthority()];
    server = createServer(await certificateBy(first), (request, response) => {
      heard.push(request.headers.authorization);
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
      response.end('{"kind":"Node","apiVersion":"v1"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await mount('token', 'one\n');
    await mount('ca.crt', first.ca);
    const env = {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String((server.address() as AddressInfo).port),
    };
    const clock = new VirtualClock();
    await using client = new Client(await inClusterConfig({ env, directory }), { clock, logger: silentLogger });
    await client.get(Node, target);
    await mount('token', 'two\n');
    await mount('ca.crt', second.ca);
    server.setSecureContext(await certificateBy(second));
    await expect(client.get(Node, target)).rejects.toMatchObject({ name: 'TransportError' });
    // Both files have been re-read by then.
    await clock.advance(60_000);
    await client.get(Node, target);
    expect(heard).toEqual(['Bearer one', 'Bearer two']);
  });
});

describe('the root certificates of a service account', () => {
  let directory: string;
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
  const caFile = (): string => join(directory, 'ca.crt');
  const load = async () => {
    const told: [string, unknown][] = [];
    const logger = {
      ...silentLogger,
      error: (text: string, fields?: LogFields) => void told.push([text, fields?.error]),
    };
    return { config: await inClusterConfig({ env, directory, logger }), told };
  };
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-in-cluster-'));
    await writeFile(join(directory, 'token'), 'one');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['a text', 'not yet mounted'],
    ['half a certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'],
  ])('are told of by the name of their file, and left out, where they are %s', async (_, text) => {
    if (text !== undefined) await writeFile(caFile(), text);
    const { config, told } = await load();
    const message = `cannot use the root certificates of the service account in ${caFile()}, continuing without them`;
    expect(told).toEqual([[message, expect.any(Error)]]);
    expect(config).toMatchObject({ server: 'https://10.0.0.1:443', token: 'one' });
    expect(config).not.toHaveProperty('tls');
    // As in client-go, such a configuration works and trusts the public authorities.
    const client = new Client(config, { logger: silentLogger });
    await client.prepare();
    await client.close();
  });

  it('are used where they are certificates, whatever stands before them', async () => {
    await writeFile(caFile(), `# of the cluster\n${(await testAuthority()).ca}`);
    const { config, told } = await load();
    expect([config.tls, told]).toEqual([{ caFile: caFile() }, []]);
  });
});
