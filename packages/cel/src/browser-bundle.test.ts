import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { bundled } from './testing/bundle.ts';

describe('the package in a browser', () => {
  it('is bundled without any module of Node and evaluates there', async () => {
    const code = await bundled(
      "import { compile } from './index.ts'; globalThis.result = compile('[1, 2].map(x, x * 2)').evaluate().value;",
      'iife',
    );
    expect(code).not.toMatch(/(?<![#.\w])require\(|['"]node:/);
    const context = { TextEncoder, TextDecoder, result: undefined as unknown, globalThis: undefined as unknown };
    context.globalThis = context;
    runInNewContext(code, context);
    expect(JSON.stringify(context.result)).toBe('[2,4]');
  });
});
