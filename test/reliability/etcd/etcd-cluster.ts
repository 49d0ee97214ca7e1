// Three members of etcd behind proxies, and engines that reach them through these. Used by the tests of this folder.
import { type EtcdEngine, openEtcdEngine } from '@kapstan/storage-etcd';
import { type EtcdProcess, startEtcd } from '@kapstan/storage-etcd/testing';
import { ByteProxy } from '@kapstan/testing';
import type { PeerLinks } from './peer-links.ts';

export interface Member {
  readonly index: number;
  readonly etcd: EtcdProcess;
  readonly proxy: ByteProxy;
  /** Returns a number that grows when bytes go through the proxy. */
  activity(): number;
}

export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly Member[];
  /** An engine that knows all members. */
  readonly engine: EtcdEngine;
  /** Resolves to the leader, according to the members. */
  leader(): Promise<Leader>;
  /** Opens an engine that knows these members. */
  open(members: readonly Member[]): Promise<EtcdEngine>;
  /** Opens an engine that bypasses the proxies. */
  openDirect(): Promise<EtcdEngine>;
}

interface Leader extends Member {
  /** Id in hexadecimal, as etcd writes it. */
  readonly id: string;
}

/** Starts the cluster. With `links`, traffic between the members goes through them. */
export async function startEtcdCluster(binary: string, links?: PeerLinks): Promise<EtcdCluster> {
  const advertisePeer = links && ((port: number, index: number) => links.listen(port, index));
  const processes = await startEtcd({ binary, members: 3, ...(advertisePeer && { advertisePeer }) });
  const members = await Promise.all(
    processes.map(async (etcd, index): Promise<Member> => {
      const port = Number(new URL(etcd.endpoint).port);
      let activity = 0;
      const onActivity = (): void => void activity++;
      const proxy = await ByteProxy.start({ targetPort: () => port, onActivity });
      return { index, etcd, proxy, activity: () => activity };
    }),
  );
  const engines: EtcdEngine[] = [];
  const openOn = async (endpoints: readonly string[]): Promise<EtcdEngine> => {
    const engine = await openEtcdEngine({
      endpoints,
      callTimeoutMs: 1_500,
      keepAliveMs: 5_000,
      keepAliveTimeoutMs: 1_000,
      compactionIntervalMs: 0,
    });
    engines.push(engine);
    return engine;
  };
  const open = (some: readonly Member[]): Promise<EtcdEngine> =>
    openOn(some.map(({ proxy }) => `http://127.0.0.1:${proxy.port}`));
  return {
    members,
    engine: await open(members),
    leader: () => leaderOf(members),
    open,
    openDirect: () => openOn(members.map(({ etcd }) => etcd.endpoint)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(engines.map((engine) => engine.close()));
      await Promise.all(members.map(({ proxy }) => proxy.close()));
      await Promise.all(members.map(({ etcd }) => etcd.remove()));
    },
  };
}

async function leaderOf(members: readonly Member[]): Promise<Leader> {
  for (;;) {
    const answers = await Promise.all(members.map(async (member) => ({ member, ...(await statusOf(member)) })));
    const leading = answers.find(({ id, leader }) => id !== undefined && id === leader);
    if (leading?.id !== undefined) return { ...leading.member, id: BigInt(leading.id).toString(16) };
  }
}

/** Returns a member's status. A member that does not answer within a second does not count. */
async function statusOf({ etcd }: Member): Promise<{ readonly id?: string; readonly leader?: string }> {
  try {
    const answer = await fetch(`${etcd.endpoint}/v3/maintenance/status`, {
      method: 'POST',
      body: '{}',
      signal: AbortSignal.timeout(1_000),
    });
    const { header, leader } = (await answer.json()) as { header: { member_id: string }; leader: string };
    return { id: header.member_id, leader };
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return {};
    throw error;
  }
}
