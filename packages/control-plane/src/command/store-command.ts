// `kapstan store …`: inspects and maintains the store of a stopped data directory or of a running server.
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
import { reasonOf } from '../lifetime/start-error.ts';
import { printError, printResult } from '../output/standard-streams.ts';
import { storePagesRoot } from '../store/store-pages.ts';
import { ValueReader } from '../store/store-values.ts';

const storeFlags = {
  'data-dir': stringFlag('Data directory of a server that is not running.'),
  kubeconfig: stringFlag('Path to a kubeconfig for a running server. Its user must be in the group system:masters.'),
  out: stringFlag('Directory to write the backup to. It is created if it does not exist.'),
  from: stringFlag('Directory of the backup to restore or inspect.'),
  'etcd-prefix': stringFlag('Prefix of all keys in the store. Must be the same as for the server.', '/registry'),
  'revision-bump': intFlag(
    'Number added to the last revision of the restored store. Must be larger than the number of revisions written since the backup.',
    {
      default: 1_000_000_000,
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    },
  ),
};

type StoreFlags = FlagValues<typeof storeFlags>;
type FlagName = keyof StoreFlags;

interface Action {
  readonly help: string;
  /** Required flags, in addition to the one that selects the store. */
  readonly flags: readonly FlagName[];
  /** Resolves to 0 on success, 1 on failure. */
  readonly offline: (storeDir: string, flags: StoreFlags) => Promise<number>;
  /** Absent: the command works only on a stopped data directory. */
  readonly online?: (client: Client, flags: StoreFlags) => Promise<number>;
  /** Works on a backup in place. Absent: the command works only on a store. */
  readonly onBackup?: (backup: LmdbBackup, flags: StoreFlags) => Promise<number>;
}

const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  [
    'check',
    {
      help: 'read the whole store and report its faults',
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
  [
    'compact',
    { help: 'drop all history before the current revision', flags: [], offline: compact, online: compactServer },
  ],
  ['backup', { help: 'copy the store into a directory', flags: ['out'], offline: backup, online: backupServer }],
  ['restore', { help: 'create a store from a backup', flags: ['from', 'revision-bump'], offline: restore }],
]);

/** Runs one store command. Returns 0 on success, 1 when it fails or finds a problem. Throws UsageError for wrong usage. */
export async function store(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (['help', '--help', '-h'].includes(name) || rest.some((arg) => arg === '--help' || arg === '-h')) {
    const status = await printResult(usage());
    return args.length === 0 ? 2 : status;
  }
  const action = actions.get(name);
  if (action === undefined)
    throw new UsageError(`unknown store command "${name}"; 'kapstan store help' lists the commands`);
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

/** Returns advice for a store that a running server has open. */
function adviceOn(error: Error, action: Action): string {
  if (!isStorageError(error, 'Unreachable')) return '';
  return action.online === undefined ? '; stop the server first' : '; use --kubeconfig FILE to ask the running server';
}

function readFlags(name: string, action: Action, args: readonly string[]): StoreFlags {
  const places = placesOf(action);
  const known: readonly string[] = [...places, ...action.flags];
  for (const arg of args) {
    const flag = /^--([a-z-]+)/.exec(arg)?.[1] ?? '';
    if (!Object.hasOwn(storeFlags, flag) || known.includes(flag)) continue;
    const advice = flag === 'kubeconfig' ? ': stop the server and use --data-dir' : '';
    throw new UsageError(`--${flag} is not a flag of kapstan store ${name}${advice}`);
  }
  const flags = parseFlags(storeFlags, args);
  const given = places.filter((place) => flags[place] !== '').length;
  if (given === 0) throw new UsageError(`${listed(places)} must be specified`);
  if (given > 1) throw new UsageError(`only ${listed(places)} may be specified`);
  for (const flag of action.flags) if (flags[flag] === '') throw new UsageError(`--${flag} must be specified`);
  return flags;
}

/** Returns the flags of which exactly one selects the store. */
function placesOf(action: Action): readonly FlagName[] {
  const online = action.online === undefined ? [] : (['kubeconfig'] as const);
  const onBackup = action.onBackup === undefined ? [] : (['from'] as const);
  return ['data-dir', ...online, ...onBackup];
}

/** Formats "one of --a, --b and --c". */
function listed(places: readonly FlagName[]): string {
  const names = places.map((place) => `--${place}`);
  return names.length === 1 ? names.join('') : `one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

async function runOffline(name: string, action: Action, flags: StoreFlags): Promise<number> {
  const dataDir = flags['data-dir'];
  const storeDir = join(resolve(dataDir), 'store');
  if (name !== 'restore' && !isThere(join(storeDir, dataFileName))) {
    const isBackup = isThere(join(resolve(dataDir), dataFileName));
    const advice = action.onBackup === undefined ? 'restore it first' : `use --from ${dataDir} to inspect it`;
    throw new Error(`there is no store in ${dataDir}${isBackup ? `, it is a backup: ${advice}` : ''}`);
  }
  return action.offline(storeDir, flags);
}

/** Throws when the file may not be accessed, because that does not mean that it is absent. */
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
      // The store is compacted to this revision already.
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

/** Reads the result from the backup itself, which proves that it can be read. */
async function madeBackup(out: string): Promise<{ readonly revision: Revision; readonly directory: string }> {
  await using backup = await openLmdbBackup(out);
  return { revision: backup.stats().revision, directory: resolve(out) };
}

async function serverStats(client: Client): Promise<number> {
  return printed(JSON.parse((await client.raw({ path: `${storePagesRoot}/stats` })).body));
}

async function compactServer(client: Client): Promise<number> {
  // No timeout (0), because compacting a large history takes time.
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
