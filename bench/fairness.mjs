// Measures the effect of a flood of requests on a quiet user: one user LISTs 100 ConfigMaps over 64 connections without a pause, another
// GETs a small object 50 times a second. Both servers share few seats by flow schemas and priority levels, so that requests have to wait.
//   npm run bench fairness         KAPSTAN_KUBE_APISERVER=path KAPSTAN_ETCD=path: the same work on the peer, in the same run
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { figure } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel, namespaceBody } from './parts/http-caller.mjs';
import { hasPeer, startPeer } from './parts/peer-server.mjs';
import { startProber } from './parts/prober.mjs';
import { startServer, temporaryFolder } from './parts/server-process.mjs';

const seconds = Number(process.env.KAPSTAN_BENCH_SECONDS ?? 5);
const connections = 64;
const objects = 100;
const path = '/api/v1/namespaces/bench/configmaps';
/** The level of ordinary users has five of these 60 seats and may borrow more. */
const limits = ['--max-requests-inflight=40', '--max-mutating-requests-inflight=20'];
const users = [
  ['flood-token', 'flood', 'flood-uid'],
  ['quiet-token', 'quiet', 'quiet-uid'],
].map((line) => line.join(','));

async function startOurs() {
  const tokens = join(temporaryFolder(), 'tokens.csv');
  writeFileSync(tokens, `${users.join('\n')}\n`);
  return startServer({ flags: ['--authorization-mode=AlwaysAllow', `--token-auth-file=${tokens}`, ...limits] });
}

/** Requests lists until the time is over; refused requests are repeated at once. */
async function flood(server) {
  const caller = httpCaller({ ...server, token: 'flood-token' }, connections);
  const end = performance.now() + seconds * 1_000;
  const counts = { served: 0, refused: 0 };
  const worker = async () => {
    while (performance.now() < end) {
      await caller.call('GET', path).then(
        () => counts.served++,
        () => counts.refused++,
      );
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  caller.close();
  return counts;
}

async function measure(server) {
  const admin = httpCaller(server, 16);
  await admin.call('POST', '/api/v1/namespaces', namespaceBody);
  await inParallel(objects, 16, (index) => admin.call('POST', path, configMapBody(`o${index}`, index)));
  admin.close();
  const quiet = await startProber({ ...server, token: 'quiet-token' }, `${path}/o0`);
  const alone = await quiet.beside(() => new Promise((resolve) => setTimeout(resolve, seconds * 500)));
  const before = await server.measure();
  let counts;
  const beside = await quiet.beside(async () => {
    counts = await flood(server);
  });
  const after = await server.measure();
  quiet.close();
  await server.close();
  const cpuUs = (after.cpuUs - before.cpuUs) / (counts.served + beside.gets);
  return { alone, beside, counts, cpuUs };
}

const ours = await measure(await startOurs());
const theirs = hasPeer
  ? await measure(await startPeer({ flags: ['--enable-priority-and-fairness=true', ...limits], users }))
  : undefined;

const rows = [
  ['p50 of a GET of the quiet user, alone', 'ms', ({ alone }) => alone.p50Ms],
  ['p50 of a GET of the quiet user beside the flood', 'ms', ({ beside }) => beside.p50Ms],
  ['p99 of a GET of the quiet user beside the flood', 'ms', ({ beside }) => beside.p99Ms],
  ['GETs of the quiet user beside the flood', 'per s', ({ beside }) => beside.gets / seconds],
  ['lists of the flood', 'per s', ({ counts }) => counts.served / seconds],
  ['lists of the flood that were refused', 'per s', ({ counts }) => counts.refused / seconds],
  ['CPU per request that was served', 'µs', ({ cpuUs }) => cpuUs],
];
for (const [what, unit, of] of rows) {
  const peers = theirs === undefined ? [] : [{ name: 'kube-apiserver + etcd', value: of(theirs) }];
  figure({ bench: 'fairness', what, unit, samples: [of(ours)], peers });
}
