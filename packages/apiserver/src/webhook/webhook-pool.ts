// WebhookPool calls webhooks over HTTPS: conversion webhooks of definitions, admission webhooks. It keeps connections
// and limits them per webhook, and limits time and bytes of each call, so that a hanging webhook does not affect
// others. Source: apiserver util/webhook ClientManager, client-go rest.Request.

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { type Clock, delay, systemClock } from '@kapstan/api';
import { addAbortListener, type CallSignal, goQuote, messageOf, removeAbortListener } from '@kapstan/api/internal';
import { dialError } from '../peer/dial-error.ts';
import { readAnswer } from '../peer/read-answer.ts';
import type { ResolveService } from '../peer/service-address.ts';
import { CallStop } from './call-stop.ts';
import { WebhookAgent, type WebhookTrust } from './webhook-agent.ts';
import { refusalText } from './webhook-answer.ts';
import { type WebhookAddress, type WebhookKeyPair, type WebhookTarget, webhookAddress } from './webhook-target.ts';

/** Options of a {@link WebhookPool}. */
export interface WebhookPoolOptions {
  /** Finds the address of a Service. Default: no Service can be reached. */
  readonly resolveService?: ResolveService;
  /** Maximum number of connections to one webhook; further calls wait for one. Default 256. */
  readonly maxConnections?: number;
  /** Maximum number of calls of one webhook that run or wait; further ones fail at once. Default 1 024. */
  readonly maxCalls?: number;
  readonly clock?: Clock;
}

export interface WebhookCall {
  readonly body: Uint8Array;
  /** Time from the call to the last byte of the answer. */
  readonly timeoutSeconds: number;
  /** Maximum number of bytes of an answer; longer ones fail. */
  readonly maxAnswerBytes: number;
  /** Error text for a call that takes too long. Default: the text of a Go client that has its own timeout. */
  readonly timeoutText?: string;
  readonly signal?: CallSignal | undefined;
  /** Place of the call in a trace: the value of the header traceparent. Absent = none. */
  readonly traceParent?: string | undefined;
  /** Value of the header baggage. Absent = none. */
  readonly baggage?: string | undefined;
}

/** A call without a usable answer. Its message is kube-apiserver's text after "failed: ". */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  /**
   * 'refused': the webhook answered with an error code; 'unreachable': no answer; 'timeout': no answer in time; 'busy': no attempt, because
   * too many calls of it are under way. Clients can cause the last one.
   */
  readonly reason: 'refused' | 'unreachable' | 'timeout' | 'busy';
  /** The webhook's HTTP status code, where it refused. */
  readonly code: number | undefined;
  /** True = the webhook reset the connection, so that another try may succeed. */
  readonly isReset: boolean;

  constructor(
    message: string,
    options: { readonly reason: WebhookError['reason']; readonly code?: number; readonly cause?: unknown },
  ) {
    super(message, options);
    this.reason = options.reason;
    this.code = options.code;
    this.isReset = isReset(options.cause);
  }
}

/** A stream that the webhook merely closed counts as the end of the answer. */
function isReset(error: unknown): boolean {
  const { code, syscall, cause } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'ECONNRESET') return syscall === 'read' || syscall === 'write';
  return cause !== undefined && isReset(cause);
}

/** Maximum number of sets of trusted authorities whose connections are kept. */
const maxAgents = 256;
/** Maximum number of times that a webhook may ask for another attempt of one call. Source: client-go rest.Request. */
const maxRetries = 10;

export interface WebhookPoolAnswer {
  readonly body: Buffer;
  /** "" = the webhook sent none. */
  readonly contentType: string;
  readonly code: number;
}

/** Connections to webhooks, shared by all callers. */
export class WebhookPool {
  readonly #clock: Clock;
  readonly #resolveService: ResolveService | undefined;
  readonly #maxCalls: number;
  readonly #maxConnections: number;
  /** Connections by their trusted authorities and presented certificate, the last used one last. */
  readonly #agents = new Map<string, WebhookAgent>();
  /** Number of calls under way by webhook. Webhooks without any are absent. */
  readonly #calls = new Map<string, number>();
  /** Calls under way, which end when the pool closes. */
  readonly #running = new Map<CallStop, WebhookAddress>();
  #isClosed = false;

  constructor(options: WebhookPoolOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#resolveService = options.resolveService;
    this.#maxCalls = options.maxCalls ?? 1024;
    this.#maxConnections = options.maxConnections ?? 256;
  }

  /** Posts a JSON body and resolves to the bytes of a 2xx answer. Rejects with WebhookError, or with the signal's reason. */
  async post(target: WebhookTarget, call: WebhookCall): Promise<Buffer> {
    return (await this.ask(target, call)).body;
  }

  /** Does what {@link post} does, and resolves to the whole answer. */
  async ask(target: WebhookTarget, call: WebhookCall): Promise<WebhookPoolAnswer> {
    const address = addressOf(target, call);
    if (this.#isClosed) throw canceled(address);
    const calls = this.#calls.get(address.url) ?? 0;
    if (calls >= this.#maxCalls) {
      const text = `too many calls of this webhook are under way (${calls}); try again when it answers faster`;
      throw new WebhookError(failedPost(address, text), { reason: 'busy' });
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

  /** Cuts all connections. Calls under way and later ones fail. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const [stop, address] of this.#running) stop.stop(canceled(address));
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /** The time includes looking up a Service and waiting for a connection. */
  async #limited(target: WebhookTarget, address: WebhookAddress, call: WebhookCall): Promise<WebhookPoolAnswer> {
    const stop = new CallStop();
    const { signal } = call;
    const onAbort = (): void => stop.stop(signal?.reason);
    if (signal?.aborted === true) onAbort();
    addAbortListener(signal, onAbort);
    this.#running.set(stop, address);
    const cancel = this.#clock.setBackgroundTimer(() => {
      const { timeoutText: text = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' } = call;
      stop.stop(new WebhookError(failedPost(address, text), { reason: 'timeout' }));
    }, call.timeoutSeconds * 1000);
    try {
      return await this.#exchange({ target, address, call, stop });
    } catch (error) {
      stop.throwIfStopped();
      if (error instanceof WebhookError) throw error;
      const why = messageOf(error);
      throw new WebhookError(failedPost(address, why), { cause: error, reason: 'unreachable' });
    } finally {
      cancel();
      removeAbortListener(signal, onAbort);
      this.#running.delete(stop);
    }
  }

  async #exchange({ target, address, call, stop }: Exchange): Promise<WebhookPoolAnswer> {
    const { hostname, port } = await this.#destination(address);
    const authorization = await target.identity?.authorization?.();
    const certificate = await target.identity?.certificate?.();
    stop.throwIfStopped();
    const options: RequestOptions = {
      method: 'POST',
      hostname,
      port,
      path: address.path,
      servername: address.servername,
      headers: headersOf(address, call, authorization),
    };
    const onRefused = (error: unknown): never => {
      const failure = error as NodeJS.ErrnoException;
      // A certificate is for the name of the Service, whatever its address.
      const isName = failure.code === 'ERR_TLS_CERT_ALTNAME_INVALID' && address.servername !== '';
      throw dialError(failure, { host: isName ? address.servername : hostname, port });
    };
    for (let retries = 0; ; retries++) {
      // Connections of a call that waited to ask again may have been given up.
      const agent = this.#agentFor(target, certificate);
      const answer = await send({ options: { ...options, agent }, body: call.body, stop }).catch(onRefused);
      const body = await readAnswer(answer, call.maxAnswerBytes, largerThan);
      const waitSeconds = retries < maxRetries ? wantedWaitSeconds(answer) : undefined;
      if (waitSeconds === undefined) return answerOf(answer, body);
      const waiting = new AbortController();
      stop.onStop(() => waiting.abort());
      await delay(this.#clock, waitSeconds * 1000, waiting.signal);
    }
  }

  #agentFor({ caBundle = '', identity }: WebhookTarget, certificate: WebhookKeyPair | undefined): WebhookAgent {
    const trust = { caBundle, certificate, trustsAnyone: identity?.trustsAnyone };
    const key = identity === undefined ? caBundle : trustKey(trust);
    const known = this.#agents.get(key);
    const agent = known ?? new WebhookAgent({ trust, maxConnections: this.#maxConnections });
    this.#agents.delete(key);
    this.#agents.set(key, agent);
    if (known === undefined && this.#agents.size > maxAgents) this.#forgetOne();
    return agent;
  }

  /** Webhooks come and go with their authorities. */
  #forgetOne(): void {
    for (const [key, agent] of this.#agents) {
      if (!agent.isIdle) continue;
      this.#agents.delete(key);
      return agent.destroy();
    }
  }

  async #destination(address: WebhookAddress): Promise<{ readonly hostname: string; readonly port: number }> {
    const { service } = address;
    if (service === undefined) return address;
    if (this.#resolveService === undefined) throw new Error('this server cannot reach Services');
    const { host, port } = await this.#resolveService(service);
    return { hostname: host, port };
  }
}

/** Targets with the same text may share connections. */
function trustKey({ caBundle, certificate, trustsAnyone = false }: WebhookTrust): string {
  return JSON.stringify([caBundle, certificate?.cert, certificate?.key, trustsAnyone]);
}

interface Exchange {
  readonly target: WebhookTarget;
  readonly address: WebhookAddress;
  readonly call: WebhookCall;
  readonly stop: CallStop;
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

function canceled(address: WebhookAddress): WebhookError {
  return new WebhookError(failedPost(address, 'context canceled'), { reason: 'unreachable' });
}

function headersOf(
  address: WebhookAddress,
  { body, traceParent, baggage }: WebhookCall,
  authorization: string | undefined,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    host: address.host,
    accept: 'application/json, */*',
    'content-type': 'application/json',
    'content-length': body.length,
    'user-agent': 'kapstan',
  };
  // Node refuses headers that are undefined.
  if (authorization !== undefined) headers.authorization = authorization;
  if (traceParent !== undefined) headers.traceparent = traceParent;
  if (baggage !== undefined) headers.baggage = baggage;
  return headers;
}

function largerThan(maxBytes: number): WebhookError {
  return new WebhookError(`the answer of the webhook is larger than ${maxBytes} bytes`, { reason: 'refused' });
}

/** Throws WebhookError for an answer that is not 2xx. */
function answerOf({ statusCode: code = 0, headers }: IncomingMessage, body: Buffer): WebhookPoolAnswer {
  const contentType = headers['content-type'] ?? '';
  if (code >= 200 && code < 300) return { body, contentType, code };
  throw new WebhookError(refusalText({ code, contentType, body: body.toString('utf8') }), { reason: 'refused', code });
}

/**
 * Returns after how many seconds the webhook wants the call again; undefined = not again. Source: client-go
 * rest/with_retry.go checkWait.
 */
function wantedWaitSeconds({ statusCode: code = 0, headers }: IncomingMessage): number | undefined {
  if (code !== 429 && code < 500) return undefined;
  const wanted = headers['retry-after'] ?? '';
  return /^[+-]?\d+$/.test(wanted) ? Math.max(0, Number(wanted)) : undefined;
}

/** Tries again if the webhook closed an idle connection just as it was used. */
async function send(sending: Sending): Promise<IncomingMessage> {
  for (;;) {
    const outcome = await sendOnce(sending);
    if (!('error' in outcome)) return outcome.answer;
    sending.stop.throwIfStopped();
    if (!outcome.isStale) throw outcome.error;
  }
}

type Outcome = { readonly answer: IncomingMessage } | { readonly error: Error; readonly isStale: boolean };

interface Sending {
  readonly options: RequestOptions;
  readonly body: Uint8Array;
  readonly stop: CallStop;
}

function sendOnce({ options, body, stop }: Sending): Promise<Outcome> {
  return new Promise((resolve) => {
    const sent = request(options, (answer) => resolve({ answer }));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isCut = error.code === 'ECONNRESET' || error.code === 'EPIPE';
      resolve({ error, isStale: isCut && sent.reusedSocket });
    });
    sent.end(body);
    stop.onStop(() => {
      sent.destroy();
      // A request that still waits for a connection does not report its end until it has one.
      resolve({ error: new Error('the call was stopped'), isStale: false });
    });
  });
}
