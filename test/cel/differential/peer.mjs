// The program of the libraries that Kubernetes runs (main.go), built where Go is.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Path of the program; undefined where it cannot be built. KAPSTAN_CEL_PEER names one that is already built. */
export function buildPeer() {
  if (process.env.KAPSTAN_CEL_PEER !== undefined) return process.env.KAPSTAN_CEL_PEER;
  if (spawnSync('go', ['version']).status !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'kapstan-cel-'));
  for (const file of ['main.go', 'go.mod', 'go.sum']) cpSync(new URL(file, import.meta.url), join(folder, file));
  const built = spawnSync('go', ['build', '-o', 'peer', '.'], { cwd: folder, stdio: 'inherit' });
  return built.status === 0 && existsSync(join(folder, 'peer')) ? join(folder, 'peer') : undefined;
}

/** Asks the program and returns one answer for each question. */
export function askPeer(peer, questions, args = []) {
  const input = questions.map((question) => JSON.stringify(question)).join('\n');
  const { stdout, stderr, status } = spawnSync(peer, args, { input, maxBuffer: 1 << 30, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the program of the recorded libraries failed: ${stderr.slice(0, 2000)}`);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
