// Makes the page of the inspector: one HTML document from packages/inspector/page, as a module that the package embeds
// (packages/inspector/src/generated/page.ts). Part of the package's build; `--check` fails when the module does not
// match the sources. The hashes are those that the page's Content-Security-Policy allows.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../packages/inspector');
const pageModule = join(folder, 'src/generated/page.ts');

const hashOf = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** Returns the module's text. */
async function makePageModule() {
  const bundle = await rolldown({ input: join(folder, 'page/main.ts'), platform: 'browser' });
  const { output } = await bundle.generate({ format: 'iife', minify: true });
  await bundle.close();
  const script = output[0].code.trim().replaceAll('</script', '<\\/script');
  const style = readFileSync(join(folder, 'page/style.css'), 'utf8').replace(/\s*\n\s*/g, '');
  const html = readFileSync(join(folder, 'page/index.html'), 'utf8')
    .replace('/*STYLE*/', () => style)
    .replace('/*SCRIPT*/', () => script);
  return [
    '// Made by scripts/inspector-page.mjs from packages/inspector/page. Do not edit.',
    `export const pageScriptHash = '${hashOf(script)}';`,
    `export const pageStyleHash = '${hashOf(style)}';`,
    `export const inspectorPage: string =\n  ${JSON.stringify(html)};`,
    '',
  ].join('\n');
}

const made = await makePageModule();
if (!process.argv.includes('--check')) {
  mkdirSync(dirname(pageModule), { recursive: true });
  writeFileSync(pageModule, made);
} else if (readFileSync(pageModule, 'utf8') !== made) {
  console.error('packages/inspector/src/generated/page.ts does not match packages/inspector/page: run npm run build');
  process.exit(1);
}
