import { X509Certificate } from 'node:crypto';
import { systemClock } from '@kapstan/api';
import { beforeAll, expect, it } from 'vitest';
import { createIssuer } from '../certificates/index.ts';
import {
  type CertificateState,
  type CertificateTimes,
  hostsToIssue,
  maxHosts,
  type PlanInputs,
  planCertificates,
} from './certificate-plan.ts';

const minute = 60_000;
const times: CertificateTimes = {
  authorityMs: 1000 * minute,
  authorityRenewBeforeMs: 100 * minute,
  servingMs: 500 * minute,
  servingRenewBeforeMs: 50 * minute,
  overlapMs: 5 * minute,
};
const hosts = ['hook.demo.svc'];
// Certificates have whole seconds.
const startMs = Math.trunc(systemClock.now() / 1000) * 1000;

interface Made {
  readonly cert: string;
  readonly key: string;
  serving(atMs: number): Promise<CertificateState['serving']>;
}

async function authority(atMs: number): Promise<Made> {
  const issuer = await createIssuer(undefined, { nowMs: startMs + atMs, lifetimeMs: times.authorityMs });
  const serving = (at: number) =>
    issuer.issue({ commonName: 'x', hosts, usage: 'server', nowMs: startMs + at, lifetimeMs: times.servingMs });
  return { ...issuer.authority, serving };
}

let one: Made;
let two: Made;
let first: CertificateState;
beforeAll(async () => {
  one = await authority(0);
  two = await authority(900 * minute);
  first = { bundle: one.cert, authorityKey: one.key, serving: await one.serving(0) };
});

const plan = (state: CertificateState | undefined, atMs: number, changes: Partial<PlanInputs> = {}): string => {
  const inputs = { nowMs: startMs + atMs, hosts, times, trustedSinceMs: startMs + 900 * minute, ...changes };
  const { action, dueMs } = planCertificates(state, inputs);
  return action === 'nothing' ? `nothing until ${(dueMs - startMs) / minute}` : action;
};

it('makes everything where there is nothing that can be used', async () => {
  expect(plan(undefined, 0)).toBe('replace');
  expect(plan({ ...first, authorityKey: two.key }, 0)).toBe('replace');
  expect(plan({ ...first, serving: await two.serving(0) }, 0)).toBe('replace');
  expect(plan({ ...first, bundle: 'no PEM' }, 0)).toBe('replace');
  expect(plan({ ...first, serving: { cert: 'x', key: 'y' } }, 0)).toBe('replace');
  expect(plan(first, 1000 * minute)).toBe('replace');
});

it('renews the serving certificate in time, when a name is missing, and at the latest when it is over', () => {
  expect(plan(first, 0)).toBe('nothing until 450');
  expect(plan(first, 450 * minute)).toBe('issue');
  expect(plan(first, 600 * minute)).toBe('issue');
  expect(plan(first, 0, { hosts: [...hosts, 'other.demo.svc'] })).toBe('issue');
});

it('keeps the names of the present certificate, the newest first, as far as there is room', async () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}.demo.svc`);
  expect(hostsToIssue(undefined, ['a.svc'])).toEqual(['a.svc']);
  expect(hostsToIssue(first, ['10.0.0.1', '::1'])).toEqual(['10.0.0.1', '::1', 'hook.demo.svc']);
  expect(hostsToIssue({ ...first, bundle: 'no PEM' }, ['a.svc'])).toEqual(['a.svc']);
  const issue = (hosts: readonly string[]) =>
    createIssuer({ cert: one.cert, key: one.key }, { nowMs: startMs, lifetimeMs: times.authorityMs }).then((issuer) =>
      issuer.issue({ commonName: 'x', hosts, usage: 'server', nowMs: startMs, lifetimeMs: times.servingMs }),
    );
  const full: CertificateState = { ...first, serving: await issue(names(maxHosts)) };
  expect(hostsToIssue(full, ['a.svc'])).toEqual(['a.svc', ...names(maxHosts - 1)]);
  // The replica whose name had no room does not take another one's name at once.
  expect(plan(full, minute, { hosts: ['a.svc'] })).toBe('nothing until 5');
  expect(plan(full, 5 * minute, { hosts: ['a.svc'] })).toBe('issue');
  expect(plan({ ...first, serving: await issue(['::1', 'a.svc']) }, 0, { hosts: ['::1'] })).toBe('nothing until 450');
});

it('uses a new authority only when it had its time and the API servers know it, and then drops the old one', async () => {
  const before: CertificateState = { ...first, serving: await one.serving(800 * minute) };
  expect(plan(before, 899 * minute)).toBe('nothing until 900');
  expect(plan(before, 900 * minute)).toBe('addAuthority');
  const added = { ...before, bundle: `${two.cert}${one.cert}`, authorityKey: two.key };
  expect(plan(added, 900 * minute)).toBe('nothing until 905');
  expect(plan(added, 906 * minute, { trustedSinceMs: undefined })).toBe(`nothing until ${906 + 1 / 60}`);
  // It took long until the API servers had the authority, and they get the whole time from then on.
  expect(plan(added, 930 * minute, { trustedSinceMs: startMs + 928 * minute })).toBe('nothing until 933');
  expect(plan(added, 905 * minute)).toBe('issue');
  // The old certificate is about to end, so waiting longer would make every call fail.
  expect(plan({ ...added, serving: await one.serving(402 * minute) }, 903 * minute)).toBe('issue');
  const used = { ...added, serving: await two.serving(905 * minute) };
  expect(plan(used, 906 * minute)).toBe('nothing until 910');
  expect(plan(used, 910 * minute)).toBe('dropOld');
  expect(plan({ ...used, bundle: two.cert }, 910 * minute)).toBe('nothing until 1355');
});

it('makes certificates that a server can use', () => {
  const leaf = new X509Certificate(first.serving.cert);
  expect(leaf.checkHost('hook.demo.svc')).toBe('hook.demo.svc');
  expect(leaf.verify(new X509Certificate(one.cert).publicKey)).toBe(true);
});
