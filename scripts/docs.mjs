// npm run docs checks that every relative link in the repository's Markdown files leads to an existing file and
// heading.
//   node scripts/docs.mjs FILE…    checks only these
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { root } from './set-up.mjs';

const skipped = new Set(['node_modules', 'dist', 'lint-fixtures', 'reports']);

function pagesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skipped.has(entry.name) || entry.name.startsWith('.') ? [] : pagesIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

const proseOf = (file) => readFileSync(file, 'utf8').replace(/```[\s\S]*?```/g, '');

/** Returns the anchors that GitHub makes of headings. */
function anchorsOf(file) {
  const headings = [...proseOf(file).matchAll(/^#+ +(.*)$/gm)].map((match) => match[1]);
  return headings.map((heading) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isBroken(file, [path, anchor]) {
  const target = path === '' ? file : join(dirname(file), path);
  if (!existsSync(target)) return true;
  return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
}

const given = process.argv.slice(2).map((file) => resolve(file));
const broken = (given.length > 0 ? given : pagesIn(root)).flatMap((file) => {
  const links = [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]);
  return links
    .filter((link) => !/^[a-z]+:/.test(link) && isBroken(file, link.split('#')))
    .map((link) => `${relative(root, file)}: ${link}`);
});
for (const line of broken) console.error(line);
console.log(`${broken.length} broken links`);
process.exitCode = broken.length > 0 ? 1 : 0;
