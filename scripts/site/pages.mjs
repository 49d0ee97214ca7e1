// Lays out the site's pages in docs/.site: the Markdown files of docs, the READMEs of packages and the examples with their programs. Links
// between them lead to the site's pages; links to other files of the repository become plain text, unless KAPSTAN_DOCS_SOURCE gives the
// address of the repository's files.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { root } from '../set-up.mjs';

export const stage = join(root, 'docs/.site');
const source = process.env.KAPSTAN_DOCS_SOURCE?.replace(/\/$/, '');

const markdownIn = (folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

const examples = readdirSync(join(root, 'examples')).filter((name) => /^\d\d-|^first-/.test(name));

/** File of the repository → page of the site. */
const pages = new Map([
  ...['docs', 'docs/guide', 'docs/decisions'].flatMap((folder) =>
    markdownIn(folder).map((path) => [path, path.slice('docs/'.length)]),
  ),
  ...readdirSync(join(root, 'packages')).map((name) => [`packages/${name}/README.md`, `packages/${name}.md`]),
  ['README.md', 'index.md'],
  ['ARCHITECTURE.md', 'architecture.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['examples/README.md', 'examples/index.md'],
]);

function programsOf(example) {
  const folder = `examples/${example}`;
  const files = readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`);
  return files.filter((path) => /\.(ts|json)$/.test(path) && !/\/(dist|node_modules)\/|tsconfig/.test(path)).sort();
}

/** Page on which a file of an example is shown. */
const programs = new Map(examples.flatMap((name) => programsOf(name).map((path) => [path, `examples/${name}.md`])));

/** Returns the target of a link on the site; undefined = the link becomes plain text. */
function targetOf(link, from) {
  if (/^([a-z]+:|#)/.test(link)) return link;
  const [path, anchor = ''] = link.split('#');
  const file = posix.join(posix.dirname(from.file), path).replace(/\/$/, '');
  const page = pages.get(file) ?? programs.get(file) ?? pages.get(`${file}/README.md`);
  const toPage = (target) => posix.relative(posix.dirname(from.page), target) || posix.basename(target);
  if (page !== undefined) return `${dotted(toPage(page))}${anchor && `#${anchor}`}`;
  if (/\.(png|svg|json)$/.test(file) && file.startsWith('docs/')) {
    const image = file.slice('docs/'.length);
    mkdirSync(dirname(join(stage, image)), { recursive: true });
    copyFileSync(join(root, file), join(stage, image));
    return dotted(toPage(image));
  }
  return source === undefined ? undefined : `${source}/${file}`;
}

const dotted = (path) => (path.startsWith('.') ? path : `./${path}`);

/** Returns a page's text with links of the site. Code stays as it is. */
function onSite(text, from) {
  return text
    .split(/(```[\s\S]*?```)/)
    .map((part, index) => {
      if (index % 2 === 1) return part;
      return part.replace(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, mark, label, link) => {
        const target = targetOf(link, from);
        if (target !== undefined) return `${mark}[${label}](${target})`;
        return mark === '' ? label : whole;
      });
    })
    .join('');
}

function write(page, text) {
  const file = join(stage, page);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function examplePage(name) {
  const output = `examples/${name}/output.txt`;
  const blocks = programsOf(name).map((path) => {
    const language = path.endsWith('.json') ? 'json' : 'ts';
    return `## ${posix.relative(`examples/${name}`, path)}\n\n\`\`\`${language}\n${read(path).trimEnd()}\n\`\`\`\n`;
  });
  if (existsSync(join(root, output))) blocks.push(`## What it prints\n\n\`\`\`\n${read(output).trimEnd()}\n\`\`\`\n`);
  return `# ${name}\n\n${blocks.join('\n')}`;
}

const read = (path) => readFileSync(join(root, path), 'utf8');

/** Writes all pages but the API reference, and returns their number. */
export function layOutPages() {
  rmSync(stage, { recursive: true, force: true });
  let count = 0;
  for (const [file, page] of pages) {
    if (file === 'README.md') continue; // the site's first page is docs/index.md
    write(page, onSite(read(file), { file, page }));
    count++;
  }
  for (const name of examples) {
    write(`examples/${name}.md`, examplePage(name));
    count++;
  }
  return count;
}

/** Returns the files below a folder whose names end like this, relative to it. */
export function filesIn(folder, end) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .map((name) => relative(folder, join(folder, name)))
    .filter((name) => name.endsWith(end) && statSync(join(folder, name)).isFile());
}
