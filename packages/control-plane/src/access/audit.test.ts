import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { silentLogger } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { type AuditSettings, streamTarget } from './audit.ts';

let directory: string;
let plane: ControlPlane | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kapstan-audit-plane-'));
});
afterEach(async () => {
  await plane?.close();
  plane = undefined;
  rmSync(directory, { recursive: true });
});

const head = 'apiVersion: audit.k8s.io/v1\nkind: Policy\n';
const path = () => join(directory, 'log', 'audit.log');

async function start(audit: Partial<AuditSettings>, warnings: string[] = []): Promise<ControlPlane> {
  const settings = { policy: `${head}rules: [{level: Metadata}]`, path: path(), ...audit };
  const warn = (message: string, fields?: object): void => void warnings.push(`${message} ${JSON.stringify(fields)}`);
  const logger = { ...silentLogger, warn };
  plane = await startControlPlane({ dataDir: join(directory, 'data'), audit: settings, logger });
  return plane;
}

function ask({ url, caCert, token }: ControlPlane, where: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const request = get(`${url}${where}`, { ca: caCert, headers, agent: false }, (answer) => resolve(text(answer)));
    request.on('error', reject);
  });
}

describe('the audit log of a control plane', () => {
  it.each(['blocking', 'batch'] as const)(
    'holds all requests when it is closed, for its owner alone: %s',
    async (mode) => {
      const running = await start({ mode });
      await ask(running, '/api/v1/namespaces/default');
      await ask(running, '/version');
      await running.close();
      const events = readFileSync(path(), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(events.map(({ stage, requestURI }) => `${stage} ${requestURI}`)).toEqual([
        'RequestReceived /api/v1/namespaces/default',
        'ResponseComplete /api/v1/namespaces/default',
        'RequestReceived /version',
        'ResponseComplete /version',
      ]);
      expect(statSync(path()).mode & 0o777).toBe(0o600);
    },
  );

  it('is counted, and a full disk stops nothing', async () => {
    const running = await start({ path: '/dev/full' });
    expect(await ask(running, '/version')).toContain('gitVersion');
    const metrics = await ask(running, '/metrics');
    expect(metrics).toContain('apiserver_audit_error_total{plugin="log"} 3\n');
    expect(metrics).toContain('apiserver_audit_level_total{level="Metadata"} 2\n');
  });

  it('tells what the policy has too much', async () => {
    const warnings: string[] = [];
    await start({ policy: `${head}rules: [{level: None}]\nextra: 1` }, warnings);
    expect(warnings).toContainEqual(expect.stringContaining('unknown field \\"extra\\"'));
  });

  it.each([
    [{ policy: head }, 'audit.policy: loaded illegal policy with 0 rules'],
    [{ path: '/dev/null/audit.log' }, 'audit.path: E'],
  ])('stops the start when it cannot be: %j', async (settings, message) => {
    await expect(start(settings)).rejects.toThrow(message);
  });
});

describe('the audit log on a stream', () => {
  const line = Buffer.from('line\n');
  const gone = () => new Writable({ write: (_chunk, _encoding, done) => done(new Error('write EPIPE')) });

  it('loses lines, and not the process, when its reader goes away', async () => {
    const target = streamTarget(gone());
    for (let i = 0; i < 2; i++) {
      await expect(target.append(line)).rejects.toThrow(/EPIPE|destroyed/);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it('waits for a slow reader', async () => {
    const reads: (() => void)[] = [];
    const slow = new Writable({ write: (_chunk, _encoding, done) => reads.push(done) });
    const order: string[] = [];
    const written = streamTarget(slow)
      .append(line)
      .then(() => order.push('written'));
    await new Promise((resolve) => setImmediate(resolve));
    order.push('read');
    for (const read of reads) read();
    await written;
    expect(order).toEqual(['read', 'written']);
  });
});
