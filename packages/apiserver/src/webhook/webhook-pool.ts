// WebhookPool calls webhooks over HTTPS: conversion webhooks of definitions, admission webhooks. It keeps connections
// and limits them per webhook, and limits time and bytes of each call, so that a webhook that hangs affects nobody
// else. Source: apiserver util/webhook ClientManager, client-go rest.Request.

import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { type Clock, systemClock } from '@kapstan/api';
import { addAbortListener, type CallSignal, goQuote, removeAbortListener } from '@kapstan/api/internal';
import { dialError } from '../peer/dial-error.ts';
import type { ResolveService } from '../peer/service-address.ts';
import { refusalText } from './webhook-answer.ts';
import { type WebhookAddress, type WebhookTarget, webhookAddress } from './webhook-target.ts';

export interface WebhookPoolOptions {
  /** Finds the address of a Service. Default: no Service can be reached. */
  readonly resolveService?: ResolveService;
  /** Most connections to one webhook; further calls wait for one. Default 32. */
  readonly maxConnections?: number;
  /** Most calls of one webhook that run or wait; further ones fail at once. Default 1 024. */
  readonly maxCalls?: number;
  readonly clock?: Clock;
}

export interface WebhookCall {
  readonly body: Uint8Array;
  /** Time from the call to the last byte of the answer. */
  readonly timeoutSeconds: number;
  /** Most bytes of an answer; longer ones fail. */
  readonly maxAnswerBytes: number;
  /** Error text for a call that takes too long. Default: the text of a Go client with a timeout of its own. */
  readonly timeoutText?: string;
  readonly signal?: CallSignal | undefined;
}

/** A call without a usable answer. Its message is kube-apiserver's text after "failed: ". */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  /** 'refused': the webhook answered with an error code; 'unreachable': no answer; 'timeout': none in time. */
  readonly reason: 'refused' | 'unreachable' | 'timeout';
  /** The webhook's HTTP status code, where it refused. */
  readonly code: number | undefined;

  constructor(
    message: string,
    options: { readonly reason: WebhookError['reason']; readonly code?: number; readonly cause?: unknown },
  ) {
    super(message, options);
    this.reason = options.reason;
    this.code = options.code;
  }
}

const idleMs = 90_000;
/** Idle connections kept per webhook. */
const maxIdle = 4;

export interface WebhookPoolAnswer {
  readonly body: Buffer;
  /** "" = the webhook did not say. */
  readonly contentType: string;
  readonly code: number;
}

export class WebhookPool {
  readonly #clock: Clock;
  readonly #resolveService: ResolveService | undefined;
  readonly #maxCalls: number;
  readonly #agent: Agent;
  /** Number of calls under way by webhook. Webhooks without any are absent. */
  readonly #calls = new Map<string, number>();

  constructor(options: WebhookPoolOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#resolveService = options.resolveService;
    this.#maxCalls = options.maxCalls ?? 1024;
    const maxSockets = options.maxConnections ?? 32;
    // The agent counts connections per host, port, name and authority, so per webhook.
    this.#agent = new Agent({
      keepAlive: true,
      timeout: idleMs,
      maxSockets,
      maxFreeSockets: maxIdle,
      scheduling: 'lifo',
    });
  }

  /** Posts a JSON body and resolves to the bytes of a 2xx answer. Rejects with WebhookError, or with the signal's reason. */
  async post(target: WebhookTarget, call: WebhookCall): Promise<Buffer> {
    return (await this.ask(target, call)).body;
  }

  /** Does what {@link post} does, and resolves to the whole answer. */
  async ask(target: WebhookTarget, call: WebhookCall): Promise<WebhookPoolAnswer> {
    const address = addressOf(target, call);
    const calls = this.#calls.get(address.url) ?? 0;
    if (calls >= this.#maxCalls) {
      const text = `too many calls of this webhook are under way (${calls}); try again when it answers faster`;
      throw new WebhookError(failedPost(address, text), { reason: 'unreachable' });
    }
    this.#calls.set(address.url, calls + 1);
    try {
      return await this.#limited(target, address, call);
    } finally {
      const left = (this.#calls.get(address.url) ?? 1) - 1;
      if (left === 0) this.#calls.delete(address.url);
      else this.#calls.set(address.url, left);
    }
  }

  /** Cuts all connections. Calls under way fail. Idempotent. */
  close(): void {
    this.#agent.destroy();
  }

  /** The time includes looking up a Service and waiting for a connection. */
  async #limited(target: WebhookTarget, address: WebhookAddress, call: WebhookCall): Promise<WebhookPoolAnswer> {
    const stop = new AbortController();
    const { signal } = call;
    const onAbort = (): void => stop.abort(signal?.reason);
    if (signal?.aborted === true) onAbort();
    addAbortListener(signal, onAbort);
    const cancel = this.#clock.setBackgroundTimer(() => {
      const { timeoutText: text = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' } = call;
      stop.abort(new WebhookError(failedPost(address, text), { reason: 'timeout' }));
    }, call.timeoutSeconds * 1000);
    try {
      return await this.#exchange({ target, address, call, stop: stop.signal });
    } catch (error) {
      stop.signal.throwIfAborted();
      if (error instanceof WebhookError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new WebhookError(failedPost(address, why), { cause: error, reason: 'unreachable' });
    } finally {
      cancel();
      removeAbortListener(signal, onAbort);
    }
  }

  async #exchange({ target, address, call, stop }: Exchange): Promise<WebhookPoolAnswer> {
    const { hostname, port } = await this.#destination(address);
    stop.throwIfAborted();
    const { caBundle = '' } = target;
    const options: RequestOptions = {
      method: 'POST',
      agent: this.#agent,
      hostname,
      port,
      path: address.path,
      servername: address.servername,
      ...(caBundle.trim() === '' ? {} : { ca: caBundle }),
      signal: stop,
      headers: {
        host: address.host,
        accept: 'application/json, */*',
        'content-type': 'application/json',
        'content-length': call.body.length,
        'user-agent': 'kapstan',
      },
    };
    const answer = await send(options, call.body).catch((error: unknown) => {
      const failure = error as NodeJS.ErrnoException;
      // A certificate is for the name of the Service, whatever its address.
      const isName = failure.code === 'ERR_TLS_CERT_ALTNAME_INVALID' && address.servername !== '';
      throw dialError(failure, { host: isName ? address.servername : hostname, port });
    });
    const body = await read(answer, call.maxAnswerBytes);
    const { statusCode: code = 0, headers } = answer;
    const contentType = headers['content-type'] ?? '';
    if (code >= 200 && code < 300) return { body, contentType, code };
    throw new WebhookError(refusalText({ code, contentType, body: body.toString('utf8') }), {
      reason: 'refused',
      code,
    });
  }

  async #destination(address: WebhookAddress): Promise<{ readonly hostname: string; readonly port: number }> {
    const { service } = address;
    if (service === undefined) return address;
    if (this.#resolveService === undefined) throw new Error('this server cannot reach Services');
    const { host, port } = await this.#resolveService(service);
    return { hostname: host, port };
  }
}

interface Exchange {
  readonly target: WebhookTarget;
  readonly address: WebhookAddress;
  readonly call: WebhookCall;
  readonly stop: AbortSignal;
}

function addressOf(target: WebhookTarget, { timeoutSeconds }: WebhookCall): WebhookAddress {
  try {
    return webhookAddress(target, timeoutSeconds);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new WebhookError(`Unparsable URL: ${error.message}`, { cause: error, reason: 'unreachable' });
  }
}

function failedPost({ url }: WebhookAddress, why: string): string {
  return `Post ${goQuote(url)}: ${why}`;
}

/** Tries again if the webhook closed an idle connection just as it was used. */
async function send(options: RequestOptions, body: Uint8Array): Promise<IncomingMessage> {
  for (;;) {
    const outcome = await sendOnce(options, body);
    if (!('error' in outcome)) return outcome.answer;
    if (!outcome.isStale) throw outcome.error;
  }
}

type Outcome = { readonly answer: IncomingMessage } | { readonly error: Error; readonly isStale: boolean };

function sendOnce(options: RequestOptions, body: Uint8Array): Promise<Outcome> {
  return new Promise((resolve) => {
    const sent = request(options, (answer) => resolve({ answer }));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isCut = error.code === 'ECONNRESET' || error.code === 'EPIPE';
      resolve({ error, isStale: isCut && sent.reusedSocket });
    });
    sent.end(body);
  });
}

async function read(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) {
      answer.destroy();
      throw new WebhookError(`the answer of the webhook is larger than ${maxBytes} bytes`, { reason: 'refused' });
    }
    parts.push(part);
  }
  if (!answer.complete) throw new Error('unexpected EOF');
  return Buffer.concat(parts);
}
