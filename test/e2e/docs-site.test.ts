// The site of `npm run docs`, in a fast form with the API reference of two packages, and every exported symbol of all packages has a doc comment.
// The browser needs a Chromium: `apt-get install chromium`, or its path in CHROMIUM_PATH.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const site = join(root, 'docs/.vitepress/dist');
const base = '/kapstan/';
const places = [
  process.env.CHROMIUM_PATH ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = places.find((path) => path !== '' && existsSync(path));
let built: { readonly code: number; readonly out: string; readonly err: string };

async function run(args: readonly string[]) {
  const child = spawn(process.execPath, [...args], { cwd: root, env: { ...process.env, KAPSTAN_DOCS_BASE: base } });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (err += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

beforeAll(async () => {
  built = await run(['scripts/docs.mjs', '--packages=controller,informers']);
}, 600_000);

it('is built, without broken links and with a page for each symbol', () => {
  expect(built.out + built.err).toMatch(/^0 broken links of the site$/m);
  expect(built.out).toMatch(/^0 broken links$/m);
  const [, pages = '0', written = '0'] = /^(\d+) pages, (\d+) of them written by hand/m.exec(built.out) ?? [];
  expect(Number(written)).toBeGreaterThan(80);
  expect(Number(pages)).toBeGreaterThan(Number(written) + 200);
  expect(built.code).toBe(0);
});

it('has a doc comment for every exported symbol of every package', { timeout: 300_000 }, async () => {
  const { code, out, err } = await run(['scripts/docs.mjs', '--symbols']);
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/^0 exported symbols without a doc comment$/m);
});

describe.skipIf(executablePath === undefined)('in a browser', () => {
  const types: Readonly<Record<string, string>> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.json': 'application/json',
    '.png': 'image/png',
    '.woff2': 'font/woff2',
  };
  let server: Server;
  let origin: string;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];
  const outside: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      const path = decodeURIComponent((request.url ?? '/').split(/[?#]/, 1)[0] ?? '').slice(base.length);
      const file = [path, `${path}.html`, join(path, 'index.html')]
        .map((name) => join(site, name))
        .find((name) => extname(name) !== '' && existsSync(name));
      if (file === undefined) return void response.writeHead(404).end();
      void readFile(file).then((bytes) =>
        response.writeHead(200, { 'content-type': types[extname(file)] ?? '' }).end(bytes),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on(
      'console',
      (message) => message.type() === 'error' && problems.push(`${message.text()} ${message.location().url}`),
    );
    page.on(
      'request',
      (request) =>
        !/^(data|blob):/.test(request.url()) && !request.url().startsWith(origin) && outside.push(request.url()),
    );
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  it('shows its first page, finds a symbol, and shows its page, from nowhere else', async () => {
    await page.goto(`${origin}${base}`);
    await page.getByRole('heading', { name: 'Kapstan' }).first().waitFor();
    await page.getByRole('link', { name: 'First controller' }).first().click();
    await page.getByRole('heading', { name: 'First controller', level: 1 }).waitFor();
    await page.keyboard.press('/');
    await page.locator('#localsearch-input').fill('metadataOnly');
    await page.locator('#localsearch-list a').first().waitFor();
    await page.goto(`${origin}${base}api/@kapstan/controller/functions/metadataOnly`);
    await page.getByRole('heading', { level: 1 }).getByText('metadataOnly').waitFor();
    expect([problems, outside]).toEqual([[], []]);
  });
});
