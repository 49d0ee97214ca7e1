// WebhookPool calls webhooks over HTTPS: conversion webhooks of definitions, admission webhooks. It keeps connections
// and limits them per webhook, and limits time and bytes of each call, so that a hanging webhook does not affect
// others. Source: apiserver util/webhook ClientManager, client-go rest.Request.

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Clock, delay, systemClock } from '@kapstan/api';
import {
  addAbortListener,
  type CallSignal,
  goQuote,
  messageOf,
  removeAbortListener,
  TurnShare,
} from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { dialError } from '../peer/dial-error.ts';
import type { ResolveService } from '../peer/service-address.ts';
import { CallStop } from './call-stop.ts';
import { webhookRefusalText } from './webhook-answer.ts';
import type { WebhookAnswer } from './webhook-connection.ts';
import type { WebhookConnections, WebhookTrust } from './webhook-connections.ts';
import { firstStep, nextStep, type WebhookStep } from './webhook-redirect.ts';
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
  /** True = the body is sent to no other host than the target's, even if the webhook redirects to one. Default false. */
  readonly holdsCredentials?: boolean | undefined;
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

const unzip = promisify(gunzip);
/** Number of bytes that Go reads of compressed data before it looks at them. */
const gzipHeadBytes = 10;
/** Maximum number of sets of trusted authorities whose connections are kept. */
const maxTrusts = 256;
/** Maximum number of times that a webhook may ask for another attempt of one call. Source: client-go rest.Request. */
const maxRetries = 10;

export interface WebhookPoolAnswer {
  readonly body: Buffer;
  /** "" = the webhook sent none. */
  readonly contentType: string;
  readonly code: number;
}

type ConnectionsModule = typeof import('./webhook-connections.ts');

/** Connections to webhooks, shared by all callers. */
export class WebhookPool {
  readonly #clock: Clock;
  readonly #resolveService: ResolveService | undefined;
  readonly #maxCalls: number;
  readonly #maxConnections: number;
  /** Connections by their trusted authorities and presented certificate, the last used one last. */
  readonly #connections = new Map<string, WebhookConnections>();
  /** Number of calls under way by webhook. Webhooks without any are absent. */
  readonly #calls = new Map<string, number>();
  /** Calls under way, which end when the pool closes. */
  readonly #running = new Map<CallStop, WebhookAddress>();
  readonly #turns = new TurnShare(systemClock);
  #loading: Promise<ConnectionsModule> | undefined;
  #isClosed = false;

  constructor(options: WebhookPoolOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#resolveService = options.resolveService;
    this.#maxCalls = options.maxCalls ?? 1024;
    this.#maxConnections = options.maxConnections ?? 256;
  }

  /**
   * Posts a JSON body, follows redirects, and resolves to an answer with a code of 200 to 206. Rejects with WebhookError, or with the signal's
   * reason.
   */
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
      // When a webhook hangs, all calls of a burst end in one turn, and what their callers do next costs more than the
      // calls.
      if (!this.#turns.hasTime()) await this.#turns.room();
    }
  }

  /** Cuts all connections. Calls under way and later ones fail. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const [stop, address] of this.#running) stop.stop(canceled(address));
    for (const connections of this.#connections.values()) connections.end();
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
      throw unreachable(failedPost(address, messageOf(error)), error);
    } finally {
      cancel();
      removeAbortListener(signal, onAbort);
      this.#running.delete(stop);
    }
  }

  async #exchange(exchange: Exchange): Promise<WebhookPoolAnswer> {
    const { target, address, call, stop } = exchange;
    const authorization = await target.identity?.authorization?.();
    const certificate = await target.identity?.certificate?.();
    // Most servers call no webhook, and loading the HTTP client takes 30 ms.
    this.#loading ??= import('./webhook-connections.ts');
    const ready = { ...exchange, authorization, certificate, module: await this.#loading };
    stop.throwIfStopped();
    for (let retries = 0; ; retries++) {
      const answer = await this.#follow(ready, firstStep(address));
      const waitSeconds = retries < maxRetries ? wantedWaitSeconds(answer) : undefined;
      if (waitSeconds === undefined) return await answerOf(answer, call.maxAnswerBytes);
      const waiting = new AbortController();
      stop.onStop(() => waiting.abort());
      await delay(this.#clock, waitSeconds * 1000, waiting.signal);
    }
  }

  /** Sends a request and those to which the webhook redirects, and resolves to the last answer. */
  async #follow(exchange: ReadyExchange, first: WebhookStep): Promise<WebhookAnswer> {
    let step = first;
    for (;;) {
      const answer = await this.#send(exchange, step).catch((error: unknown) => {
        exchange.stop.throwIfStopped();
        throw error instanceof WebhookError ? error : unreachable(failedPost(step.address, messageOf(error)), error);
      });
      const next = followed(step, answer, exchange);
      if (next === undefined) return answer;
      step = next;
    }
  }

  async #send(exchange: ReadyExchange, step: WebhookStep): Promise<WebhookAnswer> {
    const { target, call, stop, module } = exchange;
    const certificate = isAtHome(step, exchange) ? exchange.certificate : undefined;
    const { hostname, port } = await this.#destination(step.address);
    stop.throwIfStopped();
    if (!this.#turns.hasTime()) await this.#turns.room();
    const { path, servername } = step.address;
    const { maxAnswerBytes } = call;
    const { method } = step;
    const body = method === 'POST' ? call.body : null;
    const request = { method, path, headers: headersOf(step, exchange), body, maxAnswerBytes, tooLarge };
    // The connections are asked for at once, and anew for each attempt, because those without a call may be given up.
    const connections = this.#connectionsFor(target, certificate, module);
    return connections.send({ hostname, port, servername }, request, stop).catch((error: NodeJS.ErrnoException) => {
      if (error instanceof WebhookError) throw error;
      // A certificate is for the name of the Service, whatever its address.
      const isName = error.code === 'ERR_TLS_CERT_ALTNAME_INVALID' && servername !== '';
      throw dialError(error, { host: isName ? servername : hostname, port });
    });
  }

  #connectionsFor(
    { caBundle = '', identity }: WebhookTarget,
    certificate: WebhookKeyPair | undefined,
    { WebhookConnections }: ConnectionsModule,
  ): WebhookConnections {
    if (this.#isClosed) throw new Error('context canceled');
    const trust = { caBundle, certificate, trustsAnyone: identity?.trustsAnyone };
    const key = identity === undefined ? caBundle : trustKey(trust);
    const known = this.#connections.get(key);
    if (known === undefined && this.#connections.size >= maxTrusts) this.#forgetOne();
    const connections = known ?? new WebhookConnections({ trust, maxConnections: this.#maxConnections });
    this.#connections.delete(key);
    this.#connections.set(key, connections);
    return connections;
  }

  /** Webhooks come and go with their authorities. */
  #forgetOne(): void {
    for (const [key, connections] of this.#connections) {
      if (!connections.isIdle) continue;
      this.#connections.delete(key);
      return connections.end();
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

interface ReadyExchange extends Exchange {
  readonly authorization: string | undefined;
  readonly certificate: WebhookKeyPair | undefined;
  readonly module: ConnectionsModule;
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

/** True for a request to the host of the target. Credentials are for no other. */
function isAtHome(step: WebhookStep, { address }: Exchange): boolean {
  return step.address.host === address.host;
}

function headersOf(step: WebhookStep, exchange: ReadyExchange): Record<string, string> {
  const { call, authorization } = exchange;
  const { traceParent, baggage } = call;
  const { host } = step.address;
  const headers: Record<string, string> = { host, accept: 'application/json, */*', 'user-agent': 'kapstan' };
  if (step.method === 'POST') headers['content-type'] = 'application/json';
  if (step.referer !== undefined) headers.referer = step.referer;
  if (authorization !== undefined && isAtHome(step, exchange)) headers.authorization = authorization;
  if (traceParent !== undefined) headers.traceparent = traceParent;
  if (baggage !== undefined) headers.baggage = baggage;
  return headers;
}

function unreachable(message: string, cause: unknown): WebhookError {
  return new WebhookError(message, { cause, reason: 'unreachable' });
}

function followed(step: WebhookStep, answer: WebhookAnswer, exchange: Exchange): WebhookStep | undefined {
  const next = nextOf(step, answer, exchange.target);
  if (next?.method !== 'POST' || exchange.call.holdsCredentials !== true || isAtHome(next, exchange)) return next;
  const why = 'the webhook redirects to another host, to which the credentials in the review are not sent';
  throw unreachable(failedPost(next.address, why), undefined);
}

function nextOf(step: WebhookStep, answer: WebhookAnswer, target: WebhookTarget): WebhookStep | undefined {
  try {
    return nextStep(step, answer, target);
  } catch (error) {
    throw unreachable(messageOf(error), error);
  }
}

function tooLarge(maxBytes: number): WebhookError {
  return new WebhookError(`the answer of the webhook is larger than ${maxBytes} bytes`, { reason: 'refused' });
}

/** Throws WebhookError for an answer that refuses. */
async function answerOf(answer: WebhookAnswer, maxBytes: number): Promise<WebhookPoolAnswer> {
  const { code, contentType } = answer;
  const isZipped = answer.contentEncoding.toLowerCase() === 'gzip' && answer.body.length > 0;
  const body = isZipped ? await unzipped(answer.body, maxBytes) : answer.body;
  const refusal = await runInTurns(webhookRefusalText({ code, contentType, body }));
  if (refusal === undefined) return { body, contentType, code };
  throw new WebhookError(refusal, { reason: 'refused', code: code <= 206 ? 500 : code });
}

/** Go's client asks for gzip, so some webhooks use it unasked. Source: net/http Transport. */
async function unzipped(body: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await unzip(body, { maxOutputLength: maxBytes });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    const isCutOff = code === 'Z_BUF_ERROR' || body.length < gzipHeadBytes;
    const why = isCutOff ? 'unexpected EOF' : 'gzip: invalid header';
    const text = `unexpected error when reading response body. Please retry. Original error: ${why}`;
    throw new WebhookError(text, { reason: 'refused', cause: error });
  }
}

/**
 * Returns after how many seconds the webhook wants the call again; undefined = not again. Source: client-go
 * rest/with_retry.go checkWait.
 */
function wantedWaitSeconds({ code, retryAfter }: WebhookAnswer): number | undefined {
  if (code !== 429 && code < 500) return undefined;
  return /^[+-]?\d+$/.test(retryAfter) ? Math.max(0, Number(retryAfter)) : undefined;
}
