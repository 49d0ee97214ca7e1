// `kapstan generate …`: writes files from a controller program and for it. The generators are in @kapstan/generate, which only this command
// loads, so a server does not load them.
import type { GeneratedFile } from '@kapstan/generate';
import {
  booleanFlag,
  type Flag,
  FlagRefusal,
  type FlagValues,
  formatFlags,
  intFlag,
  parseFlags,
  stringFlag,
  UsageError,
} from '../flags/flag-set.ts';
import { printError, printResult } from '../output/standard-streams.ts';

const maxUser = 2 ** 31 - 1;

const generateFlags = {
  out: stringFlag(
    'Directory to write to. It is created if it does not exist. If empty, "types" writes to "generated", and all others print their output.',
  ),
  check: booleanFlag(
    'Write nothing; fail and list the files in --out that are missing, out of date or no longer made.',
    false,
  ),
  kubeconfig: optionalTextFlag(
    'Path to the kubeconfig of a cluster whose definitions are read. Without a value: the usual one.',
  ),
  'import-extension': extensionFlag('Extension in imports between generated files, .ts or .js.'),
  name: stringFlag('Name of the roles, bindings, service account and Deployment.', 'controller'),
  namespace: stringFlag('Namespace of the service account and Deployment. If empty, "rbac" makes no bindings.'),
  image: stringFlag('Image of the container.'),
  replicas: intFlag('Number of pods. 0 = 2 with a leader election, otherwise 1.', { default: 0, min: 0, max: 1000 }),
  'run-as-user': intFlag('User id of the process.', { default: 1000, min: 1, max: maxUser }),
};

type GenerateFlags = FlagValues<typeof generateFlags>;
type FlagName = keyof GenerateFlags;
type Generators = typeof import('@kapstan/generate');

interface Action {
  readonly help: string;
  /** Kind of the first argument. */
  readonly argument: 'SOURCE' | 'MODULE';
  /** Flags besides --out and --check. */
  readonly flags: readonly FlagName[];
  /** Output path without --out. Absent = prints. */
  readonly out?: string;
  readonly files: (generators: Generators, argument: string, flags: GenerateFlags) => Promise<readonly GeneratedFile[]>;
}

const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  [
    'types',
    {
      help: 'types of the custom resources of a FILE, directory, URL or cluster (--kubeconfig)',
      argument: 'SOURCE',
      flags: ['kubeconfig', 'import-extension'],
      out: 'generated',
      files: typeFiles,
    },
  ],
  [
    'crds',
    {
      help: 'definitions of the resources that a module makes with defineResource',
      argument: 'MODULE',
      flags: [],
      files: async (generators, module) => generators.definitionFiles(await generators.loadProgram(module)),
    },
  ],
  [
    'rbac',
    {
      help: 'the least roles for the controllers that a module exports',
      argument: 'MODULE',
      flags: ['name', 'namespace'],
      files: async (generators, module, { name, namespace }) => [
        generators.roleFile(await generators.loadProgram(module), { name, namespace: namespace || undefined }),
      ],
    },
  ],
  [
    'manifests',
    {
      help: 'service account, roles and Deployment for the controllers that a module exports',
      argument: 'MODULE',
      flags: ['name', 'namespace', 'image', 'replicas', 'run-as-user'],
      files: manifestFiles,
    },
  ],
]);

/** Runs one generator. Returns 0 on success, 1 when it fails or --check finds a file out of date. Throws UsageError for wrong usage. */
export async function generate(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (['help', '--help', '-h'].includes(name) || rest.some((arg) => arg === '--help' || arg === '-h')) {
    const status = await printResult(usage());
    return args.length === 0 ? 2 : status;
  }
  const action = actions.get(name);
  if (action === undefined)
    throw new UsageError(`unknown generator "${name}"; 'kapstan generate help' lists the generators`);
  const { argument, flags } = readArguments(name, action, rest);
  try {
    const generators = await import('@kapstan/generate');
    return await finish(generators, await action.files(generators, argument, flags), { name, action, flags });
  } catch (error) {
    if (!(error instanceof Error) || error instanceof UsageError) throw error;
    await printError(`kapstan generate ${name}: ${error.message}\n`);
    return 1;
  }
}

function readArguments(
  name: string,
  action: Action,
  args: readonly string[],
): { readonly argument: string; readonly flags: GenerateFlags } {
  const [first = ''] = args;
  const argument = first.startsWith('-') ? '' : first;
  const flags = parseFlags(generateFlags, argument === '' ? args : args.slice(1));
  const known: readonly string[] = ['out', 'check', ...action.flags];
  for (const arg of args) {
    const flag = /^--([a-z-]+)/.exec(arg)?.[1] ?? '';
    if (Object.hasOwn(generateFlags, flag) && !known.includes(flag))
      throw new UsageError(`--${flag} is not a flag of kapstan generate ${name}`);
  }
  if (argument === '' && flags.kubeconfig === undefined)
    throw new UsageError(`kapstan generate ${name} needs a ${action.argument}, before its flags`);
  if (argument !== '' && flags.kubeconfig !== undefined)
    throw new UsageError('only one of SOURCE and --kubeconfig may be specified');
  if (flags.check && directoryOf(action, flags) === '') throw new UsageError('--check needs --out');
  return { argument, flags };
}

const directoryOf = (action: Action, flags: GenerateFlags): string => flags.out || (action.out ?? '');

interface Request {
  readonly name: string;
  readonly action: Action;
  readonly flags: GenerateFlags;
}

async function finish(
  { abandonedFiles, outdatedFiles, writeFiles }: Generators,
  files: readonly GeneratedFile[],
  { name, action, flags }: Request,
): Promise<number> {
  const directory = directoryOf(action, flags);
  if (directory === '') return printResult(files.map(({ text }) => text).join(''));
  if (!flags.check) {
    const written = await writeFiles(files, directory);
    const left = (await abandonedFiles(files, directory)).map((path) => `no longer made, delete it: ${path}\n`);
    return printResult(`${written.length} of ${files.length} files in ${directory} written\n${left.join('')}`);
  }
  const abandoned = (await abandonedFiles(files, directory)).map((path) => `${path} (no longer made, delete it)`);
  const outdated = [...(await outdatedFiles(files, directory)), ...abandoned];
  if (outdated.length === 0) return printResult(`${files.length} files in ${directory} are up to date\n`);
  const list = outdated.map((path) => `  ${path}\n`).join('');
  await printError(`kapstan generate ${name}: out of date in ${directory}:\n${list}`);
  return 1;
}

async function typeFiles(
  { readDefinitions, readDefinitionsOfCluster, typeFiles: make }: Generators,
  source: string,
  { kubeconfig, 'import-extension': importExtension }: GenerateFlags,
): Promise<readonly GeneratedFile[]> {
  if (kubeconfig === undefined) return make(await readDefinitions(source), { source, importExtension });
  // The address of the cluster is nobody's business, and it may differ for the same definitions.
  return make(await readDefinitionsOfCluster(kubeconfig), { source: 'a cluster', importExtension });
}

async function manifestFiles(
  { loadProgram, manifestFile }: Generators,
  module: string,
  { name, namespace, image, replicas, 'run-as-user': runAsUser }: GenerateFlags,
): Promise<readonly GeneratedFile[]> {
  if (image === '') throw new UsageError('--image must be specified');
  if (namespace === '') throw new UsageError('--namespace must be specified');
  const options = { name, namespace, image, replicas: replicas === 0 ? undefined : replicas, runAsUser };
  return [manifestFile(await loadProgram(module), options)];
}

/** Returns a text flag: "" when it stands alone, undefined when it is absent. */
function optionalTextFlag(help: string): Flag<string | undefined> {
  return { parse: (text) => text, default: undefined, help, shown: '', isOptional: true };
}

function extensionFlag(help: string): Flag<'.ts' | '.js'> {
  const parse = (text: string): '.ts' | '.js' => {
    if (text === '.ts' || text === '.js') return text;
    throw new FlagRefusal('must be .ts or .js');
  };
  return { parse, default: '.ts', help };
}

function usage(): string {
  const lines = [...actions].map(([name, action]) => {
    const flags = action.flags.map((flag) => `--${flag}`).join(', ');
    const also = flags === '' ? '' : `\n            ${flags}`;
    return `  ${`${name} ${action.argument}`.padEnd(17)} ${action.help}${also}`;
  });
  return `Usage: kapstan generate WHAT SOURCE|MODULE [flags]

A MODULE exports controllers (what .reconcile(…) returns), resources made with defineResource, and as "options" what its program gives to
run(). It must not call run() itself. TypeScript needs Node 22.18 or newer.

${lines.join('\n')}

${formatFlags(generateFlags)}`;
}
