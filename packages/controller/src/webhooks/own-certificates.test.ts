import { X509Certificate } from 'node:crypto';
import { silentLogger, systemClock } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { expect, it, vi } from 'vitest';
import { type CertificateState, defaultTimes } from './certificate-plan.ts';
import type { ServedCertificates } from './certificate-source.ts';
import { type CertificateStore, MemoryCertificates, type StoredCertificates } from './certificate-store.ts';
import { OwnCertificates } from './own-certificates.ts';

function made() {
  const clock = new VirtualClock({ startMs: systemClock.now() });
  const store = new MemoryCertificates();
  const own = new OwnCertificates({ store, hosts: ['a.demo.svc'], times: defaultTimes, clock, logger: silentLogger });
  return { store, own, stop: new AbortController() };
}

it('does not serve what cannot be used, and goes on with what it has', async () => {
  const { store, own, stop } = made();
  const served: ServedCertificates[] = [];
  await own.start({ onChange: (next) => void served.push(next), isTrusted: () => true }, stop.signal);
  const { state } = await store.read();
  if (state === undefined) throw new Error('nothing was stored');
  await store.write({ ...state, serving: { cert: 'no PEM', key: 'no key' } });
  await own.refresh();
  expect(served).toHaveLength(1);
  stop.abort();
  await own.ended();
});

it('serves again what could not be taken into use', async () => {
  const { store, own, stop } = made();
  const other = made();
  let failures = 0;
  const served: ServedCertificates[] = [];
  const onChange = (next: ServedCertificates): void => {
    if (failures-- > 0) throw new Error('no such curve');
    served.push(next);
  };
  await own.start({ onChange, isTrusted: () => true }, stop.signal);
  await other.own.start({ onChange: () => undefined, isTrusted: () => true }, stop.signal);
  const { state } = await other.store.read();
  if (state === undefined) throw new Error('nothing was stored');
  await store.write(state);
  failures = 1;
  await expect(own.refresh()).rejects.toThrow('no such curve');
  await own.refresh();
  expect(served.at(-1)?.serving).toEqual(state.serving);
  stop.abort();
  await Promise.all([own.ended(), other.own.ended()]);
});

it('signs with a new authority only when it has been trusted for the overlap', async () => {
  const clock = new VirtualClock({ startMs: systemClock.now() });
  const store = new MemoryCertificates();
  const minute = 60_000;
  const times = {
    authorityMs: 100 * minute,
    authorityRenewBeforeMs: 60 * minute,
    servingMs: 80 * minute,
    servingRenewBeforeMs: minute,
    overlapMs: 30_000,
  };
  const own = new OwnCertificates({ store, hosts: ['a.demo.svc'], times, clock, logger: silentLogger });
  const stop = new AbortController();
  let isTrusted = false;
  await own.start({ onChange: () => undefined, isTrusted: () => isTrusted }, stop.signal);
  const { state: first } = await store.read();
  await clock.advance(41 * minute);
  const isAdded = async () => expect((await store.read()).state?.bundle).not.toBe(first?.bundle);
  await vi.waitFor(isAdded, 5000);
  const signed = async () => (await store.read()).state?.serving.cert !== first?.serving.cert;
  await clock.advance(40_000);
  isTrusted = true;
  own.wake();
  await settle();
  await clock.advance(20_000);
  await settle();
  expect(await signed()).toBe(false);
  await clock.advance(15_000);
  await vi.waitFor(async () => expect(await signed()).toBe(true), 5000);
  stop.abort();
  await own.ended();
});

/** Shared certificates of which each replica learns separately, as from a Secret. */
class SharedCertificates implements CertificateStore {
  readonly #followers = new Set<() => void>();
  #stored: StoredCertificates = { state: undefined, version: undefined };
  writes = 0;

  async read(): Promise<StoredCertificates> {
    return this.#stored;
  }

  async write(state: CertificateState, version: string | undefined): Promise<boolean> {
    if (version !== this.#stored.version) return false;
    this.writes += 1;
    if (this.writes > 20) throw new Error('the replicas undo each other');
    this.#stored = { state, version: String(this.writes) };
    for (const onChange of this.#followers) onChange();
    return true;
  }

  async follow(onChange: () => void, signal: AbortSignal): Promise<void> {
    this.#followers.add(onChange);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
}

it('has one certificate for replicas with different hosts, which none of them undoes', async () => {
  const clock = new VirtualClock({ startMs: systemClock.now() });
  const store = new SharedCertificates();
  const stop = new AbortController();
  const hosts = ['a.demo.svc', '10.0.0.1', 'b.demo.svc'];
  const hour = 3_600_000;
  const times = { ...defaultTimes, servingMs: 10 * hour, servingRenewBeforeMs: 8 * hour };
  const replicas = hosts.map(
    (host) => new OwnCertificates({ store, hosts: [host], times, clock, logger: silentLogger }),
  );
  const served = new Map<number, string>();
  await Promise.all(
    replicas.map((own, at) =>
      own.start({ onChange: ({ serving }) => void served.set(at, serving.cert), isTrusted: () => true }, stop.signal),
    ),
  );
  const isForAll = async (): Promise<void> => {
    const { state } = await store.read();
    const leaf = new X509Certificate(state?.serving.cert ?? '');
    expect([leaf.checkHost('a.demo.svc'), leaf.checkIP('10.0.0.1'), leaf.checkHost('b.demo.svc')]).toEqual([
      'a.demo.svc',
      '10.0.0.1',
      'b.demo.svc',
    ]);
    expect([...served.values()]).toEqual(hosts.map(() => state?.serving.cert));
  };
  await vi.waitFor(isForAll, 5000);
  expect(store.writes).toBeLessThanOrEqual(hosts.length);
  // A replica that restarts finds its host in the certificate, and a renewal keeps all of them.
  await clock.advance(2 * hour);
  await vi.waitFor(async () => {
    expect(store.writes).toBeGreaterThan(hosts.length);
    await isForAll();
  }, 5000);
  expect(store.writes).toBe(hosts.length + 1);
  stop.abort();
  await Promise.all(replicas.map((own) => own.ended()));
});
