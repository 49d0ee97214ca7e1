// Reads AdmissionReviews and ConversionReviews and makes the answers. Called by webhook-server.ts with a parsed body.
// Source: k8s.io/api/admission, apiextensions ConversionReview, controller-runtime webhook/admission/http.go.
import { isStatusError, type KubernetesObject, type Status, StatusError, type UnstructuredObject } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import {
  type AdmissionHook,
  type AdmissionRequest,
  type ConversionHook,
  isJsonObject,
  parseApiVersion,
  TurnSlice,
} from '@kapstan/api/internal';

/** Answers one parsed body. Rejects when the function fails; a StatusError is the fault of the caller. */
export type ReviewAnswer = (body: unknown, signal: AbortSignal) => Promise<object>;

/** Returns a function that answers reviews of the versions v1 and v1beta1, each in its own version. */
export function admissionAnswer(hook: AdmissionHook): ReviewAnswer {
  return async (body, signal) => {
    const { apiVersion, request } = requireReview(body, { group: 'admission.k8s.io', kind: 'AdmissionReview' });
    const asked = request as unknown as AdmissionRequest<KubernetesObject>;
    for (const name of ['kind', 'resource'] as const)
      if (!isJsonObject(request[name])) throw badRequest(`request.${name} must be an object`);
    if (typeof request.operation !== 'string') throw badRequest('request.operation must be a text');
    for (const name of ['object', 'oldObject'] as const)
      if (!isJsonObject(request[name] ?? {})) throw badRequest(`request.${name} must be an object`);
    const { object = null, oldObject = null, dryRun = false, userInfo = {}, options = null } = asked;
    const response = await hook.review({ ...asked, object, oldObject, dryRun, userInfo, options }, { signal });
    return { apiVersion, kind: 'AdmissionReview', response: { ...response, uid: asked.uid } };
  };
}

/** Returns a function that answers reviews of the version v1 for all definitions. */
export function conversionAnswer(hooks: readonly ConversionHook[]): ReviewAnswer {
  return async (body, signal) => {
    const { apiVersion, request } = requireReview(body, {
      group: 'apiextensions.k8s.io',
      kind: 'ConversionReview',
      versions: ['v1'],
    });
    const { uid, desiredAPIVersion, objects } = request;
    if (typeof desiredAPIVersion !== 'string') throw badRequest('request.desiredAPIVersion must be a text');
    if (!(Array.isArray(objects) && objects.every(isJsonObject)))
      throw badRequest('request.objects must be a list of objects');
    const answer = (response: object): object => ({
      apiVersion,
      kind: 'ConversionReview',
      response: { uid, ...response },
    });
    try {
      const target = { apiVersion: desiredAPIVersion, hooks, signal };
      const convertedObjects = await convertAll(objects as readonly UnstructuredObject[], target);
      return answer({ convertedObjects, result: { status: 'Success' } });
    } catch (error) {
      // The answer refuses the review as a whole, so that the reason reaches the client.
      return answer({ convertedObjects: [], result: failureOf(error) });
    }
  };
}

interface ConversionTarget {
  readonly apiVersion: string;
  readonly hooks: readonly ConversionHook[];
  readonly signal: AbortSignal;
}

async function convertAll(
  objects: readonly UnstructuredObject[],
  { apiVersion, hooks, signal }: ConversionTarget,
): Promise<readonly UnstructuredObject[]> {
  const converted: UnstructuredObject[] = [];
  const slice = new TurnSlice();
  for (const [index, object] of objects.entries()) {
    signal.throwIfAborted();
    const fromApiVersion = object.apiVersion ?? '';
    const hook = hookOf(object, hooks);
    try {
      converted.push(await hook.convert(object, { fromApiVersion, toApiVersion: apiVersion }));
    } catch (error) {
      const { namespace = '', name = '' } = object.metadata ?? {};
      const where = `${object.kind} ${namespace === '' ? name : `${namespace}/${name}`}, object ${index} of the review`;
      throw new Error(`${where}: ${textOf(error)}`, { cause: error });
    }
    if (slice.endsHere()) await slice.nextTurn();
  }
  return converted;
}

/** A review holds objects of one definition; its name is not in the review, only group and kind are. */
function hookOf(object: UnstructuredObject, hooks: readonly ConversionHook[]): ConversionHook {
  const group = parseApiVersion(object.apiVersion ?? '')?.group ?? '';
  const own = hooks.find((hook) => hook.kind === object.kind && hook.group === group);
  if (own !== undefined) return own;
  throw badRequest(`this program converts no ${object.kind ?? 'object'} of the group ${JSON.stringify(group)}`);
}

function failureOf(error: unknown): Partial<Status> {
  if (isStatusError(error)) return { ...error.status, status: 'Failure' };
  return { status: 'Failure', message: textOf(error), code: 500, reason: 'InternalError' };
}

interface ExpectedReview {
  readonly group: string;
  readonly kind: string;
  readonly versions?: readonly string[];
}

interface ReadReview {
  readonly apiVersion: string;
  readonly request: Readonly<Record<string, unknown>>;
}

/** Throws 400 for anything except a review with a request. */
function requireReview(body: unknown, { group, kind, versions = ['v1', 'v1beta1'] }: ExpectedReview): ReadReview {
  if (!isJsonObject(body)) throw badRequest(`the body must be a ${kind}`);
  const { apiVersion, kind: said, request } = body;
  const isKnown = said === kind && versions.some((version) => apiVersion === `${group}/${version}`);
  if (!isKnown) {
    const known = versions.map((version) => `${group}/${version}`).join(' or ');
    throw badRequest(`the body must be a ${kind} of ${known}, not ${String(said)} of ${String(apiVersion)}`);
  }
  if (!isJsonObject(request)) throw badRequest(`the ${kind} has no request`);
  if (typeof request.uid !== 'string' || request.uid === '') throw badRequest(`the request of the ${kind} has no uid`);
  return { apiVersion: apiVersion as string, request };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the error as the Status of an HTTP answer. */
export function statusOf(error: unknown): Status {
  if (isStatusError(error)) return error.status;
  return new StatusError({ code: 500, reason: 'InternalError', message: textOf(error) }).status;
}
