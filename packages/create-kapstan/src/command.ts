// main() of `npm create kapstan` and of `kapstan init`: creates a project, installs its dependencies, and makes its manifests.
import { relative } from 'node:path';
import { helpText, parseCommandLine, UsageError } from './command-line.ts';
import { type CreatedProject, createProject } from './create-project.ts';
import { runNpm } from './npm-process.ts';
import { ownVersion } from './own-version.ts';
import { ProjectError } from './project-options.ts';

/** Says how the command is called. */
export interface CommandOptions {
  /** Name of the command for help and errors. Default "create-kapstan". */
  readonly command?: string;
  /** Directory in which the project's directory is made. Default: the current directory. */
  readonly directory?: string;
}

/** Returns 0 = done, 1 = failed, 2 = wrong usage. Rejects only for faults of this program. */
export async function main(args: readonly string[], options: CommandOptions = {}): Promise<number> {
  const { command = 'create-kapstan', directory = process.cwd() } = options;
  try {
    const line = parseCommandLine(args, directory);
    if (line === 'help') return print(helpText(command));
    if (line === 'version') return print(`${command} ${await ownVersion()}\n`);
    const project = await createProject(directory, line);
    print(`Created ${project.files.length} files in ${shown(directory, project)}\n`);
    const isInstalled = line.install && (await install(project, line.packages));
    print(nextSteps(shown(directory, project), isInstalled));
    return line.install && !isInstalled ? 1 : 0;
  } catch (error) {
    if (error instanceof UsageError) {
      printError(`${command}: ${error.message}\nSee '${command} --help' for usage.\n`);
      return 2;
    }
    if (!(error instanceof ProjectError)) throw error;
    printError(`${command}: ${error.message}\n`);
    return 1;
  }
}

/** Returns false when npm failed; its own output explains why. `packages`: the directory of packed packages, if one was named. */
async function install({ directory }: CreatedProject, packages: string | undefined): Promise<boolean> {
  print('npm installs its packages …\n');
  for (const args of [
    ['install', '--no-audit', '--no-fund'],
    ['run', 'generate', '--silent'],
  ]) {
    const status = await runNpm(args, directory);
    if (status === 0) continue;
    const advice =
      packages === undefined ? '; if the registry lacks @kapstan/*, name packed packages with --packages' : '';
    printError(`"npm ${args.join(' ')}" failed; the files stay, so run it again in ${directory}${advice}\n`);
    return false;
  }
  return true;
}

const shown = (from: string, { directory }: CreatedProject): string => relative(from, directory);

function nextSteps(directory: string, isInstalled: boolean): string {
  const first = isInstalled ? '' : '  npm install\n  npm run generate   # config/: definitions, roles and manifests\n';
  return `
Next:
  cd ${directory}
${first}  npm test           # the tests, each with a real API server in its process
  npm run dev        # an API server and the controller, which restarts after each change
`;
}

function print(text: string): 0 {
  process.stdout.write(text);
  return 0;
}

function printError(text: string): void {
  process.stderr.write(text);
}
