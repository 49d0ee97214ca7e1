// Checks the links of the built site: each must lead to a file of the site, and to an element with that id. Used by scripts/docs.mjs.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { filesIn } from './pages.mjs';

const base = (process.env.KAPSTAN_DOCS_BASE ?? '/').replace(/\/?$/, '/');

/** Returns the number of pages, and a line for each link without a target. */
export function brokenSiteLinks(folder) {
  const files = new Set(filesIn(folder, ''));
  const pages = [...files].filter((file) => file.endsWith('.html'));
  const read = new Map(pages.map((page) => [page, readPage(join(folder, page))]));
  const broken = pages.flatMap((page) =>
    read.get(page).links.flatMap((link) => {
      const [path, anchor = ''] = decodeURIComponent(link).split('#');
      const target = path === '' ? page : fileOf(path, page, files);
      const isThere = target !== undefined && (anchor === '' || !read.has(target) || read.get(target).ids.has(anchor));
      return isThere ? [] : [`${page}: ${link}`];
    }),
  );
  return { broken: [...new Set(broken)], count: pages.length };
}

function readPage(file) {
  const html = readFileSync(file, 'utf8');
  const links = [...html.matchAll(/<a [^>]*?href="([^"]+)"/g)].map((match) => match[1].replaceAll('&amp;', '&'));
  return {
    links: links.filter((link) => !/^([a-z]+:|\/\/)/.test(link)),
    ids: new Set([...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1].replaceAll('&amp;', '&'))),
  };
}

/** Returns the file that a server shows for a path. */
function fileOf(path, page, files) {
  const inside = path.startsWith('/')
    ? path.startsWith(base)
      ? path.slice(base.length)
      : undefined
    : posix.join(posix.dirname(page), path);
  if (inside === undefined) return undefined;
  const clean = inside.replace(/^\.\/?$/, '');
  return [clean, `${clean}.html`, posix.join(clean, 'index.html')].find((file) => files.has(file));
}
