import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';

let dataDir: string;
let controlPlane: ControlPlane;
const clients: Client[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-issuer-'));
  controlPlane = await start();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await controlPlane.close();
  await rm(dataDir, { recursive: true, force: true });
});

function start(options: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> {
  return startControlPlane({ dataDir, http: { drainMs: 100 }, ...options });
}

function clientOf(token: string): Client {
  const client = new Client({ server: controlPlane.url, token, tls: { ca: controlPlane.caCert } });
  clients.push(client);
  return client;
}

async function tokenOf(name: string): Promise<string> {
  const target = { namespace: 'default', name };
  await controlPlane.client.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: target });
  const admin = new Client(clientConfigOf(parseKubeconfig(controlPlane.kubeconfig)));
  clients.push(admin);
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: {} };
  const answer = await admin.createSubresource(ServiceAccount, { ...target, subresource: 'token' }, { body });
  return (answer as unknown as { status: { token: string } }).status.token;
}

describe('a service account', () => {
  it('comes in with its token, reads how it can be verified, and may do no more', async () => {
    const bot = clientOf(await tokenOf('bot'));
    const { body } = await bot.raw({ path: '/.well-known/openid-configuration' });
    const { jwks_uri: keys } = JSON.parse(body) as { jwks_uri: string };
    expect(keys).toBe(`${controlPlane.url}/openid/v1/jwks`);
    const answer = await bot.raw({ path: '/openid/v1/jwks', accept: 'application/jwk-set+json' });
    expect([answer.contentType, JSON.parse(answer.body)]).toMatchObject([
      'application/jwk-set+json',
      { keys: [{ alg: 'ES256', use: 'sig' }] },
    ]);
    await expect(bot.raw({ path: '/openid/v1/jwks', accept: 'application/json' })).rejects.toMatchObject({
      code: 406,
      message: '406: Not Acceptable\n\nAvailable representations: application/jwk-set+json',
    });
    await expect(bot.list(Pod, { namespace: 'default' })).rejects.toThrow(
      'User "system:serviceaccount:default:bot" cannot list resource "pods"',
    );
  });

  it('keeps its token over a restart: the key is in the data directory', async () => {
    const token = await tokenOf('bot');
    await controlPlane.close();
    controlPlane = await start();
    expect((await clientOf(token).raw({ path: '/version' })).status).toBe(200);
    await expect(clientOf(`${token.slice(0, -4)}AAAA`).raw({ path: '/version' })).rejects.toThrow('Unauthorized');
  });

  it('comes in with a token for the audiences and of the issuers that the server was told, and no other', async () => {
    const old = await tokenOf('bot');
    await controlPlane.close();
    const issuers = ['https://new.example', 'https://kubernetes.default.svc.cluster.local'];
    controlPlane = await start({ serviceAccounts: { issuers, apiAudiences: ['us', issuers[1] ?? ''] } });
    const bot = clientOf(old);
    const { body } = await bot.raw({ path: '/.well-known/openid-configuration' });
    expect(JSON.parse(body)).toMatchObject({ issuer: 'https://new.example' });
    const token = await tokenOf('other');
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ iss: 'https://new.example', aud: ['us', issuers[1]] });
    await controlPlane.close();
    controlPlane = await start({ serviceAccounts: { issuers, apiAudiences: ['us'] } });
    await expect(clientOf(old).raw({ path: '/version' })).rejects.toThrow('Unauthorized');
    expect((await clientOf(token).raw({ path: '/version' })).status).toBe(200);
  });
});
