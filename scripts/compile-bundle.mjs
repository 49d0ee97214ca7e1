// Runs a bundle as its users will, and stores next to each script the code that V8 has compiled by then, so that the
// next start need not compile it. Called by scripts/bundle.mjs with the name of a package.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledFile, currentBundle, loadBundle } from '../packages/control-plane/dist/bundle.js';
import { root } from './set-up.mjs';

const [name] = process.argv.slice(2);
const scripts = new Map();
const load = (shared) => {
  const bundle = currentBundle(pathToFileURL(join(root, 'packages', name, '/')));
  return loadBundle(bundle, { shared, onScript: (file, script) => scripts.set(file, script) });
};

const users = { 'control-plane': serveTwice, testing: makeClusters };
await users[name]();
for (const [file, script] of scripts) writeFileSync(compiledFile(file), script.createCachedData());

/** Serves on a fresh data directory, which gets its certificates and first objects, and then on the same one again. */
async function serveTwice() {
  const { main } = load();
  const folder = mkdtempSync(join(tmpdir(), 'kapstan-bundle-'));
  try {
    for (let run = 0; run < 2; run += 1) await serveUntilReady(main, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serveUntilReady(main, folder) {
  const readyFile = join(folder, 'ready.json');
  const stop = new AbortController();
  let receive;
  const received = new Promise((resolve) => {
    receive = resolve;
  });
  const flags = ['--secure-port=0', `--data-dir=${folder}/data`, `--ready-file=${readyFile}`];
  let code;
  const ended = main(['serve', ...flags], { received, signal: stop.signal, ignore: () => undefined }).then((value) => {
    code = value;
  });
  while (code === undefined && !existsSync(readyFile)) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  receive('SIGTERM');
  await ended;
  if (code !== 0) throw new Error(`the bundled command ended with ${code}`);
}

async function makeClusters() {
  const shared = {
    '@kapstan/api': await import('../packages/api/dist/index.js'),
    '@kapstan/api/testing': await import('../packages/api/dist/testing/index.js'),
  };
  const { testCluster } = load(shared);
  for (const http of ['off', 'on']) {
    const cluster = await testCluster({ http });
    await cluster.close();
  }
}
