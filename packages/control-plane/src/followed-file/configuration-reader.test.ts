// Large configuration files, read while other work runs; the gap between two ticks of a timer measures the length of a turn.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseAuthenticationConfiguration, parseAuthorizationConfiguration } from '@kapstan/apiserver';
import { afterEach, describe, expect, it } from 'vitest';
import { parseEncryptionConfiguration } from '../encryption-config/configuration.ts';
import { ConfigurationReader } from './configuration-reader.ts';
import { readLimitedFile } from './limited-file.ts';

const many = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('');

const authentication = (count: number): string => `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: { url: "https://issuer.example", audiences: [a] }
  claimMappings: { username: { claim: sub, prefix: "" } }
  claimValidationRules:
${many(count, (i) => `  - { expression: "claims.c${i} == 'x'", message: "no ${i}" }\n`)}`;

const authorization = (count: number): string => `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
${many(count, (i) => `- { type: RBAC, name: r${i} }\n`)}`;

const encryption = (count: number): string => `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
${many(count, (i) => `- resources: [r${i}.example.com]\n  providers: [{ aesgcm: { keys: [{ name: k, secret: c2VjcmV0IGlzIHNlY3VyZQ== }] } }]\n`)}`;

let reader: ConfigurationReader<unknown>;
afterEach(() => reader.close());

/** Returns the longest turn while this works, in milliseconds. */
async function longestTurn(work: () => unknown): Promise<number> {
  let [longest, last, isOver] = [0, performance.now(), false];
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isOver = true;
  return longest;
}

describe('a configuration file that changes', () => {
  it.each([
    ['authentication', parseAuthenticationConfiguration, authentication(9_000)],
    ['authorization', parseAuthorizationConfiguration, authorization(18_000)],
    ['encryption', parseEncryptionConfiguration, encryption(5_000)],
  ] as const)(
    'is parsed by a thread when it is large, to the same value and in the same words, and its turns stay short: %s',
    { timeout: 60_000 },
    async (kind, parse, text) => {
      reader = new ConfigurationReader<unknown>(kind, parse);
      expect(text.length).toBeGreaterThan(500_000);
      let read: unknown;
      const ms = await longestTurn(async () => {
        read = await reader.read(text);
      });
      const startMs = performance.now();
      const value = parse(text);
      const inTurn = performance.now() - startMs;
      expect(read).toEqual(value);
      const wrong = text.replace('- {', '- { unknown: 1,').replace('- resources', '- unknown: 1\n  resources');
      expect(() => parse(wrong)).toThrow(/unknown field/);
      const error = await Promise.resolve(reader.read(wrong)).catch((cause: Error) => cause);
      expect(() => parse(wrong)).toThrow((error as Error).message);
      // The rest of the work in this turn is taking over the answer of the thread.
      expect(ms).toBeLessThan(inTurn / 3);
    },
  );

  it('is parsed at once when it is small', () => {
    reader = new ConfigurationReader<unknown>('authorization', parseAuthorizationConfiguration);
    expect(reader.read(authorization(2))).toMatchObject([{ name: 'r0' }, { name: 'r1' }]);
  });

  it('is not read when it is larger than what is allowed', async () => {
    reader = new ConfigurationReader<unknown>('authorization', parseAuthorizationConfiguration);
    const folder = await mkdtemp(join(tmpdir(), 'kapstan-limit-'));
    const path = join(folder, 'file');
    await writeFile(path, 'x'.repeat(100));
    expect(await readLimitedFile(path, 100)).toHaveLength(100);
    await expect(readLimitedFile(path, 99)).rejects.toThrow('the file is larger than 99 bytes');
    await rm(folder, { recursive: true });
  });
});
