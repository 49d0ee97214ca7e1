// Tests the page of the inspector in a real browser: ten thousand objects, a controller that fails, keyboard, labels, both colour schemes.
// It needs a Chromium: `apt-get install chromium`, or its path in CHROMIUM_PATH. Without one these tests are skipped with a message.
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type InspectedManager, startInspectedManager } from './inspected-manager.ts';

const places = [
  process.env.CHROMIUM_PATH ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = places.find((path) => path !== '' && existsSync(path));
if (executablePath === undefined)
  console.warn('skipped: the page of the inspector, because there is no Chromium (apt-get install chromium)');

const objects = 10_000;

describe.skipIf(executablePath === undefined)('the page of the inspector', () => {
  let manager: InspectedManager;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    manager = await startInspectedManager(objects);
    browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    await page.goto(manager.url);
    await page.getByText('keys fail').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await manager?.close();
  });

  it('shows informers and controllers, live, in a short document', async () => {
    await page.getByRole('status').getByText('Live.').waitFor();
    await page.getByRole('heading', { name: 'Informers' }).waitFor();
    expect(await page.locator('#informers-body tbody tr').first().textContent()).toMatch(/ConfigMap.*live/s);
    await page.locator('#informers-body').getByText('10\u202f000').waitFor();
    expect(await page.locator('tr').count()).toBeLessThan(200);
    manager.maps.add(manager.another());
    await page.locator('#informers-body').getByText('10\u202f001').waitFor();
  });

  it('opens a key by keyboard alone: what woke it, what it wrote, and the error', async () => {
    const first = page.locator('#queues-body button.link').first();
    await first.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Last runs').first().waitFor();
    const text = (await dialog.textContent()) ?? '';
    expect(text).toMatch(/ConfigMap default\/map-\d+ was there at the start, version \d+/);
    expect(text).toMatch(/apply ConfigMap default\/map-\d+-copy: ok, version \d+/);
    expect(text).toContain('failed: Error');
    expect(text).not.toContain('the other side refused');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  });

  it('finds keys, a page at a time', async () => {
    await page.getByLabel('State').selectOption('failing');
    await page.getByLabel('Key contains').fill('map-000');
    await page.getByLabel('Key contains').press('Enter');
    await page
      .getByText(/^50 of \d+ keys$/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'More keys' }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByText(/^\d+ of \d+ keys$/)
      .first()
      .waitFor();
  });

  it('keeps the focus where it is while sections change', async () => {
    const table = page.getByRole('region', { name: 'What the caches follow' });
    await table.focus();
    manager.maps.add(manager.another());
    await page.locator('#informers-body').getByText('10\u202f002').waitFor();
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('What the caches follow');
  });

  it.each(['light', 'dark'] as const)('has no fault that axe finds, in %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    // The Content-Security-Policy forbids other scripts, so the checker is loaded through the debugger.
    await page.evaluate(axe.source);
    const violations = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        readonly axe: { run(): Promise<{ violations: readonly { id: string; nodes: unknown }[] }> };
      };
      return (await axe.run()).violations.map(({ id, nodes }) => ({ id, nodes: JSON.stringify(nodes).slice(0, 300) }));
    });
    expect(violations).toEqual([]);
  });

  /** KAPSTAN_PICTURES=docs makes the pictures of the documentation. */
  it.runIf(process.env.KAPSTAN_PICTURES !== undefined)('is photographed', async () => {
    await page.setViewportSize({ width: 1100, height: 560 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
      await page.screenshot({ path: `${process.env.KAPSTAN_PICTURES}/inspector-${colorScheme}.png` });
    }
  });

  it('shows no value, and breaks nothing', async () => {
    expect(await page.content()).not.toContain(manager.secret);
    for (const path of ['overview', 'keys?controller=copier&limit=500'])
      expect(await (await fetch(`${manager.url}v1/${path}`)).text()).not.toContain(manager.secret);
    expect(problems).toEqual([]);
  });
});
