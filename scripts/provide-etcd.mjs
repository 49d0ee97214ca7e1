// Prints the path of an etcd server for the tests: one on PATH, else the Debian package's, else one built with Go from the module proxy. Prints
// nothing but a warning where there is none; the tests that need it are then skipped, and say so. --no-build leaves Go out. Run by the workflow
// `release`, and with --no-build by .ci/run, whose time is bounded.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';

/** A version whose modules are in the proxy. Debian's package may be older. */
const version = 'v3.6.14';
/** Longest time for one command, in milliseconds. A build takes two to four minutes on two cores, an installation half a minute. */
const limits = { build: 300_000, install: 90_000 };
const mayBuild = !process.argv.includes('--no-build');

function onPath(command) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, command)).find((file) => existsSync(file));
}

/** Returns whether the command succeeded. What it prints goes to the log. */
function succeeds(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, {
    stdio: ['ignore', 2, 2],
    timeout: limits.install,
    ...options,
    env: { ...process.env, ...options.env },
  });
  return error === undefined && status === 0;
}

function installed() {
  if (process.getuid?.() !== 0 || onPath('apt-get') === undefined) return undefined;
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  // Without `apt-get update`, a fresh machine knows no packages.
  const isInstalled = [
    ['update', '-q'],
    ['install', '-q', '-y', '--no-install-recommends', 'etcd-server'],
  ].every((args) => succeeds('apt-get', args, { env }));
  return isInstalled ? onPath('etcd') : undefined;
}

/** Builds etcd in a module of its own, because `go install` refuses modules that replace others. Keeps it for the next run. */
function built() {
  const kept = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'kapstan', `etcd-${version}`);
  if (existsSync(kept)) return kept;
  if (onPath('go') === undefined) return undefined;
  // Beside the kept file, because a file cannot be renamed into another file system.
  mkdirSync(dirname(kept), { recursive: true });
  const folder = mkdtempSync(join(dirname(kept), 'build-'));
  try {
    const binary = join(folder, 'etcd');
    const isBuilt = [
      ['mod', 'init', 'etcd.test'],
      ['get', `go.etcd.io/etcd/server/v3@${version}`],
      ['build', '-o', binary, 'go.etcd.io/etcd/server/v3'],
    ].every((args) => succeeds('go', args, { cwd: folder, timeout: limits.build, env: { CGO_ENABLED: '0' } }));
    if (!isBuilt || !existsSync(binary)) return undefined;
    renameSync(binary, kept);
    return kept;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tests that need etcd may be skipped, so a failure here must not end the run. */
function provided() {
  try {
    return onPath('etcd') ?? installed() ?? (mayBuild ? built() : undefined);
  } catch (error) {
    console.error(error);
    return undefined;
  }
}

const path = provided();
if (path === undefined)
  console.error('no etcd: it is not on PATH, and neither apt-get nor go could provide it; its tests are skipped');
else console.log(path);
