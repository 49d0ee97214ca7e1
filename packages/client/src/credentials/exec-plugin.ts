// Runs an external command for credentials (client.authentication.k8s.io): one run at a time; the result is kept until it expires.
import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, type Logger, parseTime } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import { readConfigFile } from '../connection/config-file.ts';
import type { TlsConfig } from '../connection/tls-config.ts';
import type { ClientCertificate, Credentials, RequestHeaders } from './credentials.ts';

/** The `exec` part of a kubeconfig's user. */
export interface ExecConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to the environment of this process. */
  readonly env?: readonly { readonly name: string; readonly value: string }[] | undefined;
  readonly installHint?: string | undefined;
  /** Passes the cluster's details to the plugin. Default false. */
  readonly provideClusterInfo?: boolean | undefined;
  /** Says whether the plugin may use standard input. Required in v1, default 'IfAvailable' in v1beta1. */
  readonly interactiveMode?: string | undefined;
  /** The cluster's configuration for the plugin: its extension "client.authentication.k8s.io/exec". */
  readonly clusterConfig?: unknown | undefined;
}

interface ExecCluster {
  readonly server: string;
  readonly tls: TlsConfig;
  readonly proxyUrl: string | undefined;
  readonly disableCompression?: boolean | undefined;
}

export interface ExecPluginOptions {
  readonly exec: ExecConfig;
  /** Returns the descriptor of a terminal that the plugin may use as standard input; undefined = none. Default: this process's. */
  readonly terminal?: () => number | undefined;
  readonly cluster: ExecCluster;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface ExecCredential {
  readonly headers: RequestHeaders;
  readonly certificate: ClientCertificate | undefined;
  /** Milliseconds since 1970; undefined = valid as long as the process lives. */
  readonly expiresAtMs: number | undefined;
}

/** A credential in use. */
interface Held extends ExecCredential {
  /** The time at which the next credential is fetched, while this one is still used. */
  readonly refreshAtMs: number;
}

// Time before its expiry at which a credential is replaced, limited to a fifth of its lifetime. A failed attempt is repeated only after
// refreshRetryMs.
const refreshLeadMs = 60_000;
const refreshLeadShare = 0.2;
const refreshRetryMs = 5_000;
// Time for a plugin to end by itself before it is killed.
const killAfterMs = 5_000;

const versions: readonly string[] = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

/** Source: client-go plugin/pkg/client/auth/exec. Unlike client-go, a 401 is repeated once with new credentials. */
export class ExecPlugin implements Credentials {
  readonly #options: ExecPluginOptions;
  #credential: Held | undefined;
  #running: Promise<ExecCredential> | undefined;
  #retryAtMs = 0;
  readonly #stopping = new AbortController();

  /** Throws TypeError for a configuration with which no plugin can run. */
  constructor(options: ExecPluginOptions) {
    checkExecConfig(options.exec);
    this.#options = options;
  }

  async headers(): Promise<RequestHeaders> {
    return (await this.#current()).headers;
  }

  async clientCertificate(): Promise<ClientCertificate | undefined> {
    return (await this.#current()).certificate;
  }

  async onUnauthorized(used: RequestHeaders): Promise<boolean> {
    // Other calls that got a 401 with the same credentials may have refreshed them already.
    if (this.#credential?.headers === used) await this.#refresh();
    return true;
  }

  /** Ends a running plugin for good; callers that wait for it get an error. */
  stop(): void {
    this.#stopping.abort(new Error('exec: the client is closed'));
  }

  #current(): ExecCredential | Promise<ExecCredential> {
    const credential = this.#credential;
    if (credential === undefined) return this.#refresh();
    const { expiresAtMs, refreshAtMs } = credential;
    const now = this.#options.clock.now();
    if (expiresAtMs !== undefined && now >= expiresAtMs) return this.#refresh();
    if (now >= refreshAtMs && now >= this.#retryAtMs) this.#refreshAhead(now);
    return credential;
  }

  #refreshAhead(now: number): void {
    this.#retryAtMs = now + refreshRetryMs;
    this.#refresh().catch((error: unknown) => {
      this.#options.logger.warn('cannot refresh the credential; it stays in use until it expires', { error });
    });
  }

  // Atomic: only one execution at a time, shared by all callers.
  #refresh(): Promise<ExecCredential> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<ExecCredential> {
    const { exec, clock } = this.#options;
    const credential = parseExecCredential(await runPlugin(this.#options, this.#stopping.signal), exec.apiVersion);
    const { expiresAtMs = Number.POSITIVE_INFINITY } = credential;
    const lead = Math.min(refreshLeadMs, Math.max(0, expiresAtMs - clock.now()) * refreshLeadShare);
    this.#credential = { ...credential, refreshAtMs: expiresAtMs - lead };
    return this.#credential;
  }
}

/** Throws TypeError with client-go's texts. */
export function checkExecConfig(exec: ExecConfig): void {
  if (!exec.command) throw new TypeError('exec plugin: command must be specified');
  if (!exec.apiVersion) throw new TypeError('exec plugin: apiVersion must be specified');
  if (!versions.includes(exec.apiVersion))
    throw new TypeError(`exec plugin: invalid apiVersion ${JSON.stringify(exec.apiVersion)}`);
  for (const { name } of exec.env ?? []) if (!name) throw new TypeError('exec plugin: env names must not be empty');
  const mode = interactiveMode(exec);
  if (mode === '') throw new TypeError('exec plugin: interactiveMode must be specified');
  if (!['Never', 'IfAvailable', 'Always'].includes(mode))
    throw new TypeError(`exec plugin: unknown interactiveMode: ${JSON.stringify(mode)}`);
}

function interactiveMode(exec: ExecConfig): string {
  return exec.interactiveMode || (exec.apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : '');
}

const ownTerminal = (): number | undefined => (process.stdin.isTTY === true ? 0 : undefined);

async function runPlugin(options: ExecPluginOptions, signal: AbortSignal): Promise<string> {
  const { exec, cluster, terminal = ownTerminal, clock } = options;
  const mode = interactiveMode(exec);
  const input = mode === 'Never' ? undefined : terminal();
  if (mode === 'Always' && input === undefined)
    throw new Error('exec plugin cannot support interactive mode: standard input is not a terminal');
  const info = {
    kind: 'ExecCredential',
    apiVersion: exec.apiVersion,
    spec: {
      ...(exec.provideClusterInfo ? { cluster: await clusterInfo(exec, cluster) } : {}),
      interactive: input !== undefined,
    },
  };
  const own = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]));
  signal.throwIfAborted();
  const child = spawn(exec.command, exec.args ?? [], {
    env: { ...process.env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    stdio: [input ?? 'ignore', 'pipe', 'inherit'],
    windowsHide: true,
  });
  const onAbort = (): void => endPlugin(child, clock);
  signal.addEventListener('abort', onAbort, { once: true });
  return await new Promise((resolve, reject) => {
    const output: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
    child.once('error', (error: NodeJS.ErrnoException) => reject(startError(exec, error)));
    child.once('close', (code, signalName) => {
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) reject(signal.reason);
      else if (code === 0) resolve(Buffer.concat(output).toString('utf8'));
      else reject(new Error(`exec: executable ${exec.command} failed with ${signalName ?? `exit code ${code}`}`));
    });
  });
}

// Destroys the output as well, because a child of the plugin may keep it open.
function endPlugin(child: ChildProcess, clock: Clock): void {
  const cancelKill = clock.setBackgroundTimer(() => child.kill('SIGKILL'), killAfterMs);
  child.once('exit', cancelKill);
  child.stdout?.destroy();
  child.kill();
}

function startError(exec: ExecConfig, error: NodeJS.ErrnoException): Error {
  if (error.code !== 'ENOENT') return new Error(`exec: ${error.message}`, { cause: error });
  const hint = exec.installHint ? `\n\n${printable(exec.installHint)}` : '';
  return new Error(`exec: executable ${exec.command} not found${hint}`, { cause: error });
}

// Escapes control characters, so that a kubeconfig cannot control the terminal of the user who reads the error.
function printable(text: string): string {
  return text.replace(
    /(?![\n\t])\p{Cc}/gu,
    (char) => `U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
}

async function clusterInfo(exec: ExecConfig, cluster: ExecCluster): Promise<Record<string, unknown>> {
  const { server, tls, proxyUrl, disableCompression } = cluster;
  const ca = tls.ca ?? (tls.caFile ? await readConfigFile(tls.caFile, 'tls.caFile') : undefined);
  return {
    server,
    ...(tls.serverName ? { 'tls-server-name': tls.serverName } : {}),
    ...(tls.insecureSkipVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca ? { 'certificate-authority-data': Buffer.from(ca).toString('base64') } : {}),
    ...(proxyUrl ? { 'proxy-url': proxyUrl } : {}),
    ...(disableCompression ? { 'disable-compression': true } : {}),
    ...(exec.clusterConfig === undefined ? {} : { config: exec.clusterConfig }),
  };
}

function parseExecCredential(output: string, apiVersion: string): ExecCredential {
  const answer = parseOutput(output);
  if (answer.kind !== 'ExecCredential' || answer.apiVersion !== apiVersion) {
    const got = `kind ${JSON.stringify(answer.kind)}, apiVersion ${JSON.stringify(answer.apiVersion)}`;
    throw new Error(`exec plugin is configured to use API version ${apiVersion}, plugin returned ${got}`);
  }
  if (!isJsonObject(answer.status)) throw new Error("exec plugin didn't return a status field");
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer.status;
  if (!token && !cert && !key) throw new Error("exec plugin didn't return a token or cert/key pair");
  if (Boolean(cert) !== Boolean(key)) throw new Error('exec plugin returned only certificate or key, not both');
  const expiresAtMs = typeof expirationTimestamp === 'string' ? parseTime(expirationTimestamp) : undefined;
  if (Number.isNaN(expiresAtMs))
    throw new Error('exec plugin returned an expirationTimestamp that is not an RFC 3339 time');
  return {
    headers: token ? { authorization: `Bearer ${String(token)}` } : {},
    certificate: cert ? { cert: String(cert), key: String(key) } : undefined,
    expiresAtMs,
  };
}

function parseOutput(output: string): Record<string, unknown> {
  const value = jsonOrUndefined(output);
  if (!isJsonObject(value)) throw new Error('decoding stdout: the output is not a JSON object');
  return value;
}

// The parser's message is dropped because it quotes the output, which may hold a secret even when it is not JSON.
function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
