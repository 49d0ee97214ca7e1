// The texts are recorded from a kube-apiserver 1.36.3.
import type { UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition } from '@kapstan/apiserver';
import { GenericStore } from '@kapstan/apiserver';
import { refusal, StoreFixture, selfSigned, signedRequest, testContext } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtinResources } from '../../builtin-resources.ts';
import { pemBlocks } from './pem-blocks.ts';

let fixture: StoreFixture;
let definition: ResourceDefinition<UnstructuredObject>;
let store: GenericStore;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  const { clock } = fixture;
  definition = builtinResources({ clock }).find(({ resource }) => resource === 'certificatesigningrequests')!;
  store = new GenericStore({ definition, storage: fixture.storage(definition), clock });
});
afterEach(() => fixture.close());

/** {@link signedRequest} with another signature. */
const forged =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISU1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFltOWlNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUV1dlordTByUAovcllkWmt6NVB0NmU5bk1OaE40UDFMaTNTYXVEVHBsSkxRSU5UdGxRRkpwK0R4djZTelJGTEl0Q1VXMy9SWGtqSGV1UklTczhWVmRMCk9hQUFNQW9HQ0NxR1NNNDlCQU1DQTBnQU1FVUNJSEhJRi9uLzFnOFh0d1BBMnljRVRyUnZHNnh2S1Y4WGx0WCswMEZ0OWsza0FpRUEKOTBWOXhUc1BzQytGWGdMT2ZadWhzUzk4ekZvQkUzNjJpSCttUUxuOHRhTT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==';
const spec = { request: signedRequest, signerName: 'example.com/signer', usages: ['client auth'] };
const request = (name: string, more: object = {}): UnstructuredObject => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: { ...spec, ...more },
});
const alice = { name: 'alice', uid: 'u-1', groups: ['dev', 'system:authenticated'], extra: { scope: ['a', 'b'] } };
const create = (name: string, more: object = {}) =>
  store.create(testContext({ user: alice, namespace: '' }), request(name, more));
const complaint = async (call: Promise<unknown>): Promise<string> =>
  (await refusal(call)).message.replace('CertificateSigningRequest.certificates.k8s.io "a" is invalid: ', '');

/** Writes its status through an endpoint. */
const setStatus = (endpoint: 'status' | 'approval', status: object, more: object = {}) => {
  const part = definition.subresources.find(({ name }) => name === endpoint);
  if (part?.type !== 'strategy') throw new Error(`no ${endpoint}`);
  return store.update(testContext({ namespace: '' }), {
    name: 'a',
    subresource: endpoint,
    strategy: part.strategy,
    transform: (present) => ({ ...(present as UnstructuredObject), ...more, status }),
  });
};

describe('a request for a certificate', () => {
  it('is of who makes it, whatever it says', async () => {
    const claimed = { username: 'admin', uid: 'u-0', groups: ['system:masters'], extra: { scope: ['all'] } };
    const { object } = await create('Any-Name', claimed);
    expect(object.spec).toEqual({
      ...spec,
      username: 'alice',
      uid: 'u-1',
      groups: ['dev', 'system:authenticated'],
      extra: { scope: ['a', 'b'] },
    });
  });

  it('claims no uid and nothing extra for who has none', async () => {
    const user = { name: 'bob', groups: [] };
    const { object } = await store.create(testContext({ user, namespace: '' }), request('a', { uid: 'u', extra: {} }));
    expect(object.spec).toEqual({ ...spec, username: 'bob' });
  });

  it('asks for the same until it is gone', async () => {
    await create('a');
    const { stored } = await store.update(testContext({ namespace: '' }), {
      name: 'a',
      transform: () => ({
        ...request('a', { username: 'admin', signerName: 'example.com/other' }),
        metadata: { name: 'a', labels: { l: '1' } },
      }),
    });
    expect(stored.object).toMatchObject({
      metadata: { labels: { l: '1' } },
      spec: { username: 'alice', signerName: 'example.com/signer' },
    });
  });

  it('is found by its signer', async () => {
    await create('a');
    await create('b', { signerName: 'example.com/other' });
    const select = { fieldSelector: 'spec.signerName=example.com/other' };
    const { items } = await store.list(testContext({ namespace: '' }), select);
    expect(items.map((item) => item.object.metadata?.name)).toEqual(['b']);
  });

  const usages = `"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"`;
  const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
  it.each<[string, object, string]>([
    [
      'another signature',
      { request: forged },
      `spec.request: Invalid value: "${forged}": x509: ECDSA verification failure`,
    ],
    [
      'no PEM',
      { request: 'aGVsbG8=' },
      'spec.request: Invalid value: "aGVsbG8=": PEM block type must be CERTIFICATE REQUEST',
    ],
    ['nothing', { request: '' }, 'spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST'],
    ['no usage', { usages: [] }, 'spec.usages: Required value'],
    [
      'odd usages for too short a time',
      { usages: ['client auth', 'client auth', 'nope'], expirationSeconds: 5 },
      `[spec.usages[2]: Unsupported value: "nope": supported values: ${usages}, spec.usages[1]: Duplicate value: "client auth", spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)]`,
    ],
    ['no signer', { signerName: '' }, 'spec.signerName: Required value'],
    ['a signer without a domain', { signerName: 'nosl' }, `spec.signerName: Invalid value: "nosl": ${form}`],
    ['a signer of many parts', { signerName: 'ex.com/a/b' }, `spec.signerName: Invalid value: "ex.com/a/b": ${form}`],
    [
      'the old signer',
      { signerName: 'kubernetes.io/legacy-unknown' },
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
    [
      'a signer of a short domain',
      { signerName: 'a/b' },
      'spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots',
    ],
    [
      'a signer of an impossible name',
      { signerName: 'ex.com/A_b' },
      `spec.signerName: Invalid value: "A_b": validating label "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
  ])('with %s is refused', async (_what, more, message) => {
    expect(await complaint(create('a', more))).toBe(message);
  });
});

describe('the word about a request', () => {
  const approved = { type: 'Approved', status: 'True', reason: 'r' };
  beforeEach(() => create('a'));

  it('is said through /approval alone, dated, and lasts', async () => {
    expect(await complaint(setStatus('status', { conditions: [approved] }))).toBe(
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    );
    const dated = {
      ...approved,
      lastUpdateTime: '2026-01-01T00:00:00Z',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const certificate = 'aGVsbG8=';
    const { stored } = await setStatus('approval', { certificate, conditions: [approved] }, { spec: {} });
    expect(stored.object).toMatchObject({ spec: { username: 'alice' }, status: { conditions: [dated] } });
    expect(stored.object.status).not.toHaveProperty('certificate');
    const removed = 'status.conditions: Forbidden: updates may not remove a condition of type "Approved"';
    expect(await complaint(setStatus('approval', { conditions: [] }))).toBe(removed);
    const denied = { type: 'Denied', status: 'True' };
    expect(await complaint(setStatus('approval', { conditions: [denied] }))).toBe(removed);
    // Signers cannot change the approval and need not send it.
    const rewritten = await setStatus('status', { conditions: [{ ...approved, message: 'changed' }] });
    expect(rewritten.stored.object.status).toEqual({ conditions: [dated] });
  });

  it('tells all that is wrong with it', async () => {
    const conditions = [
      { type: 'Approved', status: 'False' },
      { type: 'Approved', status: 'True' },
      { type: 'Denied', status: 'True' },
      { type: '', status: '' },
      { type: 'X', status: 'Maybe' },
    ];
    expect(await complaint(setStatus('approval', { conditions }))).toBe(
      '[status.conditions[0].status: Unsupported value: "False": supported values: "True", status.conditions[1].type: Duplicate value: "Approved", status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive, status.conditions[3].type: Required value, status.conditions[3].status: Required value, status.conditions[4].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"]',
    );
  });
});

describe('the certificate of a request', () => {
  beforeEach(() => create('a'));

  it('is set through /status, has to be one, and stays', async () => {
    expect(await complaint(setStatus('status', { certificate: 'aGVsbG8=' }))).toBe(
      'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
    );
    const key = Buffer.from('-----BEGIN KEY-----\nYQ==\n-----END KEY-----\n').toString('base64');
    expect(await complaint(setStatus('status', { certificate: key }))).toBe(
      'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "KEY"',
    );
    const certificate = Buffer.from((await selfSigned('CN=bob')).cert).toString('base64');
    const { stored } = await setStatus('status', { certificate });
    expect(stored.object.status).toEqual({ certificate });
    const other = Buffer.from((await selfSigned('CN=eve')).cert).toString('base64');
    expect(await complaint(setStatus('status', { certificate: other }))).toBe(
      'status.certificate: Forbidden: updates may not modify existing certificate content',
    );
  });
});

describe('the blocks of a PEM text', () => {
  const block = (type: string, body: string): string => `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`;

  it('are found among other things, with and without headers', () => {
    const text = `hello\n${block('A', 'YQ==')}between\n${block('B', 'x: y\n\nYg\n==')}${block('C', '!')}-----BEGIN D-----\n`;
    expect(pemBlocks(text).map(({ type, hasHeaders, der }) => [type, hasHeaders, der.toString()])).toEqual([
      ['A', false, 'a'],
      ['B', true, 'b'],
    ]);
    expect(pemBlocks('-----BEGIN A-----\nYQ==\n-----END B-----\n')).toEqual([]);
  });

  it.each([
    ['beginnings without end', '-----BEGIN A-----\n'.repeat(80_000)],
    ['beginnings before one end', `${'-----BEGIN A-----\n'.repeat(80_000)}-----END B-----`],
    ['blanks before what is no base64', block('A', `${' '.repeat(1_400_000)}!`)],
    ['ends without beginning', '\n-----END A-----'.repeat(80_000)],
    ['headers and nothing else', block('A', 'a:\n'.repeat(400_000))],
  ])('take no longer than their length asks for: %s', (_what, text) => {
    expect(pemBlocks(text).every(({ der }) => der.length === 0)).toBe(true);
  });
});
