// Runs npm in the new project. Used by command.ts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Resolves to the exit status. npm's output goes to the output of this program. */
export async function runNpm(args: readonly string[], directory: string): Promise<number> {
  // Uses the npm that runs this program, if there is one, because another one may be first in the path.
  const script = process.env.npm_execpath ?? '';
  const isNpm = /[/\\]npm-cli\.js$/.test(script);
  const [file, all] = isNpm ? [process.execPath, [script, ...args]] : ['npm', [...args]];
  // On Windows npm is a shell script. The arguments are ours, not the user's.
  const isShell = !isNpm && process.platform === 'win32';
  const child = spawn(file, all, { cwd: directory, stdio: ['ignore', 'inherit', 'inherit'], shell: isShell });
  try {
    const [status] = (await once(child, 'exit')) as [number | null];
    return status ?? 1;
  } catch (error) {
    process.stderr.write(`cannot run npm: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
