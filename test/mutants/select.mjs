// Selects the mutants to run: those whose text matches, or those of changed packages, drawn in an order that differs
// for each commit.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();

/**
 * Reads the command's options: `{ filter, changed, minutes }`. No mutant is started after `minutes`. Throws for an
 * unknown option.
 *   npm run test:mutants -- "part of its text"
 *   npm run test:mutants -- --changed --minutes=15      packages that changed in the last day of commits
 *   npm run test:mutants -- --changed=main              packages that changed since another commit
 */
export function readOptions(args) {
  const options = { filter: '', changed: undefined, minutes: Number.POSITIVE_INFINITY };
  for (const arg of args) {
    const [, name, value] = /^--(changed|minutes)(?:=(.+))?$/.exec(arg) ?? [];
    if (name === 'changed') options.changed = value ?? dayBefore();
    else if (name === 'minutes' && Number(value) > 0) options.minutes = Number(value);
    else if (arg.startsWith('--')) throw new Error(`unknown option ${arg}`);
    else options.filter = arg;
  }
  return options;
}

/** Returns the newest commit that is a day older than the present one, or the first commit of a younger history. */
function dayBefore() {
  const seconds = Number(git('log', '-1', '--format=%ct'));
  const before = git('rev-list', '-1', `--before=${seconds - 86_400}`, 'HEAD');
  return before === '' ? git('rev-list', '--max-parents=0', 'HEAD').split('\n')[0] : before;
}

/** Returns the names of changed packages and examples. */
function changedPackages(base) {
  const files = [git('diff', '--name-only', base), git('ls-files', '--others', '--exclude-standard')].join('\n');
  return new Set(files.split('\n').flatMap((file) => /^(?:packages|examples)\/([^/]+)\//.exec(file)?.[1] ?? []));
}

export function select(all, { filter, changed }) {
  const matching = all.filter(({ what, file, test }) => `${what} ${file} ${test}`.includes(filter));
  if (changed === undefined) return matching;
  const packages = changedPackages(changed);
  const chosen = matching.filter(({ file }) => packages.has(file.split('/')[1]));
  const head = git('rev-parse', 'HEAD');
  const place = ({ what, file }) => createHash('sha256').update(`${head} ${file} ${what}`).digest('hex');
  return chosen
    .map((mutant) => ({ mutant, at: place(mutant) }))
    .sort((a, b) => (a.at < b.at ? -1 : 1))
    .map(({ mutant }) => mutant);
}
