// npm run docs builds the site into docs/.vitepress/dist: guides, READMEs, examples and the API reference. It fails for a broken link, for
// an exported symbol without a doc comment, and for a link of the built site that leads nowhere.
//   node scripts/docs.mjs FILE…                 checks only the links of these Markdown files
//   node scripts/docs.mjs --links               checks only the links of all Markdown files
//   node scripts/docs.mjs --symbols             checks only that each exported symbol has a doc comment
//   node scripts/docs.mjs --packages=api,client makes the API reference of these packages only
// KAPSTAN_DOCS_BASE is the path at which the site will be served ("/" by default), KAPSTAN_DOCS_SOURCE the address of the repository's
// files.
import { join, resolve } from 'node:path';
import { root } from './set-up.mjs';
import { brokenLinks } from './site/links.mjs';

const args = process.argv.slice(2);
const files = args.filter((arg) => !arg.startsWith('--')).map((file) => resolve(file));
const packages = args.find((arg) => arg.startsWith('--packages='))?.slice('--packages='.length);
const isLinksOnly = args.includes('--links') || files.length > 0;

/** Prints the lines and their number, and returns whether there is any. */
function tell(lines, what) {
  for (const line of lines) console.error(line);
  console.log(`${lines.length} ${what}`);
  return lines.length > 0;
}

process.exitCode = (await hasProblems()) ? 1 : 0;

async function hasProblems() {
  if (args.includes('--symbols')) return await hasUndocumented();
  const isBroken = tell(brokenLinks(files), 'broken links');
  return isLinksOnly ? isBroken : (await buildSite()) || isBroken;
}

async function hasUndocumented() {
  const { makeReference } = await import('./site/reference.mjs');
  const { undocumented, complaints } = await makeReference({ writes: false });
  const isUndocumented = tell(undocumented, 'exported symbols without a doc comment');
  return tell(complaints, 'complaints of TypeDoc') || isUndocumented;
}

async function buildSite() {
  const { layOutPages } = await import('./site/pages.mjs');
  const { makeReference } = await import('./site/reference.mjs');
  const { brokenSiteLinks } = await import('./site/built-links.mjs');
  const { build } = await import('vitepress');
  const begin = performance.now();
  const pages = layOutPages();
  const { undocumented, complaints } = await makeReference(
    packages === undefined ? {} : { names: packages.split(',') },
  );
  let isWrong = tell(undocumented, 'exported symbols without a doc comment');
  // If only some packages are built, they cannot link to the others.
  if (packages === undefined) isWrong = tell(complaints, 'complaints of TypeDoc') || isWrong;
  await build(join(root, 'docs'));
  const { broken, count } = brokenSiteLinks(join(root, 'docs/.vitepress/dist'));
  isWrong = tell(broken, 'broken links of the site') || isWrong;
  const seconds = Math.round((performance.now() - begin) / 1000);
  console.log(`${count} pages, ${pages} of them written by hand, in docs/.vitepress/dist (${seconds} s)`);
  return isWrong;
}
