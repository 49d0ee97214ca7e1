import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@kapstan/api';
import { selfSigned } from '@kapstan/apiserver/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { webhookOfKubeconfig } from './webhook-kubeconfig.ts';

let folder: string;
let nowMs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-webhook-'));
  nowMs = 0;
});
afterEach(() => rm(folder, { recursive: true }));

const clock = { ...systemClock, monotonicNow: () => nowMs };

async function read(cluster: object, user: object = {}): ReturnType<typeof webhookOfKubeconfig> {
  const path = join(folder, 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(path, JSON.stringify(config));
  return webhookOfKubeconfig(path, { what: 'a token webhook', clock });
}

describe('the kubeconfig of a webhook', () => {
  it('says where it listens, whom to trust, and who the server is', async () => {
    const [one, two] = [await selfSigned('CN=one'), await selfSigned('CN=two')];
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    const target = await read(
      {
        server: 'https://hook:8443/ask/',
        'certificate-authority': await file('ca', 'ca'),
        'tls-server-name': 'other',
      },
      { 'client-certificate': await file('cert', one.cert), 'client-key': await file('key', one.key) },
    );
    expect(target).toMatchObject({
      url: 'https://hook:8443/ask',
      caBundle: 'ca',
      identity: { serverName: 'other' },
    });
    const shown = async (): Promise<unknown> => target.identity?.certificate?.();
    expect(await shown()).toEqual(one);
    await file('cert', two.cert);
    nowMs = 300_000;
    // A certificate with the old key is not presented.
    expect(await shown()).toEqual(one);
    await file('key', two.key);
    expect(await shown()).toEqual(two);
  });

  it('has credentials, and reads a file with a token again after 50 s, while it can', async () => {
    const basic = await read({ server: 'https://hook' }, { username: 'me', password: 'pw' });
    expect(await basic.identity?.authorization?.()).toBe(`Basic ${Buffer.from('me:pw').toString('base64')}`);
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'one\n');
    const { identity } = await read({ server: 'https://hook' }, { tokenFile });
    expect(await identity?.authorization?.()).toBe('Bearer one');
    await writeFile(tokenFile, 'two');
    nowMs = 49_999;
    expect(await identity?.authorization?.()).toBe('Bearer one');
    nowMs = 50_000;
    expect(await identity?.authorization?.()).toBe('Bearer two');
    await writeFile(tokenFile, '');
    nowMs = 100_000;
    expect(await identity?.authorization?.()).toBe('Bearer two');
    await rm(tokenFile);
    nowMs = 200_000;
    expect(await identity?.authorization?.()).toBe('Bearer two');
  });

  it.each([
    [{ server: 'http://hook' }, {}, 'a server without https'],
    [
      { server: 'https://hook' },
      { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'x', interactiveMode: 'Never' } },
      'an exec plug-in',
    ],
    [{ server: 'https://hook' }, { as: 'somebody' }, 'impersonation'],
    [{ server: 'https://hook', 'proxy-url': 'http://proxy' }, {}, 'a proxy-url'],
  ])('is refused when it asks for what is not built: %j %j', async (cluster, user, what) => {
    await expect(read(cluster, user)).rejects.toThrow(`${what} in the kubeconfig of a token webhook is not supported`);
  });
});
