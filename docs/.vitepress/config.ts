// The site of `npm run docs`. Its pages are laid out in docs/.site by scripts/site/pages.mjs, its API reference is made by scripts/site/reference.mjs.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DefaultTheme, defineConfig } from 'vitepress';
import { anchorOf } from '../../scripts/site/headings.mjs';

const pages = fileURLToPath(new URL('../.site/', import.meta.url));

const guides: DefaultTheme.SidebarItem[] = [
  {
    text: 'Guide',
    items: [
      { text: 'Where to begin', link: '/guide/' },
      { text: 'First controller', link: '/guide/first-controller' },
      { text: 'Builder options', link: '/guide/builder' },
      { text: 'Testing', link: '/guide/testing' },
      { text: 'Webhooks', link: '/guide/webhooks' },
      { text: 'Rights', link: '/guide/rights' },
      { text: 'One file', link: '/guide/bundling' },
      { text: 'Containers', link: '/guide/containers' },
    ],
  },
  {
    text: 'Coming from',
    items: [
      { text: 'client-go', link: '/coming-from-client-go' },
      { text: 'controller-runtime', link: '/coming-from-client-go#controller-runtime' },
      { text: 'client-node', link: '/guide/coming-from-client-node' },
      { text: 'kopf', link: '/guide/coming-from-kopf' },
      { text: 'Compared', link: '/compare' },
    ],
  },
  {
    text: 'Servers',
    items: [
      { text: 'Operating a server', link: '/operating' },
      { text: 'The storage stack alone', link: '/guide/storage-stack' },
      { text: 'What works', link: '/status' },
    ],
  },
  { text: 'Examples', collapsed: true, items: titled('examples') },
  { text: 'Packages', collapsed: true, items: titled('packages') },
  {
    text: 'Inside',
    collapsed: true,
    items: [
      { text: 'Architecture', link: '/architecture' },
      { text: 'Contributing', link: '/contributing' },
      ...titled('decisions'),
    ],
  },
];

/** Links to the pages of a folder, by their headings. */
function titled(folder: string): DefaultTheme.SidebarItem[] {
  if (!existsSync(`${pages}${folder}`)) return [];
  const names = readdirSync(`${pages}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .sort();
  return names.map((name) => {
    const heading = /^# (.+)$/m.exec(readFileSync(`${pages}${folder}/${name}`, 'utf8'))?.[1] ?? name;
    return { text: heading.replaceAll('`', ''), link: `/${folder}/${name.replace(/(index)?\.md$/, '')}` };
  });
}

/** The sidebar of the reference: a group for each entry point, and in it the pages of its symbols. */
function reference(): DefaultTheme.SidebarItem[] {
  const list = `${pages}api/symbols.json`;
  if (!existsSync(list)) return [];
  return JSON.parse(readFileSync(list, 'utf8')) as DefaultTheme.SidebarItem[];
}

/** In the page, so that no browser asks for /favicon.ico. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M1 0h2v3l3-3h2L4 4l4 4H6L3 5v3H1z" fill="#326ce5"/></svg>';

export default defineConfig({
  title: 'Kapstan',
  description: 'Controllers and control planes for Kubernetes, in TypeScript',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  base: (process.env.KAPSTAN_DOCS_BASE ?? '/').replace(/\/?$/, '/'),
  srcDir: '.site',
  outDir: '.vitepress/dist',
  cacheDir: '.vitepress/cache',
  cleanUrls: true,
  metaChunk: true,
  // Addresses on the reader's machine.
  ignoreDeadLinks: [/^https?:\/\/(localhost|127\.0\.0\.1)/],
  // READMEs and doc comments are Markdown alone: what looks like HTML in them is text.
  markdown: {
    html: false,
    anchor: { slugify: anchorOf },
    headers: { level: [2, 3] },
    config: (md) => {
      const { text } = md.renderer.rules;
      if (text === undefined) return;
      // Braces are no templates.
      md.renderer.rules.text = (...given) => text(...given).replaceAll('{{', '<span v-pre>{{</span>');
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/' },
      { text: 'API', link: '/api/' },
      { text: 'Compared', link: '/compare' },
    ],
    sidebar: { '/api/': reference(), '/': guides },
    outline: [2, 3],
    search: { provider: 'local' },
  },
});
