// npm run release publishes the packages; .github/workflows/release.yml runs it.
//   npm run release -- --version     raises the versions and writes the changelogs from the files in .changeset
//   npm run release                  builds, packs, checks and publishes, with a provenance statement
//   npm run release -- --dry-run     does all of that but publishing, and shows the changelog to come
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { controllerTree, dependenciesFirst, entryPointFaults, pack, treeReport } from './package-checks.mjs';
import { bin, build, checkNode, install, root } from './set-up.mjs';

const changesetCommand = bin('@changesets/cli/bin.js');
const folder = join(root, 'reports/release');

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

function fail(lines) {
  console.error(['The packages are not released:', ...lines.map((line) => `  ${line}`)].join('\n'));
  process.exit(1);
}

/** Returns the files that describe changes which no version has yet. */
function waitingChanges() {
  return readdirSync(join(root, '.changeset')).filter((file) => file.endsWith('.md') && file !== 'README.md');
}

function raiseVersions(cwd) {
  execFileSync(process.execPath, [changesetCommand, 'version'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Raises the versions in a copy of the last commit. Returns the changelog of the packages, with equal entries once. */
function changelogToCome() {
  const parent = mkdtempSync(join(tmpdir(), 'kapstan-release-'));
  const copy = join(parent, 'copy');
  git('worktree', 'add', '--quiet', '--detach', copy, 'HEAD');
  try {
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    raiseVersions(copy);
    const packages = readdirSync(join(copy, 'packages')).map((name) => join(copy, 'packages', name, 'CHANGELOG.md'));
    return packages.filter((file) => existsSync(file)).map((file) => newestEntry(readFileSync(file, 'utf8')));
  } finally {
    git('worktree', 'remove', '--force', copy);
    rmSync(parent, { recursive: true });
  }
}

/** Returns the title of a changelog with its first version. */
function newestEntry(changelog) {
  const [title, newest = ''] = changelog.split(/^## /m);
  return `${title.trim()} ${newest.trim()}`;
}

/** Packs and checks everything, and returns the packages in the order of publishing. */
async function packChecked() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const packages = dependenciesFirst(pack(root, folder));
  const faults = [];
  for (const one of packages) {
    const found = await entryPointFaults(one);
    faults.push(...found.map((fault) => `${one.name}: ${fault}`));
    const kilobytes = (bytes) => `${(bytes / 1e3).toFixed(0)} kB`;
    console.log(`${one.name}@${one.version}  ${kilobytes(one.size)} packed, ${kilobytes(one.unpackedSize)} unpacked`);
  }
  const tree = treeReport(controllerTree(packages));
  console.log(tree.lines.join('\n'));
  if (faults.length + tree.faults.length > 0) fail([...faults, ...tree.faults]);
  return packages;
}

function publish(packages, flags) {
  for (const { name, version, archive } of packages) {
    // A release that stopped half-way continues where it stopped.
    if (isPublished(`${name}@${version}`)) {
      console.log(`${name}@${version} is published already`);
      continue;
    }
    console.log(`publishing ${name}@${version}`);
    execFileSync('npm', ['publish', archive, '--access', 'public', ...flags], { cwd: root, stdio: 'inherit' });
  }
}

function isPublished(version) {
  const { status, stdout } = spawnSync('npm', ['view', version, 'version'], { cwd: root, encoding: 'utf8' });
  return status === 0 && stdout.trim() !== '';
}

/** Returns the reason why the packages must not be published from here. */
function obstacles() {
  const found = [];
  if (git('status', '--porcelain') !== '') found.push('the working folder has changes that are not committed');
  if (waitingChanges().length > 0) found.push('.changeset has changes without a version: npm run release -- --version');
  // npm signs the statement with the identity of the workflow, which other machines do not have.
  if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined)
    found.push('provenance needs a workflow with the permission id-token: write');
  const { version } = JSON.parse(readFileSync(join(root, 'packages/api/package.json'), 'utf8'));
  const { GITHUB_REF_NAME: tag = `v${version}` } = process.env;
  if (tag !== `v${version}`) found.push(`the tag is ${tag}, but the packages have the version ${version}`);
  return found;
}

checkNode();
const known = ['--dry-run', '--version'];
const given = process.argv.slice(2);
const unknown = given.filter((flag) => !known.includes(flag));
if (unknown.length > 0 || given.length > 1) fail([`use one of ${known.join(', ')}, or none; not ${given.join(' ')}`]);
const isDryRun = given.includes('--dry-run');
if (given.includes('--version')) {
  raiseVersions(root);
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: root, stdio: 'inherit' });
} else {
  const found = isDryRun ? [] : obstacles();
  if (found.length > 0) fail(found);
  const installed = await install();
  const built = installed.code === 0 ? await build() : installed;
  if (built.code !== 0) fail(['the build failed']);
  const packages = await packChecked();
  if (isDryRun)
    console.log(waitingChanges().length > 0 ? changelogToCome().join('\n\n') : 'No changes wait for a version.');
  publish(packages, isDryRun ? ['--dry-run', '--loglevel=error'] : ['--provenance']);
  console.log(isDryRun ? 'Nothing was published.' : 'All packages are published.');
}
