import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { InProcessClient } from '@kapstan/apiserver';
import { CertificateSigningRequest } from '@kapstan/kinds/certificates.k8s.io/v1';
import { MemoryEngine } from '@kapstan/storage';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AuthorizationMode } from './authorization/authorization-settings.ts';
import { openResources, type Resources } from './resources.ts';
import { singleEngine } from './testing/single-engine.ts';

/** Base64 of the PEM of a request for CN=bob, made by openssl. */
const request =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISU1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFltOWlNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRApRZ0FFdXZaK3UwclAvcllkWmt6NVB0NmU5bk1OaE40UDFMaTNTYXVEVHBsSkxRSU5UdGxRRkpwK0R4djZTelJGCkxJdENVVzMvUlhrakhldVJJU3M4VlZkTE9hQUFNQW9HQ0NxR1NNNDlCQU1DQTBnQU1FVUNJSEhJRi9uLzFnOFgKdHdQQTJ5Y0VUclJ2RzZ4dktWOFhsdFgrMDBGdDlrM2tBaUVBOTBWOXhUc1BzQytGWGdMT2ZadWhzUzk4ekZvQgpFMzYyaUgrbVFMbXB0YU09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=';
const alice = { name: 'alice', groups: ['system:authenticated'] };
let clock: VirtualClock;
let engine: MemoryEngine;
let resources: Resources | undefined;

beforeEach(() => {
  clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
});
afterEach(async () => {
  await resources?.close();
  await engine.close();
});

it.each<[AuthorizationMode, string]>([
  [
    'RBAC',
    'certificatesigningrequests.certificates.k8s.io "a" is forbidden: user not permitted to approve requests with signerName "example.com/some"',
  ],
  ['AlwaysAllow', 'approved'],
])('asks the authorizer of the server who may approve certificates: %s', async (mode, expected) => {
  const access = { authorization: [mode] };
  resources = await openResources(singleEngine(engine), { clock, logger: silentLogger, access });
  const made = await resources.client.create(CertificateSigningRequest, {
    metadata: { name: 'a' },
    spec: { request, signerName: 'example.com/some', usages: ['client auth'] },
  });
  const condition = { type: 'Approved', status: 'True', reason: 'r', message: '' };
  const next: CertificateSigningRequest = { ...made, status: { conditions: [condition] } };
  const approve = (user?: typeof alice): Promise<string> =>
    new InProcessClient({ catalog: resources!.catalog, clock, ...(user && { user }) })
      .update(CertificateSigningRequest, next, { subresource: 'approval', dryRun: true })
      .then(
        () => 'approved',
        (error: unknown) => (error as Error).message,
      );
  expect(await approve(alice)).toBe(expected);
  expect(await approve()).toBe('approved');
});
