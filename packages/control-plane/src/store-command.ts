// `kapstan store …`: looks after the store, on a stopped data directory or on a running server.
import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Client, connect } from '@kapstan/client';
import { isStorageError } from '@kapstan/storage';
import { dataFileName, type LmdbEngine, openLmdbEngine, restoreLmdbBackup } from '@kapstan/storage-lmdb';
import { type FlagValues, formatFlags, intFlag, parseFlags, stringFlag, UsageError } from './flag-set.ts';
import { makeDirectory } from './make-directory.ts';
import { reasonOf } from './start-error.ts';
import { storePagesRoot } from './store-pages.ts';

const storeFlags = {
  'data-dir': stringFlag('Data directory of a server that is not running.'),
  kubeconfig: stringFlag('Kubeconfig of a running server, of a user in system:masters.'),
  out: stringFlag('Directory that a backup is written to; made when absent.'),
  from: stringFlag('Directory of the backup to restore.'),
  'revision-bump': intFlag('Added to the last revision of a restored store: more than was written after the backup.', {
    default: 1_000_000_000,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  }),
};

type StoreFlags = FlagValues<typeof storeFlags>;
type FlagName = keyof StoreFlags;

interface Action {
  readonly help: string;
  /** Flags beside the one that says which store. */
  readonly flags: readonly FlagName[];
  /** 0 = done, 1 = not. */
  readonly offline: (storeDir: string, flags: StoreFlags) => Promise<number>;
  /** Absent = only on a stopped data directory. */
  readonly online?: (client: Client, flags: StoreFlags) => Promise<number>;
}

const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['check', { help: 'read the whole store and say what is wrong with it', flags: [], offline: check }],
  ['stats', { help: 'show revisions, counts and sizes', flags: [], offline: stats, online: serverStats }],
  ['compact', { help: 'drop all history before now', flags: [], offline: compact, online: compactServer }],
  ['backup', { help: 'copy the store into a directory', flags: ['out'], offline: backup, online: backupServer }],
  ['restore', { help: 'make a store from a backup', flags: ['from', 'revision-bump'], offline: restore }],
]);

/** Runs one store command: 0 = done, 1 = it failed or found something wrong. Throws UsageError for a wrong call. */
export async function store(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (['help', '--help', '-h'].includes(name) || rest.some((arg) => arg === '--help' || arg === '-h')) {
    process.stdout.write(usage());
    return args.length === 0 ? 2 : 0;
  }
  const action = actions.get(name);
  if (action === undefined) throw new UsageError(`unknown store command "${name}"; 'kapstan store help' lists them`);
  const flags = readFlags(name, action, rest);
  try {
    return await (flags.kubeconfig === '' ? runOffline(name, action, flags) : runOnline(action, flags));
  } catch (error) {
    if (!(error instanceof Error) || error instanceof UsageError) throw error;
    process.stderr.write(`kapstan store ${name}: ${reasonOf(error)}\n`);
    return 1;
  }
}

function readFlags(name: string, action: Action, args: readonly string[]): StoreFlags {
  const known: readonly string[] = [
    'data-dir',
    ...(action.online === undefined ? [] : ['kubeconfig']),
    ...action.flags,
  ];
  for (const arg of args) {
    const flag = /^--([a-z-]+)/.exec(arg)?.[1] ?? '';
    if (Object.hasOwn(storeFlags, flag) && !known.includes(flag)) {
      throw new UsageError(`--${flag} is not a flag of kapstan store ${name}`);
    }
  }
  const flags = parseFlags(storeFlags, args);
  const places = [flags['data-dir'], flags.kubeconfig].filter((place) => place !== '').length;
  if (places !== 1) {
    throw new UsageError(
      action.online === undefined ? '--data-dir must be given' : 'one of --data-dir and --kubeconfig must be given',
    );
  }
  for (const flag of action.flags) if (flags[flag] === '') throw new UsageError(`--${flag} must be given`);
  return flags;
}

async function runOffline(name: string, action: Action, flags: StoreFlags): Promise<number> {
  const storeDir = join(resolve(flags['data-dir']), 'store');
  if (name !== 'restore' && !existsSync(join(storeDir, dataFileName))) {
    throw new Error(`there is no store in ${flags['data-dir']}`);
  }
  return action.offline(storeDir, flags);
}

async function runOnline(action: Action, flags: StoreFlags): Promise<number> {
  const client = await connect({ kubeconfig: flags.kubeconfig });
  try {
    return (await action.online?.(client, flags)) ?? 1;
  } finally {
    await client.close();
  }
}

async function withStore(dataDir: string, work: (engine: LmdbEngine) => Promise<number>): Promise<number> {
  const engine = await openLmdbEngine({ dataDir });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

function check(storeDir: string): Promise<number> {
  return withStore(storeDir, async (engine) => {
    const report = await engine.check();
    print(report);
    return report.problems.length === 0 ? 0 : 1;
  });
}

function stats(storeDir: string): Promise<number> {
  return withStore(storeDir, async (engine) => {
    print(await engine.stats());
    return 0;
  });
}

function compact(storeDir: string): Promise<number> {
  return withStore(storeDir, async (engine) => {
    const revision = await engine.currentRevision();
    try {
      await engine.compact(revision);
    } catch (error) {
      // As it should be already.
      if (!isStorageError(error, 'Compacted')) throw error;
    }
    print({ revision });
    return 0;
  });
}

function backup(storeDir: string, { out }: StoreFlags): Promise<number> {
  return withStore(storeDir, async (engine) => {
    await makeDirectory(out);
    await engine.backup(resolve(out));
    print({ revision: await engine.currentRevision(), directory: resolve(out) });
    return 0;
  });
}

async function restore(storeDir: string, { from, 'revision-bump': revisionBump }: StoreFlags): Promise<number> {
  if (existsSync(from)) await makeDirectory(dirname(storeDir));
  const revision = await restoreLmdbBackup({ backupDir: resolve(from), dataDir: storeDir, revisionBump });
  print({ revision });
  return 0;
}

async function serverStats(client: Client): Promise<number> {
  print(JSON.parse((await client.raw({ path: `${storePagesRoot}/stats` })).body));
  return 0;
}

async function compactServer(client: Client): Promise<number> {
  // 0: a large history takes its time.
  const { body } = await client.raw({ method: 'POST', path: `${storePagesRoot}/compact`, timeoutMs: 0 });
  print(JSON.parse(body));
  return 0;
}

async function backupServer(client: Client, { out }: StoreFlags): Promise<number> {
  const directory = resolve(out);
  const file = join(directory, dataFileName);
  if (existsSync(file)) throw new Error(`${file} exists already`);
  await makeDirectory(directory);
  const partial = `${file}.partial`;
  try {
    const answer = await client.rawStream({ path: `${storePagesRoot}/backup`, accept: '*/*' });
    await pipeline(answer, createWriteStream(partial, { mode: 0o600, flush: true }));
    await rename(partial, file);
  } finally {
    await rm(partial, { force: true });
  }
  print({ directory });
  return 0;
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

function usage(): string {
  const lines = [...actions].map(([name, { help, online }]) => {
    const where = online === undefined ? '--data-dir' : '--data-dir or --kubeconfig';
    return `  ${name.padEnd(9)}${help} (${where})`;
  });
  return `Usage: kapstan store COMMAND [flags]\n\n${lines.join('\n')}\n\n${formatFlags(storeFlags)}`;
}
