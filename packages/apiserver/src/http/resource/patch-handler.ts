// PATCH: JSON patch, merge patch, strategic merge patch, server-side apply. Source: apiserver handlers/patch.go.
import type { SlicedWork } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { AuditTrail } from '../../audit/audit-trail.ts';
import { applyMediaType } from '../../fieldmanager/apply-request.ts';
import { patchMediaTypes, patchTypesOf } from '../../patch/apply-patch.ts';
import { type PatchBody, patchAt } from '../../registry/client/object-writes.ts';
import { patchTypeNotSupported, unknownBodyFormat } from '../../registry/definition/route-errors.ts';
import { readDocumentInSlices } from '../../schema/decode-object.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import { decodeText } from '../../schema/json-reader.ts';
import type { YamlReading } from '../../schema/yaml-body.ts';
import { sendWritten } from '../answer/object-response.ts';
import { parseWriteOptions } from '../exchange/write-options.ts';
import { contextOf, negotiateAnswer, type ResourceCall, requireName, tableOf, targetOf } from './resource-call.ts';

export async function handlePatch(call: ResourceCall): Promise<void> {
  const { exchange, ports } = call;
  const type = patchTypeOf(call);
  requireName(call);
  const form = negotiateAnswer(call);
  const body = await exchange.readBody(ports.maxBodyBytes);
  exchange.span?.addEvent('limitedReadBody succeeded', { len: body.length });
  const readYaml = type === 'apply' ? await ports.yamlBodies.prepare(body, exchange.signal) : undefined;
  await ports.turns.room();
  const options = parseWriteOptions(exchange.query, 'PatchOptions', type === 'apply' ? 'apply' : 'other');
  const target = targetOf(call, contextOf(call, options, body.length));
  if (exchange.audit?.keepsRequest) {
    await runInTurns(recordPatch(exchange.audit, body, readYaml), exchange.signal);
  }
  const patch = { type, body, force: options.force, readYaml };
  exchange.span?.addEvent('About to apply patch');
  const answer = await patchAt(target, ports.patching, patch);
  exchange.span?.addEvent('Object stored in database');
  await target.context.nextTurn?.();
  await sendWritten(exchange, answer, {
    definition: call.served.definition,
    table: tableOf(call),
    form,
    clock: ports.clock,
  });
}

/** Records the patch. One that cannot be parsed is skipped, because the next step refuses it. */
function* recordPatch(audit: AuditTrail, body: Uint8Array, readYaml: YamlReading | undefined): SlicedWork<void> {
  let value: unknown;
  try {
    const strict = new StrictErrors();
    const document = readYaml?.().document;
    value = (document ?? (yield* readDocumentInSlices(decodeText(body), { mediaType: 'application/json' }, strict)))
      .value;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  yield* audit.requestBody(value);
}

/**
 * Returns the patch type. Throws 415. The type must match exactly, but the routes of built-in resources ignore spaces
 * around it.
 */
function patchTypeOf(call: ResourceCall): PatchBody['type'] {
  const named = call.exchange.header('content-type')?.split(';')[0] ?? '';
  if (named === applyMediaType) return 'apply';
  const { definition } = call.served;
  const types = patchTypesOf(definition);
  const type = types.find((candidate) => patchMediaTypes[candidate] === named);
  if (type !== undefined) return type;
  const mediaTypes = [...types.map((candidate) => patchMediaTypes[candidate]), applyMediaType];
  if (definition.isCustom !== true && !mediaTypes.includes(named.trim())) throw patchTypeNotSupported();
  throw unknownBodyFormat(mediaTypes);
}
