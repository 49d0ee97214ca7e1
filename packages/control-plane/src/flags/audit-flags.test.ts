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

describe('the flags of the audit log', () => {
  // Texts of kube-apiserver 1.36.3.
  it.each([
    [[path, '--audit-log-format=xml'], 'invalid audit log format xml, allowed formats are "legacy,json"'],
    [[path, '--audit-log-mode=foo'], 'invalid audit log mode foo, allowed modes are "batch,blocking,blocking-strict"'],
    [[path, '--audit-log-version=v2'], 'invalid group version, allowed versions are ["audit.k8s.io/v1"]'],
    [
      [path, '--audit-log-maxage=-1', '--audit-log-maxsize=-2', '--audit-log-maxbackup=-3'],
      "[--audit-log-maxage -1 can't be a negative number, --audit-log-maxbackup -3 can't be a negative number, --audit-log-maxsize -2 can't be a negative number]",
    ],
    [['--audit-webhook-config-file=x'], '--audit-webhook-config-file is not supported by this version of kapstan'],
    [['--audit-webhook-mode=batch'], '--audit-webhook-mode is not supported by this version of kapstan'],
    [['--audit-log-compress=true'], '--audit-log-compress is not supported by this version of kapstan'],
  ])('are refused: %j', (args, message) => {
    expect(() => parseServeFlags(args)).toThrow(new RegExp(`^${message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`));
  });

  it('are not looked at when there is no log', () => {
    const flags = parseServeFlags(['--audit-log-format=xml', '--audit-log-maxage=-1']);
    expect(flags['audit-log-path']).toBe('');
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
    ];
    expect(await auditSettings(parseServeFlags([...args, ...more]))).toEqual({
      policy: 'rules: []',
      path: 'a.log',
      mode: 'batch',
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

  it.each([
    [['--audit-policy-file=p.yaml'], 'no audit events are recorded: --audit-policy-file requires --audit-log-path'],
    [[path], 'no audit events are recorded: --audit-log-path requires --audit-policy-file'],
    [[], undefined],
    [[path, '--audit-policy-file=p.yaml'], undefined],
  ])('record nothing when one is missing, and say so: %j', (args, warning) => {
    expect(auditFlagWarnings(parseServeFlags(args))).toEqual(warning === undefined ? [] : [warning]);
  });

  it('name the policy that cannot be read', async () => {
    const flags = parseServeFlags([path, `--audit-policy-file=${join(directory, 'none.yaml')}`]);
    await expect(auditSettings(flags)).rejects.toThrow(/^--audit-policy-file: ENOENT/);
  });
});
