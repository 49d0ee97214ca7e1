// `kapstan serve`: flags to options, a running control plane, and its files; ends on SIGTERM and SIGINT.
import { readFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { consoleLogger } from './console-logger.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { formatFlags } from './flag-set.ts';
import { writePrivateFile } from './private-file.ts';
import { parseServeFlags, type ServeFlags, serveFlags } from './serve-flags.ts';
import { etcdOptions } from './store-flags.ts';

/** Runs until a signal ends it. 0 = drained and closed. Rejects with what went wrong at the start. */
export async function serve(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`Usage: kapstan serve [flags]\n\n${formatFlags(serveFlags)}`);
    return 0;
  }
  const flags = parseServeFlags(args);
  const logger = consoleLogger('info');
  const controlPlane = await startControlPlane({
    ...(await toOptions(flags)),
    logger,
    onFatal: (error) => {
      logger.error('The store failed; nothing more can be written', { error: String(error) });
      process.exit(1);
    },
  });
  // Before anybody is told that it runs: who is told may end it at once.
  const signalled = nextSignal();
  await writeFiles(flags, controlPlane);
  logger.info('Serving', { url: controlPlane.url, dataDir: resolve(flags['data-dir']) });
  const signal = await signalled;
  logger.info('Shutting down', { signal });
  await controlPlane.close();
  if (flags['ready-file'] !== '') await rm(flags['ready-file'], { force: true });
  return 0;
}

async function toOptions(flags: ServeFlags): Promise<ControlPlaneOptions> {
  const read = async (file: string): Promise<string | undefined> =>
    file === '' ? undefined : await readFile(file, 'utf8');
  const tokens = await read(flags['token-auth-file']);
  const clientCa = await read(flags['client-ca-file']);
  const cert = await read(flags['tls-cert-file']);
  const key = await read(flags['tls-private-key-file']);
  const etcd = await etcdOptions(flags);
  return {
    dataDir: flags['data-dir'],
    ...(etcd === undefined ? {} : { etcd }),
    ...(flags['storage-media-type'] === 'default' ? {} : { storageMediaType: flags['storage-media-type'] }),
    keyPrefix: flags['etcd-prefix'],
    compactionIntervalMs: flags['etcd-compaction-interval'],
    ...encryptionOptions(flags),
    storageInitializationTimeoutMs: flags['storage-initialization-timeout'],
    bindAddress: flags['bind-address'],
    port: flags['secure-port'],
    ...(flags['advertise-address'] === '' ? {} : { advertiseAddress: flags['advertise-address'] }),
    ...(tokens === undefined ? {} : { tokens: { text: tokens, fileName: flags['token-auth-file'] } }),
    ...(clientCa === undefined ? {} : { clientCa }),
    ...(cert === undefined || key === undefined ? {} : { serving: { cert, key } }),
    authorization: flags['authorization-mode'],
    isAnonymousAllowed: flags['anonymous-auth'],
    watchCache: {
      isEnabled: flags['watch-cache'],
      defaultSize: flags['default-watch-cache-size'],
      sizes: flags['watch-cache-sizes'],
    },
    eventTtlSeconds: Math.trunc(flags['event-ttl'] / 1000),
    deleteCollectionWorkers: flags['delete-collection-workers'],
    collectsGarbage: flags['enable-garbage-collector'],
    admission: { enabled: flags['enable-admission-plugins'], disabled: flags['disable-admission-plugins'] },
    maxRequestsInflight: flags['max-requests-inflight'],
    maxMutatingRequestsInflight: flags['max-mutating-requests-inflight'],
    minWatchMs: flags['min-request-timeout'] * 1000,
    serviceClusterIpRange: flags['service-cluster-ip-range'],
    controlLoops: flags['control-loops'],
  };
}

function encryptionOptions(flags: ServeFlags): Pick<ControlPlaneOptions, 'encryption'> {
  const configFile = flags['encryption-provider-config'];
  const reloads = flags['encryption-provider-config-automatic-reload'];
  return configFile === '' ? {} : { encryption: { configFile, reloads } };
}

async function writeFiles(flags: ServeFlags, controlPlane: ControlPlane): Promise<void> {
  if (flags['kubeconfig-out'] !== '') await writePrivateFile(flags['kubeconfig-out'], controlPlane.kubeconfig);
  if (flags['ready-file'] === '') return;
  const { url, caFile, token } = controlPlane;
  // Last of all: whoever waits for this file may use everything else.
  await writePrivateFile(flags['ready-file'], `${JSON.stringify({ url, caFile, token, pid: process.pid })}\n`);
}

/** The first signal ends the server in peace; a second one ends the process at once. */
function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((settle) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      let count = 0;
      process.on(name, () => {
        if (++count > 1) process.exit(1);
        settle(name);
      });
    }
  });
}
