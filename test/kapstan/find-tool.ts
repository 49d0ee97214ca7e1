// Finds programs that a test needs in addition to the packages of `npm ci`, or installs them if that is allowed. Used
// by tests of test/.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Tool {
  readonly command: string;
  readonly debianPackage: string;
}

/**
 * Returns the path of a program: on PATH, or installed now if CI or KAPSTAN_TEST_INSTALL requests it. Undefined when it
 * is not available.
 */
export function findTool(tool: Tool): string | undefined {
  const found = onPath(tool.command);
  if (found !== undefined || !mayInstallDebianPackages()) return found;
  try {
    // Without `apt-get update`, a fresh machine knows no packages.
    for (const args of [
      ['update', '-q'],
      ['install', '-y', tool.debianPackage],
    ]) {
      const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
      execFileSync('apt-get', args, { stdio: 'ignore', env });
    }
  } catch (error) {
    process.emitWarning(`${tool.debianPackage} could not be installed: ${error}`);
  }
  return onPath(tool.command);
}

function onPath(command: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, command)).find((file) => existsSync(file));
}

/** True when tests may install programs. */
export const installsTools: boolean = process.env.CI === 'true' || process.env.KAPSTAN_TEST_INSTALL === '1';

function mayInstallDebianPackages(): boolean {
  return installsTools && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}
