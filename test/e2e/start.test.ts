// Runs the program of `npm start` as a process: the story to its end, a clean stop, and the same data after a restart.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../examples/start/dist/start.js', import.meta.url));
const running = new Set<ChildProcess>();

/** Starts the program and collects its output. */
function start(args: readonly string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let text = '';
  let notify: () => void = () => undefined;
  const read = (chunk: Buffer): void => {
    text += chunk.toString();
    notify();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const exited = once(child, 'exit').then(([code]) => {
    running.delete(child);
    notify();
    return code as number | null;
  });
  const printed = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(text)) {
      if (child.exitCode !== null)
        throw new Error(`ended with ${child.exitCode} before it printed ${pattern}:\n${text}`);
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    }
  };
  return { child, exited, printed, text: () => text };
}

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

describe('npm start', () => {
  it('--once shows a Foo become a Deployment, scales it 1 → 3 → 2 and ends with status 0', async () => {
    const { exited, text } = start(['--once']);
    expect(await exited, text()).toBe(0);
    for (const line of [
      /^Foo created\s+example-foo: 1 replicas wanted, 0 available$/m,
      /^ {2}Deployment\s+example-foo created/m,
      /^ {4}Event\s+Foo example-foo: Synced: Foo synced successfully/m,
      /^scale\s+example-foo to 3$/m,
      /^Foo changed\s+example-foo: 3 replicas wanted, 3 available$/m,
      /^scale\s+example-foo to 2$/m,
      /^Foo changed\s+example-foo: 2 replicas wanted, 2 available$/m,
      /^done\s+Foo → Deployment → ReplicaSet → 2 ready Pods, and the Event Synced$/m,
    ]) {
      expect(text()).toMatch(line);
    }
    expect(text()).not.toMatch(/^(error|failed|warning)/m);
  });

  it('stays up until Control-C, ends with status 0, and finds its data again', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-start-'));
    const args = ['--data-dir', dataDir, '--secure-port', '0'];
    try {
      const first = start(args);
      await first.printed(/^Foo changed\s+example-foo: 1 replicas wanted, 1 available$/m);
      expect(first.text()).toMatch(/^look\s+kubectl --kubeconfig .* get foos,deployments,replicasets,pods,events$/m);
      first.child.kill('SIGINT');
      expect(await first.exited, first.text()).toBe(0);

      const second = start(args);
      await second.printed(/^Foo found\s+example-foo: 1 replicas wanted, 1 available$/m);
      await second.printed(/^ {2}Deployment\s+example-foo found/m);
      expect(second.text()).not.toMatch(/created/);
      second.child.kill('SIGINT');
      expect(await second.exited, second.text()).toBe(0);
    } finally {
      await rm(dataDir, { recursive: true });
    }
  });

  it('refuses an unknown flag without a stack, and shows its flags', async () => {
    const { exited, text } = start(['--twice']);
    expect(await exited).toBe(2);
    expect(text()).toMatch(/^npm start: .*--twice/);
    expect(text()).not.toContain('    at ');
    const help = start(['--help']);
    expect(await help.exited).toBe(0);
    expect(help.text()).toContain('--secure-port N');
  });
});
