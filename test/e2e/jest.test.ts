// The configuration of jest that the README of @kapstan/testing gives, with the test that it gives, run by jest on what `npm pack`
// makes. jest is no dependency of ours: the test looks for it where `npm install --no-save jest@29` puts it.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const jest = join(root, 'node_modules/jest/bin/jest.js');

/** The first fenced block of a language that holds a text. */
function blockWith(page: string, language: string, text: string): string {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, block]) => block ?? '',
  );
  const found = blocks.find((block) => block.includes(text));
  if (found === undefined) throw new Error(`the README has no ${language} block with ${text}`);
  return found;
}

describe('jest', () => {
  let folder: string;
  let page: string;
  beforeAll(async () => {
    page = await readFile(join(root, 'packages/testing/README.md'), 'utf8');
    folder = await mkdtemp(join(tmpdir(), 'kapstan-jest-'));
    if (!existsSync(jest)) return;
    await mkdir(join(folder, 'node_modules/@kapstan'), { recursive: true });
    execFileSync('npm', ['pack', '--silent', '-w', 'packages', '--pack-destination', folder], { cwd: root });
    for (const archive of (await readdir(folder)).filter((name) => name.endsWith('.tgz'))) {
      const target = join(folder, 'node_modules/@kapstan', archive.replace(/^kapstan-(.*)-\d+\.\d+\.\d+\.tgz$/, '$1'));
      await mkdir(target);
      execFileSync('tar', ['-xzf', join(folder, archive), '--strip-components=1', '-C', target]);
    }
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== '@kapstan' && !name.startsWith('.'))
        await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }, 180_000);
  afterAll(() => rm(folder, { recursive: true }));

  it('runs the test of the README with its configuration', async (ctx) => {
    if (!existsSync(jest)) ctx.skip('jest is not installed: npm install --no-save jest@29');
    await writeFile(join(folder, 'package.json'), blockWith(page, 'json', '"jest"'));
    await writeFile(join(folder, 'echo.test.js'), blockWith(page, 'js', '@jest/globals'));
    const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      readonly scripts: { readonly test: string };
    };
    const command = scripts.test.replace('node_modules/jest/bin/jest.js', jest);
    const { status, stdout, stderr } = spawnSync(command, { cwd: folder, shell: true, encoding: 'utf8' });
    expect(status, `${stdout}${stderr}`).toBe(0);
    expect(stderr).toContain('1 passed');
  }, 120_000);
});
