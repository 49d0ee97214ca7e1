// Engines over a real etcd, as the suites of @kapstan/storage/testing need them. Used by the conformance tests of this
// package, and by test/reliability/etcd with other versions and more members.
import { systemClock, toRevision } from '@kapstan/api';
import type { EngineFixture } from '@kapstan/storage/testing';
import { type EtcdEngine, openEtcdEngine } from '../etcd-engine.ts';
import type { EtcdMembers } from './etcd-process.ts';
import { type EtcdSpare, removeKeys } from './etcd-spare.ts';

/**
 * Opens a fixture for engineConformance: an etcd without keys that was never compacted. Its leases run in real time.
 */
export async function openEtcdFixture(spare: EtcdSpare): Promise<EngineFixture> {
  const members = await spare.take();
  const connection = await connectTo(members);
  return {
    get engine(): EtcdEngine {
      return connection.engine;
    },
    elapse: (ms) => new Promise((resolve) => systemClock.setTimer(resolve, ms)),
    reopen: () => connection.renew(),
    dispose: () => spare.giveBack(members, connection.engine),
  };
}

/**
 * "quick": leases are revoked, which etcd does by the same transaction as expiry; many programs run. "real": leases of
 * a few seconds expire, and all members are killed and restarted before an engine is reopened; few programs run.
 */
type EtcdProgramsMode = 'quick' | 'real';

/**
 * One etcd for enginePrograms, which serves one program after the other. Each program finds no keys, but earlier
 * revisions.
 */
export class EtcdForPrograms {
  readonly #spare: EtcdSpare;
  readonly #mode: EtcdProgramsMode;
  #members: Promise<EtcdMembers> | undefined;

  constructor(spare: EtcdSpare, mode: EtcdProgramsMode) {
    this.#spare = spare;
    this.#mode = mode;
  }

  /** Text for the test's name: how steps are replaced, and which are left out. */
  get conditions(): string {
    return this.#mode === 'real'
      ? 'with leases that run out, etcd killed before each reopening, no crash under a commit'
      : 'with leases revoked in place of running out, no crashes';
  }

  async open(): Promise<EngineFixture> {
    this.#members ??= this.#spare.take();
    const members = await this.#members;
    const connection = await connectTo(members);
    await removeKeys(connection.engine);
    await makePast(connection.engine);
    const isReal = this.#mode === 'real';
    return {
      get engine(): EtcdEngine {
        return connection.engine;
      },
      ...(isReal ? { leaseSeconds: 3 } : {}),
      // The step waits for the effects of expiry itself.
      elapse: () => (isReal ? Promise.resolve() : revokeLeases(connection.engine, members[0].endpoint)),
      reopen: async () => {
        if (isReal) await restart(members);
        await connection.renew();
      },
      dispose: () => connection.engine.close(),
    };
  }

  async close(): Promise<void> {
    const members = await this.#members;
    await Promise.all((members ?? []).map((member) => member.remove()));
  }
}

interface Connection {
  readonly engine: EtcdEngine;
  renew(): Promise<void>;
}

async function connectTo(members: EtcdMembers): Promise<Connection> {
  const endpoints = members.map(({ endpoint }) => endpoint);
  const open = (): Promise<EtcdEngine> => openEtcdEngine({ endpoints, compactionIntervalMs: 0 });
  let engine = await open();
  return {
    get engine(): EtcdEngine {
      return engine;
    },
    renew: async () => {
      await engine.close();
      engine = await open();
    },
  };
}

/** Writes and deletes a key, because etcd does not distinguish a compaction to revision 1 from none. */
async function makePast(engine: EtcdEngine): Promise<void> {
  const key = '/past';
  const expectedRevision = toRevision(0);
  const { revision } = await engine.commit({ key, expectedRevision, change: { type: 'put', value: Buffer.from('x') } });
  await engine.commit({ key, expectedRevision: revision, change: { type: 'delete' } });
}

async function restart(members: EtcdMembers): Promise<void> {
  await Promise.all(members.map((member) => member.kill()));
  for (const member of members) member.start();
}

/** Ends the leases that hold keys. */
async function revokeLeases(engine: EtcdEngine, endpoint: string): Promise<void> {
  const { kvs } = await engine.range({ start: '/', end: '0' });
  for (const id of new Set(kvs.map(({ lease }) => lease))) {
    if (id === 0) continue;
    const body = JSON.stringify({ ID: String(id) });
    const { ok, status } = await fetch(`${endpoint}/v3/lease/revoke`, { method: 'POST', body });
    if (!ok) throw new Error(`etcd did not revoke lease ${id}: ${status}`);
  }
}
