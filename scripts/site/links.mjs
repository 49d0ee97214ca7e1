// Finds relative links in the repository's Markdown files to missing files or headings. Used by scripts/docs.mjs.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from '../set-up.mjs';
import { anchorsIn, withoutCode } from './headings.mjs';

const skipped = new Set(['node_modules', 'dist', 'lint-fixtures', 'reports']);

function pagesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skipped.has(entry.name) || entry.name.startsWith('.') ? [] : pagesIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

function isBroken(file, [path, anchor]) {
  const target = path === '' ? file : join(dirname(file), path);
  if (!existsSync(target)) return true;
  return anchor !== undefined && target.endsWith('.md') && !anchorsIn(readFileSync(target, 'utf8')).includes(anchor);
}

/** Returns a line for each broken link of these files; without files, of all pages of the repository. */
export function brokenLinks(files) {
  return (files.length > 0 ? files : pagesIn(root)).flatMap((file) => {
    const links = [...withoutCode(readFileSync(file, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]);
    return links
      .filter((link) => !/^[a-z]+:/.test(link) && isBroken(file, link.split('#')))
      .map((link) => `${relative(root, file)}: ${link}`);
  });
}
