// DELETE of one object. Source: apiserver handlers/delete.go.

import { isStatusError } from '@kapstan/api';
import { badRequest, methodNotSupported, type StatusDetails } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { readEnvelopeInSlices } from '../../codec/protobuf-envelope.ts';
import type { RequestContext } from '../../registry/definition/request-context.ts';
import { bodyError, bodyLimits } from '../../schema/body-limits.ts';
import { documentForm, readDocumentInSlices } from '../../schema/decode-object.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import { decodeText } from '../../schema/json-reader.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import type { YamlReading } from '../../schema/yaml-body.ts';
import type { StoredObject } from '../answer/encodings.ts';
import { sendObject, sendStored } from '../answer/object-response.ts';
import {
  deleteOptionsFromBody,
  deleteOptionsFromQuery,
  deleteOptionsKind,
  type ParsedDeleteOptions,
} from '../exchange/delete-options.ts';
import { negotiateInput } from '../exchange/negotiation.ts';
import { deletedStatus } from '../exchange/status-response.ts';
import { contextOf, negotiateAnswer, type ResourceCall, yamlReadingOf } from './resource-call.ts';

export async function handleDelete(call: ResourceCall): Promise<void> {
  const { exchange, served, ports, name } = call;
  const { definition } = served;
  const form = negotiateAnswer(call);
  const options = await readDeleteOptions(call);
  exchange.span?.addEvent('About to delete object from database');
  const result = await served.store.delete(deleteContext(call, options), name, options.request);
  exchange.span?.addEvent('Object deleted from database');
  const isAccepted = !result.deleted && options.request.orphanDependents === false;
  const answer = { definition, form, status: isAccepted ? 202 : 200, clock: ports.clock };
  const shown = !result.deleted || definition.returnsDeletedObject === true ? result.stored : undefined;
  if (shown !== undefined) await sendStored(exchange, shown, answer);
  else await sendObject(exchange, deletedStatus(deletedDetails(call, result.stored)) as never, answer);
}

/** Reads the options from the body, or from the query when there is none. Throws 400, 415, 422. */
export async function readDeleteOptions(call: ResourceCall): Promise<ParsedDeleteOptions> {
  const { exchange, ports } = call;
  const body = await exchange.readBody(ports.maxBodyBytes);
  exchange.span?.addEvent('limitedReadBody succeeded', { len: body.length });
  const options = body.length === 0 ? deleteOptionsFromQuery(exchange.query, ports) : await readBodyOptions(call, body);
  if (options.request.ignoreStoreReadErrorWithClusterBreakingPotential !== true) return options;
  call.exchange.audit?.annotate('apiserver.k8s.io/unsafe-delete-ignore-read-error', '');
  if (call.name === '') throw methodNotSupported(call.served.definition, 'unsafe deletecollection');
  await call.requireVerb(
    unsafeVerb,
    (reason) => `not permitted to do ${JSON.stringify(unsafeVerb)}, reason: ${reason}`,
  );
  return options;
}

/**
 * This needs a separate permission, because an unreadable object is removed without finalizers and admission. Source:
 * authorizeUnsafeDelete.
 */
const unsafeVerb = 'unsafe-delete-ignore-read-errors';

export function deleteContext(call: ResourceCall, options: ParsedDeleteOptions): RequestContext {
  return contextOf(call, { dryRun: options.dryRun, fieldManager: '', fieldValidation: 'Ignore', force: false });
}

async function readBodyOptions(call: ResourceCall, body: Uint8Array): Promise<ParsedDeleteOptions> {
  const format = negotiateInput(call.exchange.header('content-type'));
  const readYaml = await yamlReadingOf(call, format, body);
  try {
    const { audit, signal } = call.exchange;
    const reading =
      format.name === 'protobuf'
        ? readEnvelopeInSlices(body, { types: metaTypes, expected: deleteOptionsKind }, bodyLimits)
        : readText(body, readYaml);
    const value = await runInTurns(reading, signal);
    const options = await runInTurns(deleteOptionsFromBody(value, call.ports), signal);
    if (audit !== undefined) await runInTurns(audit.requestBody({ ...(value as object), ...internalOptions }), signal);
    return options;
  } catch (cause) {
    const error = bodyError(cause);
    if (!(error instanceof Error) || isStatusError(error)) throw error;
    throw badRequest(error.message);
  }
}

/** kube-apiserver records the options in its internal version. */
const internalOptions = { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/__internal' };

function* readText(body: Uint8Array, readYaml: YamlReading | undefined): SlicedWork<unknown> {
  return (yield* readDocumentInSlices(decodeText(body), documentForm(readYaml), new StrictErrors())).value;
}

function deletedDetails(call: ResourceCall, stored: StoredObject | undefined): StatusDetails {
  const { group, resource } = call.served.definition;
  const uid = stored?.object.metadata?.uid;
  return {
    name: call.name,
    ...(group === '' ? {} : { group }),
    kind: resource,
    ...(uid === undefined ? {} : { uid }),
  };
}
