import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';

describe('the package in a browser', () => {
  it('is bundled without any module of Node and evaluates there', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents:
          "import { compile } from './index.ts'; globalThis.result = compile('[1, 2].map(x, x * 2)').evaluate().value;",
        resolveDir: fileURLToPath(new URL('.', import.meta.url)),
      },
      bundle: true,
      platform: 'browser',
      conditions: ['@kapstan/source'],
      format: 'iife',
      write: false,
    });
    const code = outputFiles[0]?.text ?? '';
    expect(code).not.toMatch(/(?<![#.\w])require\(|['"]node:/);
    const context = { TextEncoder, TextDecoder, result: undefined as unknown, globalThis: undefined as unknown };
    context.globalThis = context;
    runInNewContext(code, context);
    expect(JSON.stringify(context.result)).toBe('[2,4]');
  });
});
