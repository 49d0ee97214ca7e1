// `kapstan store …`: looks after the store, on a stopped data directory or on a running server.
import { createWriteStream, existsSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Revision } from '@kapstan/api';
import { type Client, connect } from '@kapstan/client';
import { isStorageError } from '@kapstan/storage';
import {
  type CheckReport,
  dataFileName,
  type LmdbBackup,
  type LmdbEngine,
  openLmdbBackup,
  openLmdbEngine,
  type ReadValue,
  restoreLmdbBackup,
} from '@kapstan/storage-lmdb';
import { makeDirectory } from '../certificates/make-directory.ts';
import { type FlagValues, formatFlags, intFlag, parseFlags, stringFlag, UsageError } from '../flags/flag-set.ts';
import { reasonOf } from '../start-error.ts';
import { storePagesRoot } from '../store/store-pages.ts';
import { ValueReader } from '../store/store-values.ts';
import { printError, printResult } from './standard-streams.ts';

const storeFlags = {
  'data-dir': stringFlag('Data directory of a server that is not running.'),
  kubeconfig: stringFlag('Kubeconfig of a running server, of a user in system:masters.'),
  out: stringFlag('Directory that a backup is written to; made when absent.'),
  from: stringFlag('Directory of the backup to restore, or to look at.'),
  'etcd-prefix': stringFlag('What all keys begin with, as it was given to the server.', '/registry'),
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
  /** Flags beside the one that says which store; each must have a value. */
  readonly flags: readonly FlagName[];
  /** 0 = done, 1 = not. */
  readonly offline: (storeDir: string, flags: StoreFlags) => Promise<number>;
  /** Absent = only on a stopped data directory. */
  readonly online?: (client: Client, flags: StoreFlags) => Promise<number>;
  /** On a backup as it lies there. Absent = on a store only. */
  readonly onBackup?: (backup: LmdbBackup, flags: StoreFlags) => Promise<number>;
}

const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  [
    'check',
    {
      help: 'read the whole store and say what is wrong with it',
      flags: ['etcd-prefix'],
      offline: check,
      onBackup: (backup, flags) => reported(flags, (readValue) => backup.check(readValue)),
    },
  ],
  [
    'stats',
    {
      help: 'show revisions, counts and sizes',
      flags: [],
      offline: stats,
      online: serverStats,
      onBackup: async (backup) => printed(backup.stats()),
    },
  ],
  ['compact', { help: 'drop all history before now', flags: [], offline: compact, online: compactServer }],
  ['backup', { help: 'copy the store into a directory', flags: ['out'], offline: backup, online: backupServer }],
  ['restore', { help: 'make a store from a backup', flags: ['from', 'revision-bump'], offline: restore }],
]);

/** Runs one store command: 0 = done, 1 = it failed or found something wrong. Throws UsageError for a wrong call. */
export async function store(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (['help', '--help', '-h'].includes(name) || rest.some((arg) => arg === '--help' || arg === '-h')) {
    const status = await printResult(usage());
    return args.length === 0 ? 2 : status;
  }
  const action = actions.get(name);
  if (action === undefined) throw new UsageError(`unknown store command "${name}"; 'kapstan store help' lists them`);
  const flags = readFlags(name, action, rest);
  try {
    return await run(name, action, flags);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof UsageError) throw error;
    await printError(`kapstan store ${name}: ${reasonOf(error)}${adviceOn(error, action)}\n`);
    return 1;
  }
}

function run(name: string, action: Action, flags: StoreFlags): Promise<number> {
  if (flags.kubeconfig !== '') return runOnline(action, flags);
  return flags['data-dir'] === '' ? runOnBackup(action, flags) : runOffline(name, action, flags);
}

/** What to do about a store that a running server has open. */
function adviceOn(error: Error, action: Action): string {
  if (!isStorageError(error, 'Unreachable')) return '';
  return action.online === undefined ? '; stop it first' : '; --kubeconfig FILE asks the server that runs';
}

function readFlags(name: string, action: Action, args: readonly string[]): StoreFlags {
  const places = placesOf(action);
  const known: readonly string[] = [...places, ...action.flags];
  for (const arg of args) {
    const flag = /^--([a-z-]+)/.exec(arg)?.[1] ?? '';
    if (!Object.hasOwn(storeFlags, flag) || known.includes(flag)) continue;
    const advice = flag === 'kubeconfig' ? ': stop the server and give --data-dir' : '';
    throw new UsageError(`--${flag} is not a flag of kapstan store ${name}${advice}`);
  }
  const flags = parseFlags(storeFlags, args);
  const given = places.filter((place) => flags[place] !== '').length;
  if (given === 0) throw new UsageError(`${listed(places)} must be given`);
  if (given > 1) throw new UsageError(`only ${listed(places)} may be given`);
  for (const flag of action.flags) if (flags[flag] === '') throw new UsageError(`--${flag} must be given`);
  return flags;
}

/** The flags of which one says where the store is. */
function placesOf(action: Action): readonly FlagName[] {
  const online = action.online === undefined ? [] : (['kubeconfig'] as const);
  const onBackup = action.onBackup === undefined ? [] : (['from'] as const);
  return ['data-dir', ...online, ...onBackup];
}

/** "one of --a, --b and --c". */
function listed(places: readonly FlagName[]): string {
  const names = places.map((place) => `--${place}`);
  return names.length === 1 ? names.join('') : `one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

async function runOffline(name: string, action: Action, flags: StoreFlags): Promise<number> {
  const dataDir = flags['data-dir'];
  const storeDir = join(resolve(dataDir), 'store');
  if (name !== 'restore' && !isThere(join(storeDir, dataFileName))) {
    const isBackup = isThere(join(resolve(dataDir), dataFileName));
    const advice = action.onBackup === undefined ? 'restore it first' : `look at it with --from ${dataDir}`;
    throw new Error(`there is no store in ${dataDir}${isBackup ? `, it is a backup: ${advice}` : ''}`);
  }
  return action.offline(storeDir, flags);
}

/** Throws where it may not be looked at: that is another thing than nothing. */
function isThere(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

async function runOnBackup(action: Action, flags: StoreFlags): Promise<number> {
  await using backup = await openLmdbBackup(flags.from);
  return (await action.onBackup?.(backup, flags)) ?? 1;
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

function check(storeDir: string, flags: StoreFlags): Promise<number> {
  return withStore(storeDir, (engine) => reported(flags, (readValue) => engine.check(readValue)));
}

async function reported(flags: StoreFlags, check: (readValue: ReadValue) => Promise<CheckReport>): Promise<number> {
  const values = new ValueReader(flags['etcd-prefix']);
  const { problems, ...counts } = await check((key, value) => values.read(key, value));
  const status = await printed({ ...counts, encrypted: values.encrypted, problems });
  return problems.length === 0 ? status : 1;
}

function stats(storeDir: string): Promise<number> {
  return withStore(storeDir, async (engine) => printed(await engine.stats()));
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
    return printed({ revision });
  });
}

function backup(storeDir: string, { out }: StoreFlags): Promise<number> {
  return withStore(storeDir, async (engine) => {
    await makeDirectory(out);
    await engine.backup(resolve(out));
    return printed(await madeBackup(out));
  });
}

async function restore(storeDir: string, { from, 'revision-bump': revisionBump }: StoreFlags): Promise<number> {
  if (existsSync(from)) await makeDirectory(dirname(storeDir));
  const revision = await restoreLmdbBackup({ backupDir: resolve(from), dataDir: storeDir, revisionBump });
  return printed({ revision });
}

/** Read from the copy itself, which shows that it can be read. */
async function madeBackup(out: string): Promise<{ readonly revision: Revision; readonly directory: string }> {
  await using backup = await openLmdbBackup(out);
  return { revision: backup.stats().revision, directory: resolve(out) };
}

async function serverStats(client: Client): Promise<number> {
  return printed(JSON.parse((await client.raw({ path: `${storePagesRoot}/stats` })).body));
}

async function compactServer(client: Client): Promise<number> {
  // 0: a large history takes its time.
  const { body } = await client.raw({ method: 'POST', path: `${storePagesRoot}/compact`, timeoutMs: 0 });
  return printed(JSON.parse(body));
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
  return printed(await madeBackup(out));
}

function printed(value: unknown): Promise<number> {
  return printResult(`${JSON.stringify(value, undefined, 2)}\n`);
}

function usage(): string {
  const lines = [...actions].map(([name, action]) => {
    const where = placesOf(action).map((place) => `--${place}`);
    return `  ${name.padEnd(9)}${action.help} (${where.join(' or ')})`;
  });
  return `Usage: kapstan store COMMAND [flags]\n\n${lines.join('\n')}\n\n${formatFlags(storeFlags)}`;
}
