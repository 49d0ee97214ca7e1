// Builds the Go programs that test the server: ours in ./client-go, and the Go sample-controller, unmodified. Modules,
// objects and binaries are kept in one folder below the system's temporary one, so a second run builds nothing.
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const module = fileURLToPath(new URL('client-go/', import.meta.url));
const cache = join(tmpdir(), 'kapstan-peers');
const sampleController = 'k8s.io/sample-controller';
const rerun = 'npm test -- --project e2e test/e2e/peers';

/** A first build takes two minutes of CPU and 60 MB of modules; the limit leaves room for a busy machine. */
export const buildTimeoutMs = 600_000;

export interface GoPrograms {
  readonly peers: string;
  readonly sampleController: string;
  /** Path of the sample-controller's own manifests. */
  readonly manifests: string;
}

/**
 * Builds the programs. Resolves to a string with the reason if it cannot: there is no Go of the version in go.mod, or
 * its modules cannot be fetched. Rejects when a build fails.
 */
export async function buildGoPrograms(): Promise<GoPrograms | string> {
  const go = await goIn(module);
  if (typeof go === 'string') return go;
  await go('build', '-o', join(cache, 'bin/'), '.', sampleController);
  const { stdout } = await go('list', '-m', '-f', '{{.Dir}}', sampleController);
  return {
    peers: join(cache, 'bin/peers'),
    sampleController: join(cache, 'bin/sample-controller'),
    manifests: join(stdout.trim(), 'artifacts/examples'),
  };
}

/** Builds the program of the module in a folder and returns its path. Otherwise works like {@link buildGoPrograms}. */
export async function buildGoProgram(folder: URL, name: string): Promise<{ readonly path: string } | string> {
  const go = await goIn(fileURLToPath(folder));
  if (typeof go === 'string') return go;
  const path = join(cache, 'bin', name);
  await go('build', '-o', path, '.');
  return { path };
}

/** Returns the folder of a module, such as "istio.io/api@v1.31.1", or the reason why it cannot be downloaded. */
export async function goModule(name: string): Promise<{ readonly folder: string } | string> {
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-modcacherw', GOMODCACHE: join(cache, 'mod') };
  return exec('go', ['mod', 'download', '-json', name], { cwd: tmpdir(), env }).then(
    ({ stdout }) => ({ folder: (JSON.parse(stdout) as { readonly Dir: string }).Dir }),
    (error: Error) => `the Go module ${name} cannot be had (${lastLine(error)}); where it can: ${rerun}`,
  );
}

type Go = (...args: string[]) => Promise<{ readonly stdout: string }>;

/** Returns the go command for a module whose dependencies are available, or the reason why there is none. */
async function goIn(folder: string): Promise<Go | string> {
  const env = {
    ...process.env,
    CGO_ENABLED: '0',
    GOTOOLCHAIN: 'local',
    GOFLAGS: '-buildvcs=false -modcacherw',
    GOMODCACHE: join(cache, 'mod'),
    GOCACHE: join(cache, 'build'),
  };
  const go: Go = (...args) => exec('go', args, { cwd: folder, env, maxBuffer: 1 << 26 });
  const missing = await go('list', '-m').then(
    () => undefined,
    (error: Error) => `no Go of the version in ${folder}go.mod (${lastLine(error)}); install one, then: ${rerun}`,
  );
  if (missing !== undefined) return missing;
  const offline = await go('mod', 'download').then(
    () => undefined,
    (error: Error) => `the Go modules cannot be had (${lastLine(error)}); where they can: ${rerun}`,
  );
  return offline ?? go;
}

function lastLine(error: Error): string {
  return error.message.trim().split('\n').at(-1) ?? '';
}
