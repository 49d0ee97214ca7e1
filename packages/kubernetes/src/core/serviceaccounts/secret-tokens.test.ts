import { createPrivateKey } from 'node:crypto';
import { type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import { FieldManager, InProcessClient, ObjectReader, objectPatching, ResourceCatalog } from '@kapstan/apiserver';
import { authenticateToken } from '@kapstan/apiserver/internal';
import { StoreFixture } from '@kapstan/apiserver/testing';
import { Secret, ServiceAccount } from '@kapstan/kinds/core/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { CompactSign, decodeJwt, decodeProtectedHeader } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtinResources } from '../../builtin-resources.ts';
import { SecretTokens, type SecretTokensOptions } from './secret-tokens.ts';
import { generateSigningKey, ServiceAccountTokens } from './service-account-tokens.ts';

const signingKey = generateSigningKey();
const lastUsed = 'kubernetes.io/legacy-token-last-used';
const invalidSince = 'kubernetes.io/legacy-token-invalid-since';
const target = { namespace: 'default', name: 'bot-token' };
const account = { namespace: 'default', name: 'bot' };
const prefix = 'kubernetes.io/serviceaccount/';

let fixture: StoreFixture;
let client: ResourceClient;
let issuer: ServiceAccountTokens;
let tokens: SecretTokens;
let token: string;
let accountUid: string;

function openTokens(more: Partial<SecretTokensOptions> = {}): void {
  tokens = new SecretTokens({ ...ports, signatures: issuer.signatures, ...more });
}
let ports: Omit<SecretTokensOptions, 'signatures'>;

beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  const { clock } = fixture;
  await clock.advance(Date.parse('2026-03-01T23:00:00Z') - clock.now());
  const catalog = new ResourceCatalog();
  const kinds = new Set(['secrets', 'serviceaccounts']);
  for (const definition of builtinResources().filter(({ resource }) => kinds.has(resource))) {
    catalog.install({ definition, store: fixture.store(definition) });
  }
  client = new InProcessClient({ catalog, clock, patching: objectPatching(new FieldManager({ clock })) });
  const reader = new ObjectReader(catalog);
  ports = { apiAudiences: ['api'], reader, client, clock, logger: silentLogger };
  issuer = new ServiceAccountTokens({ issuer: 'https://i', apiAudiences: ['api'], reader, clock, signingKey });
  openTokens();
  accountUid = (await client.create(ServiceAccount, { metadata: account })).metadata?.uid ?? '';
  token = await issuer.issueForSecret({ namespace: 'default', secret: 'bot-token', account: 'bot', accountUid });
  await keep(token);
});
afterEach(() => fixture.close());

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const keep = async (text: string, labels: Readonly<Record<string, string>> = {}): Promise<Secret> =>
  client.create(Secret, {
    metadata: { ...target, labels, annotations: { 'kubernetes.io/service-account.name': 'bot' } },
    type: 'kubernetes.io/service-account-token',
    data: { token: base64(text) },
  });
const shown = (): Promise<Secret> => client.get(Secret, target);
const label = async (labels: Readonly<Record<string, string | null>>): Promise<unknown> =>
  client.patch(Secret, target, { type: 'merge', body: { metadata: { labels } } });

async function verdict(text: string = token, audiences: readonly string[] = ['api']): Promise<string> {
  const result = await tokens.authenticateToken(text, audiences);
  return result.type === 'refused' ? result.error : result.type;
}

/** Signs claims with some changes, as a server does. */
function signed(changes: Readonly<Record<string, unknown>>, key: string = signingKey): Promise<string> {
  const claims = Buffer.from(JSON.stringify({ ...decodeJwt(token), ...changes }));
  return new CompactSign(claims).setProtectedHeader({ alg: 'ES256' }).sign(createPrivateKey(key));
}

describe('a token that is kept in a Secret', () => {
  it('says whose it is and where it is kept, and has no end', () => {
    expect(decodeJwt(token)).toEqual({
      iss: 'kubernetes/serviceaccount',
      [`${prefix}namespace`]: 'default',
      [`${prefix}secret.name`]: 'bot-token',
      [`${prefix}service-account.name`]: 'bot',
      [`${prefix}service-account.uid`]: accountUid,
      sub: 'system:serviceaccount:default:bot',
    });
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', kid: issuer.signatures.keys[0]?.id });
  });

  it('lets its account in, for the audiences of the server alone', async () => {
    expect(await tokens.authenticateToken(token, ['x', 'api'])).toEqual({
      type: 'accepted',
      audiences: ['api'],
      user: {
        name: 'system:serviceaccount:default:bot',
        uid: accountUid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default'],
      },
    });
    expect(await verdict(token, ['x'])).toBe('token audiences ["api"] is invalid for the target audiences ["x"]');
    // The token is accepted a year later too, because it does not expire.
    await fixture.clock.advance(366 * 86_400_000);
    expect(await verdict()).toBe('accepted');
  });

  it('is for whom it says, if it says so', async () => {
    const named = await signed({ aud: 'x' });
    await client.delete(Secret, target);
    await keep(named);
    expect(await verdict(named, ['x'])).toBe('accepted');
    expect(await verdict(named)).toBe('token audiences ["x"] is invalid for the target audiences ["api"]');
  });

  it('is told from tokens of the other kind, of which each authenticator leaves the other its own', async () => {
    const other = await signed({ iss: 'https://i' });
    expect(await verdict(other)).toBe('unknown');
    expect(await issuer.authenticateToken(token, ['api'])).toEqual({ type: 'unknown' });
    const both = { authenticators: [tokens, issuer], apiAudiences: ['api'] };
    expect(await authenticateToken(both, token)).toMatchObject({ type: 'accepted' });
  });

  it('is one that a key of the server signed', async () => {
    const forged = await signed({}, generateSigningKey());
    expect(await verdict(forged)).toBe('the signature of the token is not valid');
  });

  it.each([
    ['sub', '', 'sub claim is missing'],
    [`${prefix}namespace`, '', 'namespace claim is missing'],
    [`${prefix}secret.name`, undefined, 'secretName claim is missing'],
    [`${prefix}service-account.name`, 7, 'serviceAccountName claim is missing'],
    [`${prefix}service-account.uid`, '', 'serviceAccountUID claim is missing'],
    ['sub', 'system:serviceaccount:default:other', 'sub claim is invalid'],
    ['sub', 'system:serviceaccount:other:bot', 'sub claim is invalid'],
    [`${prefix}secret.name`, 'another', 'Token has been invalidated'],
    [`${prefix}service-account.uid`, 'another', "Token does not match server's copy"],
  ])('is refused when its claim %s is %j', async (claim, value, error) => {
    expect(await verdict(await signed({ [claim]: value }))).toBe(error);
  });

  it('ends with its Secret, also while finalizers keep that', async () => {
    await client.patch(Secret, target, { type: 'merge', body: { metadata: { finalizers: ['example.com/hold'] } } });
    await client.delete(Secret, target);
    expect(await verdict()).toBe('Token has been invalidated');
    await client.patch(Secret, target, { type: 'merge', body: { metadata: { finalizers: [] } } });
    expect(await verdict()).toBe('Token has been invalidated');
  });

  it('ends when the Secret holds another', async () => {
    await client.patch(Secret, target, { type: 'merge', body: { data: { token: base64(`${token}x`) } } });
    expect(await verdict()).toBe("Token does not match server's copy");
  });

  it('ends with its account, also while finalizers keep that, and when there is a new one of that name', async () => {
    const hold = (finalizers: string[]) =>
      client.patch(ServiceAccount, account, { type: 'merge', body: { metadata: { finalizers } } });
    await hold(['example.com/hold']);
    await client.delete(ServiceAccount, account);
    expect(await verdict()).toBe('ServiceAccount default/bot has been deleted');
    await hold([]);
    expect(await verdict()).toBe('serviceaccounts "bot" not found');
    const again = await client.create(ServiceAccount, { metadata: account });
    expect(await verdict()).toBe(`ServiceAccount UID (${again.metadata?.uid}) does not match claim (${accountUid})`);
  });
});

describe('the use of a token', () => {
  /** Returns the remarks of authenticators about the token. */
  const remarksOn = async (text: string): Promise<{ warnings: string[]; annotations: Record<string, string> }> => {
    const said = { warnings: [] as string[], annotations: {} as Record<string, string> };
    await tokens.authenticateToken(text, ['api'], {
      warn: (warning) => void said.warnings.push(warning),
      annotate: (key, value) => {
        said.annotations[key] = value;
      },
    });
    return said;
  };
  const annotation = 'authentication.k8s.io/legacy-token';
  const subject = { [annotation]: 'system:serviceaccount:default:bot' };

  it('stands in the audit log: whose token, and that somebody asked for its Secret', async () => {
    const manual = { [`${annotation}-manual-secret`]: 'bot-token' };
    expect(await remarksOn(token)).toEqual({ warnings: [], annotations: { ...subject, ...manual } });
  });

  it('is warned of where the Secret was made with the account', async () => {
    await client.patch(ServiceAccount, account, { type: 'merge', body: { secrets: [{ name: 'bot-token' }] } });
    expect(await remarksOn(token)).toEqual({
      warnings: [
        'Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.',
      ],
      annotations: { ...subject, [`${annotation}-autogenerated-secret`]: 'bot-token' },
    });
  });

  it('stands in the audit log when it was marked invalid, and not when the token is none', async () => {
    await label({ [invalidSince]: '2026-02-01' });
    const invalidated = { [`${annotation}-invalidated`]: 'bot-token/default' };
    expect(await remarksOn(token)).toEqual({ warnings: [], annotations: { ...subject, ...invalidated } });
    const forged = await signed({}, generateSigningKey());
    expect(await remarksOn(forged)).toEqual({ warnings: [], annotations: {} });
  });

  it('is noted in its Secret, once a day', async () => {
    await verdict();
    const first = await shown();
    expect(first.metadata?.labels).toEqual({ [lastUsed]: '2026-03-01' });
    await verdict();
    expect((await shown()).metadata?.resourceVersion).toBe(first.metadata?.resourceVersion);
    await fixture.clock.advance(3_600_000);
    await verdict();
    expect((await shown()).metadata?.labels).toEqual({ [lastUsed]: '2026-03-02' });
  });

  it('stays as it is noted where the day has begun elsewhere, and nowhere else', async () => {
    for (const [noted, expected] of [
      ['2026-03-02', '2026-03-02'],
      ['2026-03-03', '2026-03-01'],
      ['', '2026-03-01'],
    ] as const) {
      await label({ [lastUsed]: noted });
      await verdict();
      expect((await shown()).metadata?.labels).toEqual({ [lastUsed]: expected });
    }
  });

  it('is counted, by what became of it', async () => {
    const counts = (): number[] => tokens.metrics.map(({ samples: [sample] }) => Number(sample?.value));
    await verdict();
    await client.patch(ServiceAccount, account, { type: 'merge', body: { secrets: [{ name: 'bot-token' }] } });
    await verdict();
    await verdict();
    await label({ [invalidSince]: '2026-02-01' });
    await verdict();
    await verdict(await signed({}, generateSigningKey()));
    expect(counts()).toEqual([4, 1, 2, 1]);
    await client.delete(Secret, target);
    await verdict();
    expect(counts()).toEqual([5, 1, 2, 1]);
  });

  it('is not noted when the token is refused', async () => {
    await client.delete(ServiceAccount, account);
    await verdict();
    expect((await shown()).metadata?.labels).toBeUndefined();
  });

  it('is noted and refused where the token was marked invalid, until somebody takes the mark away', async () => {
    await label({ [invalidSince]: '2026-02-01' });
    expect(await verdict()).toBe(
      "the token in secret default/bot-token for service account default/bot has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the 'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token",
    );
    expect((await shown()).metadata?.labels).toMatchObject({ [lastUsed]: '2026-03-01' });
    await label({ [invalidSince]: null });
    expect(await verdict()).toBe('accepted');
  });

  it('needs no note to be good: what cannot be written is told the log', async () => {
    const errors: (LogFields | undefined)[] = [];
    const logger = { ...silentLogger, error: (_text: string, fields?: LogFields) => void errors.push(fields) };
    const refusing = { patch: () => Promise.reject(new Error('the disk is full')) };
    openTokens({ client: refusing, logger });
    expect(await verdict()).toBe('accepted');
    expect(errors).toEqual([{ ...target, error: 'Error: the disk is full' }]);
  });
});
