import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseServeFlags } from './serve-flags.ts';
import { tracingConfiguration } from './tracing-flags.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kapstan-tracing-flags-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('--tracing-config-file', () => {
  it('is refused when the file does not exist', () => {
    expect(() => parseServeFlags(['--tracing-config-file=/none.yaml'])).toThrow(
      /^tracing-config-file \/none\.yaml does not exist$/,
    );
  });

  it('is read, unless the gate is off', async () => {
    const file = join(directory, 'tracing.yaml');
    writeFileSync(file, 'kind: TracingConfiguration');
    const args = [`--tracing-config-file=${file}`];
    expect(await tracingConfiguration(parseServeFlags(args))).toBe('kind: TracingConfiguration');
    expect(await tracingConfiguration(parseServeFlags([]))).toBeUndefined();
    const off = parseServeFlags([...args, '--feature-gates=APIServerTracing=false']);
    await expect(tracingConfiguration(off)).rejects.toThrow(
      '--tracing-config-file: APIServerTracing feature is not enabled, but tracing config file was provided',
    );
  });
});
