// GrowthServer runs the measured process, sends it requests, and returns their cost to its main thread. Used by
// growth.test.ts.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { recordedAccount, recordedNamespace } from './cases/audit-cases.ts';
import { convertedDefinition } from './cases/conversion-cases.ts';
import { customDefinition, customResources } from './cases/custom-resource-cases.ts';
import { ruledDefinition } from './cases/rule-cases.ts';
import type { GrowthRequest, GrowthWatches } from './growth-case.ts';
import { outsideIssuer } from './outside-issuer.ts';

export interface Answer {
  readonly status: number;
  readonly bytes: number;
  /** The answer's first characters, as shown by a failed assertion. */
  readonly start: string;
}

export interface Cost {
  /** CPU of the main thread until the server is idle again. */
  readonly cpuMs: number;
  /** CPU of the busiest other thread meanwhile, such as the one that validates large objects. */
  readonly otherCpuMs: number;
  /** CPU of the longest turn of the event loop. */
  readonly turnMs: number;
}

export interface OpenWatches {
  /** Resolves when each watch has received something. */
  delivered(): Promise<void>;
  close(): void;
}

const serviceAccounts = '/api/v1/namespaces/default/serviceaccounts';

/** A server that takes longer than this counts as hanging. */
const answerWithinMs = 120_000;
const mostInstalls = 5;
/** A name that is not free, or a resource that is not served, after so many requests never will be. */
const mostTries = 2_000;

export class GrowthServer {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #agent: Agent;
  readonly #url: string;
  readonly #ca: string;
  readonly #token: string;

  private constructor(child: ChildProcess, folder: string, ready: Record<string, string>) {
    this.#child = child;
    this.#folder = folder;
    this.#url = ready.url ?? '';
    this.#token = ready.token ?? '';
    this.#ca = ready.caCert ?? '';
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca: this.#ca });
  }

  static async start(): Promise<GrowthServer> {
    const folder = await mkdtemp(join(tmpdir(), 'kapstan-growth-'));
    const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
    const flags = (process.env.KAPSTAN_GROWTH_NODE_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
    const child = spawn(
      process.execPath,
      ['--expose-gc', '--import', here('source.mjs'), ...flags, here('server.mjs'), folder, outsideIssuer],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
    );
    const failed = once(child, 'exit').then(([code]) => {
      throw new Error(`the measured server ended with ${code}`);
    });
    const [ready] = (await Promise.race([once(child, 'message'), failed])) as [Record<string, string>];
    failed.catch(() => undefined);
    const server = new GrowthServer(child, folder, ready);
    // Pods need this account, and the loop that creates it does not run here.
    await server.send({ method: 'POST', path: serviceAccounts, body: { metadata: { name: 'default' } } });
    for (const recorded of [recordedNamespace, recordedAccount]) await server.send(recorded);
    for (const definition of [convertedDefinition, ruledDefinition, customDefinition])
      await server.#install(definition);
    await server.send({ method: 'GET', path: customResources, isAwaited: true });
    return server;
  }

  /** On a busy machine the first large pattern may take longer than a request has. */
  async #install(definition: GrowthRequest): Promise<void> {
    let { status, start } = await this.send(definition);
    for (let tries = 1; tries < mostInstalls && status === 504; tries++)
      ({ status, start } = await this.send(definition));
    if (status !== 201 && status !== 409) throw new Error(`the definition was not created: ${status} ${start}`);
  }

  /** Opens watches, each on its own connection. Resolves when all are open. */
  async openWatches({ count, path }: GrowthWatches): Promise<OpenWatches> {
    const agent = new Agent({ ca: this.#ca, keepAlive: false });
    const headers = { authorization: `Bearer ${this.#token}` };
    const opened = Array.from({ length: count }, async () => {
      const sending = request(`${this.#url}${path}`, { agent, headers }).end();
      const [answer] = (await once(sending, 'response')) as [IncomingMessage];
      if (answer.statusCode !== 200) throw new Error(`a watch was answered with ${answer.statusCode}`);
      answer.on('error', () => undefined);
      const delivered = once(answer, 'data').then(() => void answer.resume());
      return { delivered, close: () => sending.destroy() };
    });
    const watches = await Promise.all(opened);
    return {
      delivered: () => Promise.all(watches.map(({ delivered }) => delivered)).then(() => undefined),
      close: () => {
        for (const watch of watches) watch.close();
        agent.destroy();
      },
    };
  }

  async measure(sent: GrowthRequest, watches?: OpenWatches): Promise<{ readonly answer: Answer; readonly cost: Cost }> {
    await this.#ask('begin');
    const answer = await this.send(sent);
    await watches?.delivered();
    return { answer, cost: (await this.#ask('end')) as unknown as Cost };
  }

  /** Returns what is in use after a collection: the heap and the buffers outside of it. */
  async usedMb(): Promise<number> {
    return (await this.#ask('used')).usedMb ?? Number.NaN;
  }

  async send(sent: GrowthRequest): Promise<Answer> {
    let answer = await this.#sendOnce(sent);
    const isEarly = () => sent.isAwaited === true && (answer.status === 404 || answer.status === 409);
    for (let tries = 1; isEarly() && tries < mostTries; tries++) answer = await this.#sendOnce(sent);
    return answer;
  }

  #sendOnce({
    method,
    path,
    contentType = 'application/json',
    accept,
    headers: more,
    body,
  }: GrowthRequest): Promise<Answer> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const bytes = body === undefined ? undefined : Buffer.from(isRaw ? body : JSON.stringify(body));
    const headers: Record<string, string | number> = { authorization: `Bearer ${this.#token}`, ...more };
    if (accept !== undefined) headers.accept = accept;
    if (bytes !== undefined) {
      headers['content-type'] = contentType;
      headers['content-length'] = bytes.length;
    }
    return new Promise((resolve, reject) => {
      const options = { agent: this.#agent, method, headers, timeout: answerWithinMs };
      const sending = request(`${this.#url}${path}`, options, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', reject);
        answer.on('end', () => {
          const whole = Buffer.concat(pieces);
          resolve({ status: answer.statusCode ?? 0, bytes: whole.length, start: whole.toString('utf8', 0, 4000) });
        });
      });
      sending.on('timeout', () => sending.destroy(new Error(`no answer within ${answerWithinMs} ms`)));
      sending.on('error', reject);
      sending.end(bytes);
    });
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #ask(name: string): Promise<Record<string, number>> {
    const answered = once(this.#child, 'message');
    this.#child.send(name);
    const [values] = (await answered) as [Record<string, number>];
    return values;
  }
}
