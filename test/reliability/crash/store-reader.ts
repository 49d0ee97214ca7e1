// StoreReader opens stores in a process that may die of them. Parent of crash-reader.mjs.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The content of a store, or why it could not be opened. */
export interface FoundStore {
  readonly problems: readonly string[];
  readonly revision: number;
  readonly states: readonly { readonly key: string; readonly modRevision: number; readonly value: string }[];
}

/** LMDB can go round in circles in torn pages. */
const patienceMs = 20_000;
const program = fileURLToPath(new URL('crash-reader.mjs', import.meta.url));

export class StoreReader {
  #child: ChildProcess | undefined;
  #lines: Interface | undefined;

  /**
   * Opens, checks and reads the store in a directory. A process that takes longer than 20 s is ended. Call it for one
   * store at a time.
   */
  async read(dataDir: string): Promise<FoundStore | 'died'> {
    const { child, lines } = this.#process();
    const answer = new Promise<FoundStore | 'died'>((resolve) => {
      lines.once('line', (line) => resolve(JSON.parse(line) as FoundStore));
      child.once('exit', () => resolve('died'));
    });
    const deadline = setTimeout(() => child.kill('SIGKILL'), patienceMs);
    child.stdin?.write(`${dataDir}\n`);
    const found = await answer;
    clearTimeout(deadline);
    child.removeAllListeners('exit');
    lines.removeAllListeners('line');
    if (found === 'died') this.#child = undefined;
    return found;
  }

  [Symbol.dispose](): void {
    this.#child?.kill('SIGKILL');
  }

  #process(): { readonly child: ChildProcess; readonly lines: Interface } {
    if (this.#child !== undefined && this.#lines !== undefined) return { child: this.#child, lines: this.#lines };
    // LMDB's output before it ends the process would look like a failure in the report of a successful run.
    const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'ignore'] });
    const lines = createInterface({ input: child.stdout });
    child.stdin.on('error', () => undefined);
    this.#child = child;
    this.#lines = lines;
    return { child, lines };
  }
}
