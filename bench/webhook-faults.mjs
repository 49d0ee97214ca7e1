// Measures how long others wait while 1,000 creates wait for a faulty admission webhook: one that hangs, answers after a
// second, answers 10 MB or for another request, or closes the connection.
//   npm run bench webhook-faults    KAPSTAN_KUBE_APISERVER=path KAPSTAN_ETCD=path: the same work on the peer, in the same run
import { setTimeout as sleep } from 'node:timers/promises';
import { figure } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel, namespaceBody } from './parts/http-caller.mjs';
import { hasPeer, startPeer } from './parts/peer-server.mjs';
import { startProber } from './parts/prober.mjs';
import { startServer } from './parts/server-process.mjs';
import { startWebhooks } from './parts/webhook-process-start.mjs';

const waiting = Number(process.env.KAPSTAN_BENCH_WAITING ?? 1_000);
const namespace = '/api/v1/namespaces/bench';
const timeoutSeconds = 5;
const faults = {
  hangs: 'hangs for 5 s',
  slow: 'answers after 1 s',
  large: 'answers 10 MB',
  'wrong-uid': 'answers for another request',
  closes: 'closes the connection',
};

/** Returns the number of refused creates. */
async function createAll({ call }, fault) {
  let refused = 0;
  const post = (index) =>
    call('POST', `${namespace}/configmaps`, configMapBody(`${fault}-${index}`, index)).catch(() => {
      refused += 1;
    });
  await inParallel(waiting, waiting, post);
  return refused;
}

async function measureAll(server) {
  const caller = httpCaller(server, waiting);
  await caller.call('POST', '/api/v1/namespaces', namespaceBody);
  await caller.call('POST', `${namespace}/configmaps`, configMapBody('probed', 0));
  // The measurement does not include the handshakes of these clients.
  await inParallel(waiting, waiting, () => caller.call('GET', `${namespace}/configmaps/probed`));
  const prober = await startProber(server, `${namespace}/configmaps/probed`);
  const results = {};
  for (const fault of Object.keys(faults)) {
    await webhooks.install(caller.call, 'validating', { name: fault, path: `/${fault}`, timeoutSeconds });
    await sleep(2_000);
    const before = await server.measure();
    let refused = 0;
    const { p50Ms, p99Ms } = await prober.beside(async () => {
      refused = await createAll(caller, fault);
    });
    const { cpuUs, turnMs } = await server.measure();
    results[fault] = { p50Ms, p99Ms, refused, turnMs, cpu: (cpuUs - before.cpuUs) / waiting };
    await webhooks.remove(caller.call, 'validating', fault);
  }
  prober.close();
  caller.close();
  await server.close();
  return results;
}

const webhooks = await startWebhooks();
const flags = ['--disable-admission-plugins=ServiceAccount', '--max-mutating-requests-inflight=2000'];
const ours = await measureAll(await startServer({ flags }));
const peers = hasPeer ? await measureAll(await startPeer()) : undefined;
webhooks.end();

const bench = 'webhook-faults';
for (const [fault, what] of Object.entries(faults)) {
  const beside = `beside ${waiting} creates whose webhook ${what}`;
  const tell = (name, unit, key, target) =>
    figure({
      ...{ bench, what: `${name} ${beside}`, unit, samples: [ours[fault][key]] },
      ...(peers === undefined ? {} : { peer: { name: 'kube-apiserver + etcd', value: peers[fault][key] } }),
      ...(target === undefined ? {} : { target }),
    });
  tell('p99 of a GET', 'ms', 'p99Ms', { atMost: 60 });
  tell('p50 of a GET', 'ms', 'p50Ms');
  tell('CPU of each', 'us', 'cpu');
  console.log(
    `    refused: ${ours[fault].refused}${peers === undefined ? '' : `, by the peer ${peers[fault].refused}`}`,
  );
  if (ours[fault].turnMs !== undefined)
    figure({
      bench,
      what: `longest turn ${beside}`,
      unit: 'ms',
      samples: [ours[fault].turnMs],
      target: { atMost: 50 },
    });
}
