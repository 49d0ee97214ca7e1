// Runs a kube-apiserver on an etcd, if KAPSTAN_KUBE_APISERVER and KAPSTAN_ETCD name them, and measures both like
// server-process.mjs. The flags are the same as in the recorded runs: no authorization, no limits, no fairness.
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startedProcess, temporaryFolder } from './server-process.mjs';

const { KAPSTAN_KUBE_APISERVER: kubeApiserver, KAPSTAN_ETCD: etcd } = process.env;
export const hasPeer = kubeApiserver !== undefined && etcd !== undefined;
const token = 'token';
const ticksPerSecond = 100;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

function start(command, flags, folder) {
  const log = openSync(join(folder, 'log.txt'), 'a');
  return startedProcess(spawn(command, flags, { cwd: folder, stdio: ['ignore', log, log] }));
}

async function startEtcd(folder) {
  const clients = `http://127.0.0.1:${await freePort()}`;
  const peers = `http://127.0.0.1:${await freePort()}`;
  const own = ['--data-dir=etcd', '--log-level=warn', '--quota-backend-bytes=8589934592'];
  const listen = [`--listen-client-urls=${clients}`, `--advertise-client-urls=${clients}`];
  const cluster = [`--initial-advertise-peer-urls=${peers}`, `--initial-cluster=default=${peers}`];
  return { url: clients, ...start(etcd, [...own, ...listen, `--listen-peer-urls=${peers}`, ...cluster], folder) };
}

const withoutLimits = [
  '--max-requests-inflight=0',
  '--max-mutating-requests-inflight=0',
  '--enable-priority-and-fairness=false',
];

function apiserverFlags(etcdUrl, port, limits) {
  return [
    ...[`--etcd-servers=${etcdUrl}`, `--secure-port=${port}`, '--bind-address=127.0.0.1', '--cert-dir=certs'],
    ...['--advertise-address=127.0.0.1', '--service-cluster-ip-range=10.96.0.0/16', '--token-auth-file=tokens.csv'],
    ...['--service-account-key-file=sa.key', '--service-account-signing-key-file=sa.key'],
    ...['--service-account-issuer=https://kubernetes.default.svc', '--authorization-mode=AlwaysAllow'],
    ...['--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none'],
    ...limits,
  ];
}

function isReady(url) {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve) => {
    // The certificate is not verified, because the server creates it during the start.
    const sent = request(`${url}/readyz`, { headers, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    sent.on('error', () => resolve(false));
    sent.end();
  });
}

function cpuUs(pid) {
  const [, fields] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return ((user + system) / ticksPerSecond) * 1e6;
}

function rssMb(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]) / 1_024;
}

/**
 * Starts both. `flags` limit requests, `users` are more lines of the token file. `measure` returns CPU and memory of both together. Linux only.
 */
export async function startPeer({ flags = withoutLimits, users = [] } = {}) {
  const folder = temporaryFolder();
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  writeFileSync(join(folder, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(join(folder, 'tokens.csv'), `${[`${token},admin,admin,"system:masters"`, ...users].join('\n')}\n`);
  const store = await startEtcd(folder);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const apiserver = start(kubeApiserver, apiserverFlags(store.url, port, flags), folder);
  while (!(await isReady(url))) {
    if (apiserver.child.exitCode !== null) throw new Error(readFileSync(join(folder, 'log.txt'), 'utf8').slice(-2_000));
    await sleep(20);
  }
  const pids = [apiserver.child.pid, store.child.pid];
  const sum = (of) => pids.reduce((total, pid) => total + of(pid), 0);
  return {
    ...{ url, token, ca: readFileSync(join(folder, 'certs/apiserver.crt'), 'utf8') },
    measure: async () => ({ cpuUs: sum(cpuUs), rssMb: sum(rssMb) }),
    close: async () => {
      // It is killed, because its own shutdown takes half a minute.
      await apiserver.end('SIGKILL');
      await store.end('SIGTERM');
    },
  };
}
