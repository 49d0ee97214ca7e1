// Members of etcd that answer as a test tells them: gRPC servers in this process, and a caller connected to them. Used
// by the tests of this package; etcd-process.ts starts real members.
import { type Client, Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { type Clock, systemClock } from '@kapstan/api';
import { AuthToken, type EtcdUser } from '../auth-token.ts';
import { Caller } from '../caller.ts';
import { parseEndpoints } from '../endpoint.ts';
import { EndpointPool } from '../endpoint-pool.ts';
import { loadWire, type RangeRequest, type TxnRequest } from '../wire.ts';

/** A call as a member received it. */
export interface AskedCall {
  readonly member: number;
  readonly method: 'range' | 'txn' | 'authenticate';
  readonly request: RangeRequest & TxnRequest;
  readonly token: string | undefined;
  readonly traceParent: string | undefined;
}

export interface ScriptedEtcdOptions {
  /** Returns the answer, or throws a {@link refusal}. A promise that never resolves is silence. */
  readonly answer: (call: AskedCall) => unknown;
  /** Default 1. 0 = one address at which nobody listens. */
  readonly members?: number;
  readonly clock?: Clock;
  readonly user?: EtcdUser;
  /** Default 1 000. */
  readonly callTimeoutMs?: number;
  /** Default: any size. */
  readonly maxReceiveBytes?: number;
}

export interface ScriptedEtcd extends AsyncDisposable {
  readonly caller: Caller;
  /** All calls so far. */
  readonly asked: readonly AskedCall[];
  /** Resolves when this many calls have come. */
  askedFor(count: number): Promise<void>;
}

/** Returns the error that a member throws to refuse a call. */
export function refusal(code: number, details: string): Error {
  return Object.assign(new Error(details), { code, details });
}

export async function startScriptedEtcd(options: ScriptedEtcdOptions): Promise<ScriptedEtcd> {
  const { members = 1, clock = systemClock, callTimeoutMs = 1_000, maxReceiveBytes = -1 } = options;
  const asked: AskedCall[] = [];
  const waiters = new Set<() => void>();
  const ask = async (call: AskedCall): Promise<unknown> => {
    asked.push(call);
    for (const waiter of waiters) waiter();
    return options.answer(call);
  };
  const servers = await Promise.all(Array.from({ length: members }, (_, member) => listen(member, ask)));
  const addresses = servers.length === 0 ? ['127.0.0.1:1'] : servers.map(({ port }) => `127.0.0.1:${port}`);
  const pool = new EndpointPool({
    endpoints: parseEndpoints(addresses, false),
    tls: undefined,
    maxReceiveBytes,
    keepAliveMs: 30_000,
    keepAliveTimeoutMs: 10_000,
  });
  // All members are connected, so that the first one is asked first.
  if (members > 0) await Promise.all(pool.clients.map(connected));
  return {
    caller: new Caller({ pool, token: new AuthToken(options.user), clock, callTimeoutMs }),
    asked,
    askedFor: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (asked.length >= count) resolve();
        };
        waiters.add(check);
        check();
      }),
    [Symbol.asyncDispose]: async () => {
      pool.close();
      for (const { server } of servers) server.forceShutdown();
    },
  };
}

function connected(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Number.POSITIVE_INFINITY, (error) => (error === undefined ? resolve() : reject(error)));
  });
}

async function listen(
  member: number,
  ask: (call: AskedCall) => Promise<unknown>,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server();
  const { range, txn, authenticate } = loadWire();
  const handle =
    (method: AskedCall['method']) =>
    (call: ServerUnaryCall<AskedCall['request'], unknown>, done: sendUnaryData<unknown>) => {
      const [token] = call.metadata.get('token');
      const [traceParent] = call.metadata.get('traceparent');
      const told = { token: token?.toString(), traceParent: traceParent?.toString() };
      ask({ member, method, request: call.request, ...told }).then(
        (answer) => done(null, answer),
        (error: Error) => done(error),
      );
    };
  server.addService(
    { range, txn, authenticate },
    { range: handle('range'), txn: handle('txn'), authenticate: handle('authenticate') },
  );
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, number: number): void => (error === null ? resolve(number) : reject(error));
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
  });
  return { server, port };
}
