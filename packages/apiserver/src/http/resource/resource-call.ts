// ResourceCall is a request for a resource that exists, with everything that its handler needs. Made by
// resource-router.ts.

import { type Clock, isStatusError, type UnstructuredObject } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { copyInSlices, encodeJsonInSlices, nextTurn, type SlicedWork, type TurnShare } from '@kapstan/api/internal';
import { largeObjectBytes, runInTurns } from '@kapstan/storage';
import { refusalText } from '../../authz/authorizer.ts';
import { readEnvelopeInSlices } from '../../codec/protobuf-envelope.ts';
import { jsonFormat, type WireFormat, yamlFormat } from '../../codec/wire-format.ts';
import { decodeBody, kindOf, type ObjectPatching, type WriteTarget } from '../../registry/client/object-writes.ts';
import type { ServedResource } from '../../registry/definition/catalog.ts';
import type { RequestContext, UserInfo } from '../../registry/definition/request-context.ts';
import type { Subresource } from '../../registry/definition/resource-definition.ts';
import { unknownBodyFormat } from '../../registry/definition/route-errors.ts';
import { bodyError, bodyLimits } from '../../schema/body-limits.ts';
import { documentForm, summarizeBody } from '../../schema/decode-object.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import type { YamlReading } from '../../schema/yaml-body.ts';
import type { TableConvertor } from '../../table/table.ts';
import { baggageOf } from '../../tracing/baggage.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { negotiateInput, negotiateResourceOutput, type OutputForm } from '../exchange/negotiation.ts';
import type { ResourceRequest } from '../exchange/request-info.ts';
import { outputRequestOf } from '../exchange/status-response.ts';
import type { TurnFlusher } from '../exchange/turn-flusher.ts';
import type { WarningRecorder } from '../exchange/warning-recorder.ts';
import { managerOrUserAgent, type WriteOptions } from '../exchange/write-options.ts';
import { attributesOf } from '../request/request-access.ts';
import type { RequestPlace } from '../request/request-limit.ts';
import type { YamlBodies } from '../request/yaml-bodies.ts';
import type { TunnelRegistry } from '../tunnel/tunnel-registry.ts';
import type { TunnelTransport } from '../tunnel/tunnel-transport.ts';
import type { InitialSlices } from '../watch/initial-slices.ts';
import type { WatchBudget } from '../watch/watch-budget.ts';
import type { WatchRegistry } from '../watch/watch-registry.ts';

/** Parts that all handlers of a server share. */
export interface HandlerPorts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly maxBodyBytes: number;
  readonly allowsUnsafeDeletion: boolean;
  /** Minimum time before the server ends a watch without a timeout, in milliseconds; the maximum is twice that. */
  readonly minWatchMs: number;
  readonly maxWatchBufferBytes: number;
  readonly patching: ObjectPatching;
  readonly flusher: TurnFlusher;
  readonly turns: TurnShare;
  readonly yamlBodies: YamlBodies;
  readonly watches: WatchRegistry;
  readonly watchBudget: WatchBudget;
  readonly initialSlices: InitialSlices;
  readonly tunnels: TunnelRegistry;
  readonly transport: TunnelTransport;
  /** Longest silence on an upgraded connection, in milliseconds; 0 = no limit. */
  readonly tunnelIdleMs: number;
}

export interface ResourceCall {
  readonly exchange: Exchange;
  readonly info: ResourceRequest;
  /** The name in the path; "" for the collection. */
  readonly name: string;
  readonly served: ServedResource;
  readonly subresource: Subresource<UnstructuredObject> | undefined;
  readonly user: UserInfo;
  /** The request's place among the running requests. A watch leaves it once it has begun. */
  readonly place: RequestPlace;
  readonly warnings: WarningRecorder;
  readonly ports: HandlerPorts;
  /** Rejects with 403 when the user may not do another verb on the same object. */
  readonly requireVerb: (verb: string, describe?: (reason: string) => string) => Promise<void>;
}

/** Answers the request, or throws the error to answer with. */
export type ResourceHandler = (call: ResourceCall) => Promise<void> | void;

const readOptions: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore', force: false };

/** Makes the context of the store's call. `bodyBytes`: for writes, the length of the body. */
export function contextOf(
  call: ResourceCall,
  options: WriteOptions = readOptions,
  bodyBytes: number = 0,
): RequestContext {
  const { exchange, info, served, user, warnings } = call;
  return {
    user,
    namespace: served.definition.namespaced ? info.namespace : '',
    verb: info.verb,
    dryRun: options.dryRun,
    fieldManager: managerOrUserAgent(options.fieldManager, exchange.header('user-agent')),
    fieldValidation: options.fieldValidation,
    signal: exchange.signal,
    auditId: exchange.auditId,
    span: exchange.span,
    baggage: exchange.header('baggage') === undefined ? undefined : baggageOf(exchange.headerValues('baggage')),
    nextTurn: bodyBytes >= largeObjectBytes ? nextTurn : undefined,
    authorizeCreate: info.verb === 'update' || info.verb === 'patch' ? () => requireCreate(call) : undefined,
    warn: (text) => warnings.add(text),
    intent: options.intent,
    annotate: exchange.audit && ((key, value) => exchange.audit?.annotate(key, value)),
    auditsRequest: exchange.audit?.keepsRequest,
  };
}

/**
 * A user whose update creates the object needs permission to create, if the kind allows that. Source:
 * handlers/update.go (withAuthorization).
 */
function requireCreate({ info, user, requireVerb }: ResourceCall): Promise<void> {
  const attributes = { ...attributesOf(info, user), verb: 'create' };
  return requireVerb(attributes.verb, (reason) => refusalText(attributes, reason));
}

/**
 * Throws 400 when the path names no object. Custom resources need this check, because they have no routes that would
 * exclude such a path.
 */
export function requireName({ name }: ResourceCall): void {
  if (name === '') throw badRequest('name must be provided');
}

export function negotiateAnswer(call: ResourceCall, produces: 'object' | 'collection' = 'object'): OutputForm {
  const isCustom = call.served.definition.isCustom === true;
  const hasTable = tableOf(call) !== undefined;
  const forms = { produces, isCustom, isRouted: !isCustom, hasTable };
  return negotiateResourceOutput(outputRequestOf(call.exchange), forms);
}

/** Returns the converter of the call's objects to rows; undefined for reviews, bindings and most subresources. */
export function tableOf({ served, subresource }: ResourceCall): TableConvertor<UnstructuredObject> | undefined {
  const { verbs, table } = served.definition;
  if (subresource?.type === 'object') return subresource.table;
  const isShown =
    subresource === undefined
      ? verbs.includes('get') || verbs.includes('list')
      : subresource.type === 'strategy' && subresource.name === 'status' && subresource.withoutTable !== true;
  return isShown ? table : undefined;
}

export function targetOf(call: ResourceCall, context: RequestContext): WriteTarget {
  return { served: call.served, part: call.subresource, name: call.name, context };
}

/** Reads and decodes the body of a create or an update. Throws 400, 413, 415, 422. */
export async function readObject(
  call: ResourceCall,
  readWriteOptions: () => WriteOptions,
): Promise<{ readonly object: UnstructuredObject; readonly target: WriteTarget }> {
  const format = negotiateInput(call.exchange.header('content-type'));
  const body = await call.exchange.readBody(call.ports.maxBodyBytes);
  const { span } = call.exchange;
  span?.addEvent('limitedReadBody succeeded', { len: body.length });
  const readYaml = await yamlReadingOf(call, format, body);
  await call.ports.turns.room();
  span?.addEvent('About to convert to expected version');
  const target = targetOf(call, contextOf(call, readWriteOptions(), body.length));
  const { signal } = target.context;
  const json = format.name === 'protobuf' ? await runInTurns(readProtobuf(target, body), signal) : body;
  const object = await runInTurns(decodeBody(target, json, documentForm(readYaml)), signal);
  span?.addEvent('Conversion done');
  if (call.exchange.audit !== undefined) await runInTurns(recordObject(call, object), signal);
  await target.context.nextTurn?.();
  return { object, target };
}

/** Returns undefined when the body is not YAML. */
export async function yamlReadingOf(
  { exchange, ports }: ResourceCall,
  format: WireFormat,
  body: Uint8Array,
): Promise<YamlReading | undefined> {
  return format.name === 'yaml' ? ports.yamlBodies.prepare(body, exchange.signal) : undefined;
}

/** Records the object as received, with its kind's defaults; the recorded answer shows later changes. */
function* recordObject(
  { exchange, served: { definition }, subresource }: ResourceCall,
  object: UnstructuredObject,
): SlicedWork<void> {
  if (exchange.audit === undefined) return;
  if (!exchange.audit.keepsRequest || subresource?.type === 'object') return yield* exchange.audit.request(object);
  const copy = yield* copyInSlices(object);
  if (definition.applyDefaultsInSlices === undefined) definition.applyDefaults(copy);
  else yield* definition.applyDefaultsInSlices(copy);
  yield* exchange.audit.request(copy);
}

/** Maximum length of a protobuf body as JSON. */
const maxProtobufAsJsonBytes = 32 * 1024 * 1024;

/** Decodes a protobuf body to JSON, so that all bodies are decoded in one way. Throws 400 and 415. */
function* readProtobuf(target: WriteTarget, body: Uint8Array): SlicedWork<Uint8Array> {
  const kind = kindOf(target);
  const { types = metaTypes } = target.served.definition.schema;
  if (types.messageOfKind(kind) === undefined) throw unknownBodyFormat([jsonFormat.mediaType, yamlFormat.mediaType]);
  try {
    const object = yield* readEnvelopeInSlices(body, { types, expected: kind }, bodyLimits);
    return yield* encodeJsonInSlices(object, { maxBytes: maxProtobufAsJsonBytes });
  } catch (cause) {
    const error = bodyError(cause);
    if (!(error instanceof Error) || isStatusError(error)) throw error;
    const what = `the object provided is unrecognized (must be of type ${kind.kind})`;
    throw badRequest(`${what}: ${error.message} (${summarizeBody(body)})`);
  }
}
