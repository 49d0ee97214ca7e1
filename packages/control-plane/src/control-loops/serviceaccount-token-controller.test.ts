import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as streamText } from 'node:stream/consumers';
import { isNotFound, type ResourceClient } from '@kapstan/api';
import { Secret, ServiceAccount } from '@kapstan/kinds/core/v1';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';

const namespace = 'default';
const controlLoops = ['serviceaccount-token'];
let dataDir: string;
let plane: ControlPlane;
let client: ResourceClient;

/** Waits in real time, because stores and sockets are real. */
const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 10_000, interval: 5 });

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-tokens-'));
  plane = await startControlPlane({ dataDir, http: 'off' });
  client = plane.client;
  await createAccount('early');
  await createSecret('early-token', 'early');
  await serve();
});
afterAll(async () => {
  await plane.close();
  await rm(dataDir, { recursive: true });
});

const serve = async (): Promise<void> => {
  await plane.close();
  plane = await startControlPlane({ dataDir, http: { drainMs: 100 }, controlLoops });
  client = plane.client;
};

const createAccount = (name: string): Promise<ServiceAccount> =>
  client.create(ServiceAccount, { metadata: { namespace, name } });
const createSecret = (name: string, account: string, more: Partial<Secret> = {}): Promise<Secret> => {
  const annotations = { 'kubernetes.io/service-account.name': account, ...more.metadata?.annotations };
  const type = 'kubernetes.io/service-account-token';
  return client.create(Secret, { type, ...more, metadata: { namespace, name, annotations } });
};
const get = (name: string): Promise<Secret> => client.get(Secret, { namespace, name });
const filled = (name: string): Promise<Secret> =>
  eventually(async () => {
    const secret = await get(name);
    expect(secret.data?.token).toBeDefined();
    return secret;
  });
const gone = (name: string): Promise<void> =>
  eventually(() => expect(get(name)).rejects.toSatisfy(isNotFound) as Promise<void>);
const text = (secret: Secret, key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString();

function metrics(): Promise<string> {
  const headers = { authorization: `Bearer ${plane.token}` };
  return new Promise((resolve, reject) => {
    const sent = request(new URL('/metrics', plane.url), { ca: plane.caCert, headers, agent: false }, (answer) =>
      resolve(streamText(answer)),
    );
    sent.on('error', reject);
    sent.end();
  });
}

/** Asks the server for the user of this token. */
function ask(token: string): Promise<{ readonly status: number; readonly user: unknown }> {
  const url = new URL('/apis/authentication.k8s.io/v1/selfsubjectreviews', plane.url);
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', ca: plane.caCert, headers, agent: false }, async (answer) => {
      const chunks = await answer.toArray();
      const { status } = JSON.parse(Buffer.concat(chunks).toString()) as { status: { userInfo?: unknown } };
      resolve({ status: answer.statusCode ?? 0, user: status.userInfo });
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

describe('serviceaccount-token-controller', () => {
  it('fills a Secret with a token that lets the account in, over HTTPS, and whose use is noted', async () => {
    const account = await createAccount('bot');
    await createSecret('bot-token', 'bot', { data: { mine: 'eA==' } });
    const secret = await filled('bot-token');
    expect(text(secret, 'ca.crt')).toBe(plane.caCert);
    expect(text(secret, 'namespace')).toBe(namespace);
    expect(secret.data?.mine).toBe('eA==');
    const uid = account.metadata?.uid;
    expect(secret.metadata?.annotations).toEqual({
      'kubernetes.io/service-account.name': 'bot',
      'kubernetes.io/service-account.uid': uid,
    });
    expect(await ask(text(secret, 'token'))).toEqual({
      status: 201,
      user: {
        username: 'system:serviceaccount:default:bot',
        uid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      },
    });
    expect((await get('bot-token')).metadata?.labels).toEqual({
      'kubernetes.io/legacy-token-last-used': expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
  });

  it('takes tokens away with their account, which has no use of them any more, and those of no other', async () => {
    await createAccount('leaving');
    await createAccount('staying');
    for (const [name, account] of [
      ['leaving-token', 'leaving'],
      ['staying-token', 'staying'],
    ] as const) {
      await createSecret(name, account);
    }
    const [left, stayed] = [await filled('leaving-token'), await filled('staying-token')];
    await createSecret('leaving-notes', 'leaving', { type: 'Opaque' });
    await client.delete(ServiceAccount, { namespace, name: 'leaving' });
    await gone('leaving-token');
    // The server reads accounts from its cache, which may lag a moment.
    await eventually(async () => expect((await ask(text(left, 'token'))).status).toBe(401));
    expect((await ask(text(stayed, 'token'))).status).toBe(201);
    await expect(get('leaving-notes')).resolves.toBeDefined();
  });

  it('removes a Secret for an account that is not there, or is another by now', async () => {
    await createSecret('nobody-token', 'nobody');
    await gone('nobody-token');
    await createAccount('again');
    const annotations = { 'kubernetes.io/service-account.uid': 'the-one-before' };
    await createSecret('again-old', 'again', { metadata: { annotations } });
    await createSecret('again-new', 'again');
    await gone('again-old');
    await filled('again-new');
  });

  it.each(['a/b', '..', '%', 'A_'])(
    'removes a Secret for the account %j, which no account can be named',
    async (account) => {
      await createSecret('impossible-token', account);
      await gone('impossible-token');
    },
  );

  it('puts back what was changed beside the token, and makes a new token where it was taken away', async () => {
    await createAccount('mended');
    await createSecret('mended-token', 'mended');
    const { token } = (await filled('mended-token')).data ?? {};
    const target = { namespace, name: 'mended-token' };
    const expected = { 'ca.crt': plane.caCert, namespace };
    for (const [key, value] of [
      ['ca.crt', 'eA=='],
      ['namespace', null],
    ] as const) {
      await client.patch(Secret, target, { type: 'merge', body: { data: { [key]: value } } });
      await eventually(async () => expect(text(await get('mended-token'), key)).toBe(expected[key]));
    }
    expect((await get('mended-token')).data?.token).toBe(token);
    await client.patch(Secret, target, { type: 'merge', body: { data: { token: null } } });
    expect((await ask(text(await filled('mended-token'), 'token'))).status).toBe(201);
  });

  it('takes the name of a Secret that is gone out of its account, and no other', async () => {
    await createAccount('referring');
    await createSecret('referring-token', 'referring');
    await filled('referring-token');
    const target = { namespace, name: 'referring' };
    const secrets = [{ name: 'referring-token' }, { name: 'another' }];
    await client.patch(ServiceAccount, target, { type: 'merge', body: { secrets } });
    await client.delete(Secret, { namespace, name: 'referring-token' });
    await eventually(async () =>
      expect((await client.get(ServiceAccount, target)).secrets).toEqual([{ name: 'another' }]),
    );
  });

  it('fills what was there before it', async () => {
    expect((await ask(text(await filled('early-token'), 'token'))).status).toBe(201);
  });

  it('makes tokens whose uses stand in /metrics', async () => {
    await ask(text(await filled('early-token'), 'token'));
    expect(await metrics()).toMatch(/^serviceaccount_legacy_manual_token_uses_total [1-9]/m);
  });

  it('goes on from where it was when the server comes back, whose key is the same', async () => {
    const before = await filled('early-token');
    await serve();
    expect((await ask(text(before, 'token'))).status).toBe(201);
    expect((await get('early-token')).data).toEqual(before.data);
  });
});
