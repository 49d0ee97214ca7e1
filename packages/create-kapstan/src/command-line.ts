// The command line: flags to ProjectOptions, and the help. Used by command.ts.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { defaultOptions, type ProjectOptions } from './project-options.ts';

/** Wrong usage: status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface CommandLine extends ProjectOptions {
  readonly install: boolean;
}

const texts = ['group', 'kind', 'test', 'packages'] as const;
const switches = ['force', 'no-install'] as const;

/** Returns 'help' or 'version' when one of them is requested. Throws UsageError. */
export function parseCommandLine(args: readonly string[], directory: string): CommandLine | 'help' | 'version' {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(texts.map((name) => [name, { type: 'string' as const }])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options = tokens.filter((token) => token.kind === 'option');
  if (options.some(({ name }) => name === 'help' || name === 'h')) return 'help';
  if (options.some(({ name }) => name === 'version')) return 'version';
  const flags = new Map(options.map((token) => [token.name, flagValue(token)]));
  const name = onlyName(tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : [])));
  const packages = flags.get('packages');
  return {
    name,
    group: flags.get('group') ?? defaultOptions.group,
    kind: flags.get('kind') ?? defaultOptions.kind,
    test: (flags.get('test') ?? defaultOptions.test) as 'vitest' | 'node',
    packages: packages === undefined ? undefined : resolve(directory, packages),
    force: flags.has('force'),
    install: !flags.has('no-install'),
  };
}

function onlyName([name, more]: readonly string[]): string {
  if (name === undefined) throw new UsageError('a NAME is required');
  if (more === undefined) return name;
  throw new UsageError(`only one NAME is allowed, found ${JSON.stringify(more)} after ${JSON.stringify(name)}`);
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
}

function flagValue({ name, rawName, value }: OptionToken): string {
  if ((switches as readonly string[]).includes(name)) {
    if (value === undefined) return '';
    throw new UsageError(`${rawName} takes no value`);
  }
  if (!(texts as readonly string[]).includes(name)) throw new UsageError(`unknown flag: ${rawName}`);
  // The next flag is not a value.
  if (value === undefined || value === '' || value.startsWith('--'))
    throw new UsageError(`flag needs an argument: ${rawName}`);
  return value;
}

export function helpText(command: string): string {
  const { group, kind, test } = defaultOptions;
  return `Create a controller project: one kind, its controller and webhooks, tests, a development server, manifests and CI.

Usage:
  ${command} NAME [flags]

Examples:
  # A project in the new directory my-controller
  ${command} my-controller

  # With a kind of your own, and tests for node --test
  ${command} backups --group example.org --kind Backup --test node

  # With packages that were packed in a clone, for example without a registry
  ${command} my-controller --packages ../kapstan/packed

NAME is also the name of the package, the image, the namespace and the objects in it.

Flags:
  --group string      API group of the kind. (default "${group}")
  --kind string       Kind, in CamelCase. (default "${kind}")
  --test string       Test runner: vitest or node. (default "${test}")
  --packages string   Directory of packed packages (npm pack), which are copied into the project. If empty, they come from the registry.
  --force             Write into a directory that is not empty; files of the same name are replaced.
  --no-install        Do not run npm install and npm run generate.
  --help              Print this text.
  --version           Print the version.
`;
}
