import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTime, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TlsConfig } from '../connection/tls-config.ts';
import { checkExecConfig, type ExecConfig, ExecPlugin, type ExecPluginOptions } from './exec-plugin.ts';

const v1 = 'client.authentication.k8s.io/v1';
const v1beta1 = 'client.authentication.k8s.io/v1beta1';
const cluster = { server: 'https://api.example:6443', tls: { ca: 'PEM', serverName: 'api' }, proxyUrl: undefined };

describe('ExecPlugin', () => {
  let directory: string;
  let clock: VirtualClock;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-exec-'));
    clock = new VirtualClock();
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  /** Returns a plugin that logs its KUBERNETES_EXEC_INFO and prints the test's answer; `$RUN` is the number of the run. */
  const plugin = async (
    output: unknown,
    config: Partial<ExecConfig> = {},
    ports: Partial<ExecPluginOptions> = {},
  ): Promise<ExecPlugin> => {
    const command = join(directory, 'plugin.sh');
    const body = typeof output === 'string' ? output : JSON.stringify(output);
    const script = `#!/bin/sh
printf '%s\\n' "$KUBERNETES_EXEC_INFO" >> "${directory}/runs"
RUN=$(wc -l < "${directory}/runs" | tr -d ' ')
cat <<END
${body}
END
exit \${EXIT_CODE:-0}
`;
    await writeFile(command, script);
    await chmod(command, 0o755);
    const exec = { apiVersion: v1, command, interactiveMode: 'Never', ...config };
    return new ExecPlugin({ exec, cluster, clock, logger: silentLogger, ...ports });
  };
  const runs = async (): Promise<string[]> => (await readFile(join(directory, 'runs'), 'utf8')).trim().split('\n');
  const credential = (status: unknown, apiVersion = v1): unknown => ({ kind: 'ExecCredential', apiVersion, status });

  it('gives the token of the plugin and runs it once for all who ask', async () => {
    const exec = await plugin(credential({ token: 'secret-$RUN' }));
    const headers = await Promise.all(Array.from({ length: 20 }, () => exec.headers()));
    expect(new Set(headers)).toEqual(new Set([{ authorization: 'Bearer secret-1' }]));
    await clock.advance(86_400_000);
    await exec.headers();
    expect(await runs()).toHaveLength(1);
  });

  it('runs again when the credential has expired', async () => {
    const [soon, late] = [10_000, 3_600_000].map((ms) => formatTime(clock.now() + ms));
    // Before the expiry the next credential is fetched in the background; the test must not depend on how fast that is.
    const expirationTimestamp = `$([ $RUN = 1 ] && echo ${soon} || echo ${late})`;
    const exec = await plugin(credential({ token: '$RUN', expirationTimestamp }));
    await exec.headers();
    await clock.advance(9999);
    expect(await exec.headers()).toEqual({ authorization: 'Bearer 1' });
    await clock.advance(1);
    expect(await exec.headers()).toEqual({ authorization: 'Bearer 2' });
    expect(await runs()).toHaveLength(2);
  });

  it('runs again a minute before the end, in the background, while the old credential serves', async () => {
    const expirationTimestamp = formatTime(clock.now() + 3_600_000);
    const exec = await plugin(credential({ token: '$RUN', expirationTimestamp }));
    await exec.headers();
    await clock.advance(3_539_999);
    await exec.headers();
    expect(await runs()).toHaveLength(1);
    await clock.advance(1);
    const during = await Promise.all(Array.from({ length: 20 }, () => exec.headers()));
    expect(new Set(during.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer 1']));
    while ((await exec.headers()).authorization !== 'Bearer 2') await new Promise(setImmediate);
    expect(await runs()).toHaveLength(2);
  });

  it('serves the old credential until its end when a new one cannot be had, and tries every five seconds', async () => {
    const expirationTimestamp = formatTime(clock.now() + 3_600_000);
    const failures = new EventEmitter();
    const logger = { ...silentLogger, warn: () => void failures.emit('failure') };
    const exec = await plugin(credential({ token: '$RUN', expirationTimestamp }), {}, { logger });
    await exec.headers();
    await writeFile(join(directory, 'plugin.sh'), '#!/bin/sh\nexit 3\n');
    await clock.advance(3_550_000);
    let failed = 0;
    failures.on('failure', () => failed++);
    for (const attempts of [1, 2]) {
      const failure = once(failures, 'failure');
      for (let call = 0; call < 5; call++) expect(await exec.headers()).toEqual({ authorization: 'Bearer 1' });
      await failure;
      expect(failed).toBe(attempts);
      await clock.advance(5_000);
    }
    await clock.advance(60_000);
    await expect((async () => await exec.headers())()).rejects.toThrow('failed with exit code 3');
  });

  it('runs once after a 401, however many requests got it', async () => {
    const exec = await plugin(credential({ token: '$RUN' }));
    const used = await exec.headers();
    const isNewer = await Promise.all([exec.onUnauthorized(used), exec.onUnauthorized(used)]);
    expect([...isNewer, await exec.onUnauthorized(used)]).toEqual([true, true, true]);
    expect(await exec.headers()).toEqual({ authorization: 'Bearer 2' });
    expect(await runs()).toHaveLength(2);
  });

  it('gives a client certificate, with or without a token', async () => {
    const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' };
    const exec = await plugin(credential(status));
    expect([await exec.headers(), await exec.clientCertificate()]).toEqual([{}, { cert: 'CERT', key: 'KEY' }]);
  });

  it('tells the plugin about the cluster when asked to, and passes arguments and environment', async () => {
    const exec = await plugin(credential({ token: '$OWN' }), {
      env: [{ name: 'OWN', value: 'mine' }],
      args: ['a'],
      provideClusterInfo: true,
      clusterConfig: { audience: 'x' },
    });
    expect(await exec.headers()).toEqual({ authorization: 'Bearer mine' });
    expect(JSON.parse((await runs())[0] ?? '')).toEqual({
      kind: 'ExecCredential',
      apiVersion: v1,
      spec: {
        interactive: false,
        cluster: {
          server: cluster.server,
          'tls-server-name': 'api',
          'certificate-authority-data': Buffer.from('PEM').toString('base64'),
          config: { audience: 'x' },
        },
      },
    });
  });

  it('tells the plugin what a client of the cluster has to know: trust, name, proxy, with a CA from memory or a file', async () => {
    const caFile = join(directory, 'ca.pem');
    await writeFile(caFile, 'CA IN A FILE');
    const told = async (tls: TlsConfig): Promise<unknown> => {
      const about = { server: 'https://some-host', tls, proxyUrl: 'https://proxy/tuna/fish' };
      const exec = await plugin(credential({ token: 't' }), { provideClusterInfo: true }, { cluster: about });
      await exec.headers();
      return JSON.parse((await runs()).at(-1) ?? '').spec.cluster;
    };
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const common = { server: 'https://some-host', 'proxy-url': 'https://proxy/tuna/fish' };
    expect(await told({ ca: 'CA', serverName: 'name' })).toEqual({
      ...common,
      'tls-server-name': 'name',
      'certificate-authority-data': base64('CA'),
    });
    expect(await told({ caFile })).toEqual({ ...common, 'certificate-authority-data': base64('CA IN A FILE') });
    expect(await told({ insecureSkipVerify: true })).toEqual({ ...common, 'insecure-skip-tls-verify': true });
  });

  it.each([
    [credential(undefined), "exec plugin didn't return a status field"],
    [credential({}), "exec plugin didn't return a token or cert/key pair"],
    [credential({ clientKeyData: 'KEY' }), 'exec plugin returned only certificate or key, not both'],
    [credential({ token: 't', expirationTimestamp: 'soon' }), 'expirationTimestamp that is not an RFC 3339 time'],
    [credential({ token: 't' }, 'client.authentication.k8s.io/v1beta1'), `configured to use API version ${v1}`],
    ['token: secret', 'the output is not a JSON object'],
  ])('refuses the output %j', async (output, message) => {
    const exec = await plugin(output);
    const error = (await exec.headers().catch((reason: unknown) => reason)) as Error;
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('secret');
  });

  it('says how the plugin failed', async () => {
    const failing = await plugin('', { env: [{ name: 'EXIT_CODE', value: '3' }] });
    await expect(failing.headers()).rejects.toThrow(/^exec: executable .*plugin\.sh failed with exit code 3$/);
    const missing = await plugin('', { command: 'no-such-plugin', installHint: 'run \u001b[31minstall' });
    await expect(missing.headers()).rejects.toThrow(
      'exec: executable no-such-plugin not found\n\nrun U+001B[31minstall',
    );
  });

  describe('that runs when the client is closed', () => {
    const start = async (onTerm: string): Promise<{ readonly exec: ExecPlugin; readonly asked: Promise<unknown> }> => {
      const started = join(directory, 'started');
      execFileSync('mkfifo', [started]);
      const command = join(directory, 'plugin.sh');
      // The plugin's child keeps the output open and stays alive.
      const script = `#!/bin/sh\ntrap '${onTerm}' TERM\nsleep 300 &\necho $! $$ > "${started}"\nwhile :; do wait; done\n`;
      await writeFile(command, script, { mode: 0o755 });
      const exec = new ExecPlugin({
        exec: { apiVersion: v1, command, interactiveMode: 'Never' },
        cluster,
        clock,
        logger: silentLogger,
      });
      const asked = exec.headers().catch(({ message }: Error) => message);
      pids = (await readFile(started, 'utf8')).trim().split(' ').map(Number);
      return { exec, asked };
    };
    let pids: number[] = [];
    afterEach(() => {
      // Ends the sleep, because ending a plugin's own children is not our task.
      if (pids[0] !== undefined) process.kill(pids[0], 'SIGKILL');
      pids = [];
    });

    it('is ended, and runs no more', async () => {
      const { exec, asked } = await start('exit 0');
      exec.stop();
      expect(await asked).toBe('exec: the client is closed');
      expect(() => process.kill(pids[1] ?? 0, 0)).toThrow('ESRCH');
      expect(clock.pendingTimers).toBe(0);
      await expect(exec.headers()).rejects.toThrow('the client is closed');
    });

    it('is killed after five seconds when it does not end by itself', async () => {
      const { exec, asked } = await start('echo > "$0.term"');
      exec.stop();
      while (!existsSync(join(directory, 'plugin.sh.term'))) await new Promise(setImmediate);
      await clock.advance(4999);
      expect(process.kill(pids[1] ?? 0, 0)).toBe(true);
      await clock.advance(1);
      expect(await asked).toBe('exec: the client is closed');
      expect(() => process.kill(pids[1] ?? 0, 0)).toThrow('ESRCH');
    });
  });

  describe('of the mode', () => {
    const modes = [
      [v1, 'Never', false],
      [v1, 'IfAvailable', true],
      [v1, 'Always', true],
      [v1beta1, 'Never', false],
      [v1beta1, undefined, true],
    ] as const;
    /** Returns a plugin that reads its token from standard input, and sees the end of file if there is no input. */
    const asking = async (apiVersion: string, mode: string | undefined, terminal: () => number | undefined) => {
      const output = credential({ token: 'typed:$(head -n 1)' }, apiVersion);
      return await plugin(output, { apiVersion, interactiveMode: mode ?? '' }, { terminal });
    };
    const said = async (): Promise<unknown> => JSON.parse((await runs())[0] ?? '').spec;

    it.each(modes)('%s %s, with a terminal, is told whether it may ask: %s', async (apiVersion, mode, mayAsk) => {
      await writeFile(join(directory, 'keyboard'), 'secret\n');
      const keyboard = await open(join(directory, 'keyboard'));
      const exec = await asking(apiVersion, mode, () => keyboard.fd);
      expect(await exec.headers()).toEqual({ authorization: `Bearer typed:${mayAsk ? 'secret' : ''}` });
      expect(await said()).toEqual({ interactive: mayAsk });
      await keyboard.close();
    });

    it.each(modes.filter(([, mode]) => mode !== 'Always'))('%s %s, without one, may not', async (apiVersion, mode) => {
      const exec = await asking(apiVersion, mode, () => undefined);
      expect(await exec.headers()).toEqual({ authorization: 'Bearer typed:' });
      expect(await said()).toEqual({ interactive: false });
    });

    it('Always is not run without a terminal', async () => {
      const exec = await asking(v1, 'Always', () => undefined);
      await expect(exec.headers()).rejects.toThrow(
        'exec plugin cannot support interactive mode: standard input is not a terminal',
      );
      await expect(runs()).rejects.toMatchObject({ code: 'ENOENT' });
    });
  });

  it.each([
    [{ apiVersion: v1, command: '', interactiveMode: 'Never' }, 'command must be specified'],
    [{ apiVersion: '', command: 'x', interactiveMode: 'Never' }, 'apiVersion must be specified'],
    [
      { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' },
      'invalid apiVersion "client.authentication.k8s.io/v1alpha1"',
    ],
    [{ apiVersion: v1, command: 'x' }, 'interactiveMode must be specified'],
    [{ apiVersion: v1, command: 'x', interactiveMode: 'Maybe' }, 'unknown interactiveMode: "Maybe"'],
    [
      { apiVersion: v1, command: 'x', interactiveMode: 'Never', env: [{ name: '', value: '' }] },
      'env names must not be empty',
    ],
  ])('refuses the configuration %j', (exec, message) => {
    expect(() => checkExecConfig(exec)).toThrow(message);
  });

  it('takes interactiveMode IfAvailable for granted in v1beta1', () => {
    expect(() => checkExecConfig({ apiVersion: 'client.authentication.k8s.io/v1beta1', command: 'x' })).not.toThrow();
  });
});
