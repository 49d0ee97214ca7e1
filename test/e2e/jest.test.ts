// Runs jest with the configuration and the test in the README of @kapstan/testing, on the output of `npm pack`. jest is
// not a dependency of the repository: npm installs it into the test's own project, where tests may install packages.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installsTools } from '../kapstan/find-tool.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** This command runs the test and allows it to install jest. */
const command = 'KAPSTAN_TEST_INSTALL=1 npx vitest run --project e2e test/e2e/jest.test.ts';

/** Returns the first fenced block of a language that contains a text. */
function blockWith(page: string, language: string, text: string): string {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, block]) => block ?? '',
  );
  const found = blocks.find((block) => block.includes(text));
  if (found === undefined) throw new Error(`the README has no ${language} block with ${text}`);
  return found;
}

let archives: string;
beforeAll(async () => {
  archives = await mkdtemp(join(tmpdir(), 'kapstan-packed-'));
  if (!installsTools) return;
  execFileSync('npm', ['pack', '--silent', '-w', 'packages', '--pack-destination', archives], { cwd: root });
}, 180_000);
afterAll(() => rm(archives, { recursive: true }));

/** The majors that the README names. */
describe.each(['29', '30'])('jest %s', (version) => {
  let folder: string;
  let page: string;
  beforeAll(async () => {
    page = await readFile(join(root, 'packages/testing/README.md'), 'utf8');
    folder = await mkdtemp(join(tmpdir(), 'kapstan-jest-'));
    if (!installsTools) return;
    // jest is installed first, because npm removes packages that it did not install itself.
    await writeFile(join(folder, 'package.json'), '{}');
    const flags = ['--no-save', '--no-audit', '--no-fund', '--silent'];
    execFileSync('npm', ['install', ...flags, `jest@${version}`], { cwd: folder, stdio: 'pipe' });
    await mkdir(join(folder, 'node_modules/@kapstan'), { recursive: true });
    for (const archive of (await readdir(archives)).filter((name) => name.endsWith('.tgz'))) {
      const target = join(folder, 'node_modules/@kapstan', archive.replace(/^kapstan-(.*)-\d+\.\d+\.\d+\.tgz$/, '$1'));
      await mkdir(target);
      execFileSync('tar', ['-xzf', join(archives, archive), '--strip-components=1', '-C', target]);
    }
    const installed = new Set(await readdir(join(folder, 'node_modules')));
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== '@kapstan' && !name.startsWith('.') && !installed.has(name))
        await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }, 180_000);
  afterAll(() => rm(folder, { recursive: true }));

  it('runs the test of the README with its configuration', async (ctx) => {
    if (!installsTools) ctx.skip(`jest is installed only where tests may install programs: ${command}`);
    await writeFile(join(folder, 'package.json'), blockWith(page, 'json', '"jest"'));
    await writeFile(join(folder, 'echo.test.js'), blockWith(page, 'js', '@jest/globals'));
    const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      readonly scripts: { readonly test: string };
    };
    const { status, stdout, stderr } = spawnSync(scripts.test, { cwd: folder, shell: true, encoding: 'utf8' });
    expect(status, `${stdout}${stderr}`).toBe(0);
    expect(stderr).toContain('1 passed');
    expect(page).toMatch(new RegExp(`tried with jest .*\\b${version}\\b`));
  }, 120_000);
});
