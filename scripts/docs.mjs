// npm run docs: checks that every relative link in the repository's Markdown files leads to a file.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './set-up.mjs';

const list = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
});
const broken = list
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)))
  .flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8').replace(/```[\s\S]*?```/g, '');
    const links = [...text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)].map((match) => match[1]);
    return links
      .filter((link) => !/^[a-z]+:/.test(link) && !existsSync(join(root, dirname(file), link)))
      .map((link) => `${file}: ${link}`);
  });
for (const line of broken) console.error(line);
console.log(`${broken.length} broken links`);
process.exitCode = broken.length > 0 ? 1 : 0;
