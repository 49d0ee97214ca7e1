// Three members of etcd behind proxies, and an engine that reaches them through these. For the tests of this folder.
import { type EtcdEngine, openEtcdEngine } from '@kapstan/storage-etcd';
import { type EtcdProcess, startEtcd } from '@kapstan/storage-etcd/testing';
import { ByteProxy } from '@kapstan/testing';

export interface Member {
  readonly etcd: EtcdProcess;
  readonly proxy: ByteProxy;
  /** Grows when bytes go through the proxy. */
  activity(): number;
}

export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly Member[];
  readonly engine: EtcdEngine;
  /** The member that leads, as the members say. */
  leader(): Promise<Member>;
}

export async function startEtcdCluster(binary: string): Promise<EtcdCluster> {
  const processes = await startEtcd({ binary, members: 3 });
  const members = await Promise.all(
    processes.map(async (etcd): Promise<Member> => {
      const port = Number(new URL(etcd.endpoint).port);
      let activity = 0;
      const onActivity = (): void => void activity++;
      const proxy = await ByteProxy.start({ targetPort: () => port, onActivity });
      return { etcd, proxy, activity: () => activity };
    }),
  );
  const engine = await openEtcdEngine({
    endpoints: members.map(({ proxy }) => `http://127.0.0.1:${proxy.port}`),
    callTimeoutMs: 1_500,
    keepAliveMs: 5_000,
    keepAliveTimeoutMs: 1_000,
    compactionIntervalMs: 0,
  });
  return {
    members,
    engine,
    leader: () => leaderOf(members),
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      await Promise.all(members.map(({ proxy }) => proxy.close()));
      await Promise.all(members.map(({ etcd }) => etcd.remove()));
    },
  };
}

async function leaderOf(members: readonly Member[]): Promise<Member> {
  for (;;) {
    const answers = await Promise.all(members.map(async (member) => ({ member, ...(await statusOf(member)) })));
    const leading = answers.find(({ id, leader }) => id !== undefined && id === leader);
    if (leading !== undefined) return leading.member;
  }
}

/** A member that does not answer within a second has no say. */
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
