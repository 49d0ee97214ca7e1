// Runs npm in the new project. Used by command.ts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Resolves to the exit status. Its output goes where ours goes. */
export async function runNpm(args: readonly string[], directory: string): Promise<number> {
  // The npm that runs this program, if it is one: another one may be first in the path.
  const script = process.env.npm_execpath ?? '';
  const isNpm = /[/\\]npm-cli\.js$/.test(script);
  const [file, all] = isNpm ? [process.execPath, [script, ...args]] : ['npm', [...args]];
  // On Windows npm is a script of the shell. The arguments are ours, not the user's.
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
