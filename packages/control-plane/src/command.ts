// The kapstan command: reads the arguments, runs one subcommand and returns the exit code. Called by bin/kapstan.js.

import type { StopSignal } from './command/stop-signal.ts';
import { UsageError } from './flags/flag-set.ts';
import { StartError } from './lifetime/start-error.ts';
import { printError, printResult } from './output/standard-streams.ts';

const usage = `kapstan: the Kubernetes API server and its machinery, in one process

Usage:
  kapstan serve [flags]     run the control plane; 'kapstan serve --help' lists the flags
  kapstan store COMMAND     inspect and maintain the store; 'kapstan store help' lists the commands
  kapstan init NAME         create a controller project; 'kapstan init --help' lists the flags
  kapstan generate WHAT     write types, definitions, roles and manifests; 'kapstan generate help' lists them
  kapstan version           print the version
`;

/** Returns 0 = done, 1 = failed, 2 = wrong usage. Never rejects. `stop` ends `serve`; default: the signals of the process. */
export async function main(args: readonly string[], stop?: StopSignal): Promise<number> {
  try {
    return await run(args, stop);
  } catch (error) {
    if (error instanceof UsageError) {
      await printError(`kapstan: ${error.message}\n`);
      return 2;
    }
    if (error instanceof StartError) {
      await printError(`kapstan: ${error.message}\n`);
      return 1;
    }
    await printError(`kapstan: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
}

async function run(args: readonly string[], stop: StopSignal | undefined): Promise<number> {
  const [subcommand = 'help', ...rest] = args;
  switch (subcommand) {
    case 'serve': {
      const { serve } = await import('./serve.ts');
      return serve(rest, stop);
    }
    case 'store': {
      const { store } = await import('./command/store-command.ts');
      return store(rest);
    }
    case 'init': {
      const { main: create } = await import('create-kapstan');
      return create(rest, { command: 'kapstan init' });
    }
    case 'generate': {
      const { generate } = await import('./command/generate-command.ts');
      return generate(rest);
    }
    case 'version':
    case '--version': {
      const { kapstanVersion } = await import('./version.ts');
      return printResult(`kapstan ${kapstanVersion()}\n`);
    }
    case 'help':
    case '--help':
    case '-h':
      return helped(args);
    default:
      throw new UsageError(`unknown command "${subcommand}"; 'kapstan help' lists the commands`);
  }
}

async function helped(args: readonly string[]): Promise<number> {
  const status = await printResult(usage);
  return args.length === 0 ? 2 : status;
}
