// Sends errors and Status objects as answers. Source: apiserver responsewriters (ErrorNegotiated, ErrorToAPIStatus).

import { isStatusError, type Status } from '@kapstan/api';
import type { StatusDetails } from '@kapstan/api/errors';
import { messageOf } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import {
  encodeValue,
  encodeValueInSlices,
  hasProtobufForm,
  jsonFormat,
  type WireFormat,
} from '../../codec/wire-format.ts';
import type { Span } from '../../tracing/span.ts';
import { sendTraced, startSerializing } from './encoding-trace.ts';
import type { Exchange } from './exchange.ts';
import { negotiatePlainOutput, type OutputRequest } from './negotiation.ts';

/**
 * Returns the Status that clients see for a failure. An error that is not a StatusError becomes a 500 with its message
 * and no reason.
 */
export function statusOf(error: unknown): Status {
  // A StatusError without a code counts as a server error. Source: ErrorToAPIStatus.
  if (isStatusError(error)) return error.status.code === 0 ? { ...error.status, code: 500 } : error.status;
  const message = messageOf(error);
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 };
}

/** Returns the Status of a successful deletion. */
export function deletedStatus(details: StatusDetails): Omit<Status, 'code'> {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

/** Returns the Status in the sent form, without empty members. */
export function wireStatus(status: Omit<Status, 'code'> & { readonly code?: number }): Record<string, unknown> {
  const { reason, ...rest } = status;
  // Spreading keeps the order of the members, which is kube-apiserver's.
  return reason === undefined || reason === '' ? rest : { ...status };
}

/** Answers with a failure in the requested form, or in JSON if there is no such form. */
export function sendError(exchange: Exchange, error: unknown): void {
  const status = statusOf(error);
  if (status.details?.retryAfterSeconds !== undefined && status.details.retryAfterSeconds > 0) {
    exchange.setHeader('Retry-After', String(status.details.retryAfterSeconds));
  }
  sendValue(exchange, status.code, wireStatus(status));
}

/** Answers with any small object in the requested form; JSON when none fits. */
function sendValue(exchange: Exchange, code: number, value: unknown): void {
  const { format, isPretty, span } = startValue(exchange, value);
  sendTraced(exchange, code, { body: encodeValue(format, value, { isPretty }), span });
}

/** Does what {@link sendValue} does with status 200, for an object of any size. */
export async function sendDocument(exchange: Exchange, value: unknown): Promise<void> {
  const { format, isPretty, span } = startValue(exchange, value);
  try {
    const body = await runInTurns(encodeValueInSlices(format, value, { isPretty }), exchange.signal);
    sendTraced(exchange, 200, { body, span });
  } catch (error) {
    span?.end();
    throw error;
  }
}

interface StartedValue {
  readonly format: WireFormat;
  readonly isPretty: boolean;
  readonly span: Span | undefined;
}

function startValue(exchange: Exchange, value: unknown): StartedValue {
  exchange.audit?.respond(value);
  const form = negotiatePlainOutput(outputRequestOf(exchange));
  const isKnown = form !== undefined && (form.format.name !== 'protobuf' || hasProtobufForm(value));
  const format = isKnown ? form.format : jsonFormat;
  exchange.setHeader('Content-Type', format.mediaType);
  return { format, isPretty: form?.isPretty !== false, span: startSerializing(exchange, format.mediaType) };
}

/** Answers with a value in JSON, whatever Accept says. */
export function sendJson(exchange: Exchange, value: unknown): void {
  exchange.audit?.respond(value);
  exchange.setHeader('Content-Type', jsonFormat.mediaType);
  exchange.send(200, encodeValue(jsonFormat, value, { isPretty: true }));
}

/** Answers with plain text, as Go's http.Error does. */
export function sendText(exchange: Exchange, code: number, text: string): void {
  exchange.setHeader('Content-Type', 'text/plain; charset=utf-8');
  exchange.setHeader('X-Content-Type-Options', 'nosniff');
  exchange.send(code, Buffer.from(text));
}

/** Answers 404 on a path that nobody serves. */
export function sendPageNotFound(exchange: Exchange): void {
  sendText(exchange, 404, '404 page not found\n');
}

export function outputRequestOf(exchange: Exchange): OutputRequest {
  return { accept: exchange.header('accept'), userAgent: exchange.header('user-agent'), query: exchange.query };
}
