import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditFlagWarnings, auditSettings } from './audit-flags.ts';
import { parseServeFlags } from './serve-flags.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kapstan-audit-flags-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const path = '--audit-log-path=-';
const hook = '--audit-webhook-config-file=hook.kubeconfig';

describe('the flags of the audit', () => {
  // Texts of kube-apiserver 1.36.3.
  it.each([
    [[path, '--audit-log-format=xml'], 'invalid audit log format xml, allowed formats are "legacy,json"'],
    [[path, '--audit-log-mode=foo'], 'invalid audit log mode foo, allowed modes are "batch,blocking,blocking-strict"'],
    [[path, '--audit-log-version=v2'], 'invalid group version, allowed versions are ["audit.k8s.io/v1"]'],
    [
      [path, '--audit-log-maxage=-1', '--audit-log-maxsize=-2', '--audit-log-maxbackup=-3'],
      "[--audit-log-maxage -1 can't be a negative number, --audit-log-maxbackup -3 can't be a negative number, --audit-log-maxsize -2 can't be a negative number]",
    ],
    [[path, '--audit-log-version=a/b/c'], 'unexpected GroupVersion string: a/b/c'],
    [
      [hook, '--audit-webhook-mode=foo'],
      'invalid audit webhook mode foo, allowed modes are "batch,blocking,blocking-strict"',
    ],
    [
      [hook, '--audit-webhook-batch-buffer-size=0', '--audit-webhook-batch-max-size=0', '--audit-webhook-version=v1'],
      '[invalid audit batch webhook buffer size 0, must be a positive number, invalid group version, allowed versions are ["audit.k8s.io/v1"]]',
    ],
    [
      [hook, '--audit-webhook-batch-max-size=-1'],
      'invalid audit batch webhook max batch size -1, must be a positive number',
    ],
    [
      [hook, '--audit-webhook-batch-throttle-qps=-0.5'],
      'invalid audit batch webhook throttle QPS -0.5, must be a positive number',
    ],
    [
      [hook, '--audit-webhook-batch-throttle-burst=0'],
      'invalid audit batch webhook throttle burst 0, must be a positive number',
    ],
    [
      [path, '--audit-log-mode=batch', '--audit-log-batch-throttle-enable'],
      'invalid audit batch log throttle QPS 0, must be a positive number',
    ],
    [
      [path, '--audit-log-truncate-max-event-size=0'],
      'invalid audit truncate log max event size 0, must be a positive number',
    ],
    [
      [path, hook, '--audit-webhook-truncate-max-batch-size=9', '--audit-log-format=xml'],
      '[invalid audit log format xml, allowed formats are "legacy,json", invalid audit truncate webhook max batch size 9, must be greater than max event size (102400)]',
    ],
    [['--audit-log-compress=true'], '--audit-log-compress is not supported by this version of kapstan'],
  ])('are refused: %j', (args, message) => {
    expect(() => parseServeFlags(args)).toThrow(new RegExp(`^${message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`));
  });

  it('are not looked at when there is neither a log nor a webhook', () => {
    const args = [
      '--audit-log-format=xml',
      '--audit-log-maxage=-1',
      '--audit-webhook-mode=x',
      '--audit-webhook-version=x',
    ];
    expect(parseServeFlags(args)['audit-log-path']).toBe('');
  });

  it('of batches are not looked at in other modes', () => {
    const args = [hook, '--audit-webhook-mode=blocking', '--audit-webhook-batch-buffer-size=0'];
    expect(parseServeFlags(args)['audit-webhook-mode']).toBe('blocking');
  });

  it('have the defaults of kube-apiserver', () => {
    const flags = parseServeFlags([]) as unknown as Record<string, unknown>;
    const delivery = (plugin: string) =>
      Object.fromEntries(
        Object.entries(flags)
          .filter(([name]) => /-(mode|batch-.*|truncate-.*|version|initial-backoff)$/.test(name))
          .filter(([name]) => name.startsWith(`audit-${plugin}-`))
          .map(([name, value]) => [name.replace(`audit-${plugin}-`, ''), value]),
      );
    const truncation = {
      'truncate-enabled': false,
      'truncate-max-batch-size': 10_485_760,
      'truncate-max-event-size': 102_400,
      version: 'audit.k8s.io/v1',
    };
    expect(delivery('log')).toEqual({
      mode: 'blocking',
      'batch-buffer-size': 10_000,
      'batch-max-size': 1,
      'batch-max-wait': 0,
      'batch-throttle-enable': false,
      'batch-throttle-qps': 0,
      'batch-throttle-burst': 0,
      ...truncation,
    });
    expect(delivery('webhook')).toEqual({
      mode: 'batch',
      'initial-backoff': 10_000,
      'batch-buffer-size': 10_000,
      'batch-max-size': 400,
      'batch-max-wait': 30_000,
      'batch-throttle-enable': true,
      'batch-throttle-qps': 10,
      'batch-throttle-burst': 15,
      ...truncation,
    });
  });

  it('become settings, with the text of the policy', async () => {
    const file = join(directory, 'policy.yaml');
    writeFileSync(file, 'rules: []');
    const args = [`--audit-policy-file=${file}`, '--audit-log-path=a.log', '--audit-log-mode=batch'];
    const more = [
      '--audit-log-format=legacy',
      '--audit-log-maxage=1',
      '--audit-log-maxbackup=2',
      '--audit-log-maxsize=3',
      '--audit-log-truncate-enabled',
    ];
    const batching = { maxEvents: 10_000, maxBatchEvents: 1, maxWaitMs: 0, throttle: 'off' };
    expect(await auditSettings(parseServeFlags([...args, ...more]))).toEqual({
      policy: 'rules: []',
      path: 'a.log',
      mode: 'batch',
      batching,
      truncation: { maxEventBytes: 102_400, maxBatchBytes: 10_485_760 },
      format: 'legacy',
      maxDays: 1,
      maxBackups: 2,
      maxMebibytes: 3,
    });
    expect(await auditSettings(parseServeFlags(args))).toMatchObject({
      maxDays: 366,
      maxBackups: 100,
      maxMebibytes: 100,
    });
  });

  it('of a webhook become settings, with the path of the kubeconfig', async () => {
    const file = join(directory, 'policy.yaml');
    writeFileSync(file, 'rules: []');
    const args = [`--audit-policy-file=${file}`, '--audit-webhook-config-file=hook.kubeconfig'];
    const more = ['--audit-webhook-initial-backoff=1s', '--audit-webhook-batch-throttle-enable=false'];
    expect(await auditSettings(parseServeFlags([...args, ...more]))).toMatchObject({
      path: undefined,
      webhook: {
        kubeconfig: 'hook.kubeconfig',
        initialBackoffMs: 1000,
        mode: 'batch',
        batching: { maxEvents: 10_000, maxBatchEvents: 400, maxWaitMs: 30_000, throttle: 'off' },
        truncation: undefined,
      },
    });
    const blocking = await auditSettings(parseServeFlags([...args, '--audit-webhook-mode=blocking-strict']));
    expect(blocking?.webhook).toMatchObject({ mode: 'blocking-strict', batching: undefined });
  });

  it.each([
    [['--audit-policy-file=p.yaml'], ['--audit-policy-file requires --audit-log-path or --audit-webhook-config-file']],
    [[path], ['--audit-log-path requires --audit-policy-file']],
    [
      [path, hook],
      ['--audit-log-path requires --audit-policy-file', '--audit-webhook-config-file requires --audit-policy-file'],
    ],
    [[], []],
    [[path, '--audit-policy-file=p.yaml'], []],
    [[hook, '--audit-policy-file=p.yaml'], []],
  ])('record nothing when one is missing, and say so: %j', (args, warnings) => {
    const told = warnings.map((warning) => `no audit events are recorded: ${warning}`);
    expect(auditFlagWarnings(parseServeFlags(args))).toEqual(told);
  });

  it('name the policy that cannot be read', async () => {
    const flags = parseServeFlags([path, `--audit-policy-file=${join(directory, 'none.yaml')}`]);
    await expect(auditSettings(flags)).rejects.toThrow(/^--audit-policy-file: ENOENT/);
  });
});
