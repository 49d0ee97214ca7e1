// Tests the first controller, bundled into one file as docs/guide/bundling.md describes, and run against an API server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { type OutputChunk, rolldown } from 'rolldown';
import { filter, firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, expect, it } from 'vitest';

/**
 * The size limit for a controller in one file, minified. docs/decisions/0044-small-bundles.md describes how it was
 * reached.
 */
const maxBytes = 1_000_000;

const bytesOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

function loadedAtStart(chunks: readonly OutputChunk[]): readonly OutputChunk[] {
  const loaded = new Set(chunks.filter(({ isEntry }) => isEntry));
  for (const { imports } of loaded) for (const one of chunks) if (imports.includes(one.fileName)) loaded.add(one);
  return [...loaded];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-bundled-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  ['in one file', true],
  ['in several files', false],
] as const)('the first controller runs %s', async (_what, isOne) => {
  const dir = join(folder, isOne ? 'one' : 'several');
  const bundle = await rolldown({ input: join(root, 'examples/first-controller/dist/main.js'), platform: 'node' });
  const { output } = await bundle.write({
    dir,
    format: 'esm',
    minify: true,
    codeSplitting: !isOne,
    entryFileNames: 'main.mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  await bundle.close();
  const chunks = output.filter((one) => one.type === 'chunk');
  expect(chunks.length === 1).toBe(isOne);
  expect(bytesOf(chunks.map(({ code }) => code))).toBeLessThan(maxBytes);
  const file = join(dir, 'main.mjs');
  // The code that is loaded before the program connects.
  if (!isOne) expect(bytesOf(loadedAtStart(chunks).map(({ code }) => code))).toBeLessThan(300_000);

  await using cluster = await testCluster({ clock: 'real' });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, cluster.kubeconfig);
  // The program runs in a folder without node_modules, so everything must be in the file.
  const child = spawn(process.execPath, [file], { cwd: folder, env: { KUBECONFIG: kubeconfig } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const exited = once(child, 'exit');
  await cluster.client.create(ConfigMap, {
    metadata: { namespace: 'default', name: 'quiet' },
    data: { text: 'hello' },
  });
  const changes = cluster.client.listerWatcher(ConfigMap).watch({});
  const shouted = changes.pipe(filter((event) => event.type !== 'BOOKMARK' && event.object.data?.shouted === 'HELLO'));
  await Promise.race([firstValueFrom(shouted), exited.then(() => Promise.reject(new Error(said)))]);
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});
