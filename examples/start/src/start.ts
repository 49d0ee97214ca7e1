// npm start: an embedded control plane, the sample controller as its client over HTTPS, and a Foo that becomes a
// Deployment. With --once it also scales the Foo, checks the result, and ends.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@kapstan/api';
import { type Client, connect } from '@kapstan/client';
import { startControlPlane, writePrivateFile } from '@kapstan/control-plane';
import { installDefinitions } from '@kapstan/controller';
import { Foo, runClientGo } from '@kapstan/example-sample-controller';
import { runSharedInformers } from '@kapstan/example-shared-informers';
import { createFoo, scaleAndCheck } from './story.ts';
import { consoleLogger, narrate, say } from './terminal.ts';

interface StartOptions {
  readonly once: boolean;
  readonly dataDir: string;
  readonly port: number;
}

const usage = `Usage: npm start [-- flags]

  --once             run the story in a fresh directory, then exit
  --data-dir DIR     directory that keeps the data for the next start (default .kapstan)
  --secure-port N    HTTPS port (default 6443; with --once any free port)
`;

async function main(): Promise<number> {
  const options = await readOptions();
  if (typeof options === 'number') return options;
  const { once, dataDir, port } = options;
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  const overdue = once
    ? systemClock.setBackgroundTimer(() => stop.abort(new Error('not done within 120 s')), 120_000)
    : undefined;
  try {
    await run({ once, dataDir, port }, stop);
    return 0;
  } catch (error) {
    if (!once && stop.signal.aborted) return 0;
    say('failed', error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    overdue?.();
    if (once) await rm(dataDir, { recursive: true, force: true });
  }
}

/** Returns the exit status instead of options when there is nothing to start. */
async function readOptions(): Promise<StartOptions | number> {
  const options = {
    help: { type: 'boolean', short: 'h' },
    once: { type: 'boolean' },
    'data-dir': { type: 'string' },
    'secure-port': { type: 'string' },
  } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    process.stderr.write(`npm start: ${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (values.help === true) {
    process.stdout.write(usage);
    return 0;
  }
  const once = values.once ?? false;
  const dataDir = once ? await mkdtemp(join(tmpdir(), 'kapstan-once-')) : (values['data-dir'] ?? '.kapstan');
  return { once, dataDir, port: Number(values['secure-port'] ?? (once ? 0 : 6443)) };
}

async function run({ once, dataDir, port }: StartOptions, stop: AbortController): Promise<void> {
  const begin = systemClock.monotonicNow();
  const beginMs = systemClock.now();
  const server = { dataDir, port, logger: consoleLogger, controlLoops: ['*'], inspect: { port: 0 } };
  const controlPlane = await startControlPlane(server);
  const kubeconfig = join(dataDir, 'admin.kubeconfig');
  await writePrivateFile(kubeconfig, controlPlane.kubeconfig);
  say(
    'control plane',
    `${controlPlane.url} (ready in ${Math.round(systemClock.monotonicNow() - begin)} ms, data in ${dataDir})`,
  );
  say('inspector', controlPlane.inspectorUrl);
  const client = await connect({ kubeconfig });
  let working: Promise<unknown> = Promise.resolve();
  let silence: () => void = () => undefined;
  try {
    await installDefinitions([Foo], { client, fieldManager: 'sample-controller', signal: stop.signal });
    say('definition', 'foos.samplecontroller.k8s.io is established');
    silence = narrate(client, beginMs);
    working = runControllers(client, stop);
    await createFoo(client);
    if (once) await scaleAndCheck(client, stop.signal);
    else await stayUp(kubeconfig, stop.signal);
  } finally {
    silence();
    if (!stop.signal.aborted) stop.abort(new Error('done'));
    await working;
    await client.close();
    await controlPlane.close();
    say('control plane', 'closed');
  }
}

/** Runs both examples as clients over HTTPS, side by side; a failure of one stops everything. */
async function runControllers(client: Client, stop: AbortController): Promise<void> {
  const options = { signal: stop.signal, clock: systemClock, logger: consoleLogger };
  const controllers = [runClientGo({ client, ...options }), runSharedInformers(client, options)];
  await Promise.all(controllers).catch((error: unknown) => {
    if (!stop.signal.aborted) stop.abort(error);
  });
}

async function stayUp(kubeconfig: string, signal: AbortSignal): Promise<void> {
  const file = relative(process.cwd(), kubeconfig);
  say('look', `kubectl --kubeconfig ${file} get foos,deployments,replicasets,pods,events`);
  say('try', `kubectl --kubeconfig ${file} patch foo example-foo --type=merge -p '{"spec":{"replicas":3}}'`);
  say('end', 'Ctrl-C stops it; the data stay for the next start');
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

process.exitCode = await main();
